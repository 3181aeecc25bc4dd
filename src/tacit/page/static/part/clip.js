// Clipping: an update is brought to norm ≤ S in the page, before anything else is computed from it.
//
// As tacit.privacy.bounds.clipped: the factor stays below the clip by the rounding of float32, and an update that is
// not finite becomes zeros.

const ROUNDING = 1e-5;

/**
 * An update, clipped and weighted, its norm before clipping, and whether it is finite. The arrays are overwritten.
 * @param {Float32Array[]} update @param {number} clip @param {number} weight
 */
export function clipped(update, clip, weight = 1) {
  let squares = 0;
  for (const leaf of update) for (const x of leaf) squares += x * x;
  const norm = Math.fround(Math.sqrt(squares));
  const finite = Number.isFinite(norm);
  const limit = Math.fround(clip * Math.fround(1 - ROUNDING));
  const factor = norm > limit ? Math.fround(limit / Math.max(norm, 1e-30)) : 1;
  const scaled = Math.fround(weight);
  for (const leaf of update) for (let j = 0; j < leaf.length; j++) leaf[j] = finite ? scaled * Math.fround(factor * leaf[j]) : 0;
  return { update, norm: finite ? norm : 0, finite };
}
