// Clipping: an update is brought to norm ≤ S in the page, before anything else is computed from it.
//
// As tacit.privacy.bounds.clipped: the factor stays below the clip by the rounding of float32, and an update that is
// not finite becomes zeros.

const ROUNDING = 1e-5;

/**
 * An update, clipped and weighted, its norm before clipping, and whether it is finite. The arrays are overwritten.
 * @param {Float32Array[]} update @param {number} clip @param {number} weight @param {number} limit of the norm, in float32
 */
export function clipped(update, clip, weight = 1, limit = Math.fround(clip * Math.fround(1 - ROUNDING))) {
  let squares = 0;
  for (const leaf of update) for (const x of leaf) squares += x * x;
  const norm = Math.fround(Math.sqrt(squares));
  const finite = Number.isFinite(norm);
  const factor = norm > limit ? Math.fround(limit / Math.max(norm, 1e-30)) : 1;
  const scaled = Math.fround(weight);
  for (const leaf of update) for (let j = 0; j < leaf.length; j++) leaf[j] = finite ? scaled * Math.fround(factor * leaf[j]) : 0;
  return { update, norm: finite ? norm : 0, finite };
}

/**
 * What a client says of the moments that travel, as tacit.private.client_parts: of each array the change, clipped with
 * all of its kind and weighted; of counts, the steps, from 0 to the most. Nothing of them if the update is not finite.
 * @param {("m" | "v" | "count")[]} kinds @param {Float32Array[]} before @param {Float32Array[]} after
 * @param {{moments_clip: number, second_clip: number, moments_steps: number}} privacy
 * @param {number} weight @param {boolean} finite whether the update is
 */
export function changes(kinds, before, after, privacy, weight, finite) {
  const of = (/** @type {string} */ kind) =>
    kinds.flatMap((one, i) => (one === kind ? [after[i].map((x, j) => (finite ? x - before[i][j] : 0))] : []));
  const { moments_clip: m, second_clip: v, moments_steps: most } = privacy;
  const bounded = (/** @type {number} */ n) => (Number.isFinite(n) ? Math.min(Math.max(n, 0), most) : 0);
  const within = (/** @type {Float32Array[]} */ some, /** @type {number} */ clip) =>
    clipped(some, clip, weight, Math.fround(clip * (1 - ROUNDING))).update;
  return { moments: within(of("m"), m), seconds: within(of("v"), v), counts: of("count").map((n) => n.map((x) => Math.fround(weight) * bounded(x))) };
}
