// The client's step along a gradient: src/tacit/federated/client_optimisers.py and the middle of local.py.
//
//     g ← g + μ (w − w_t), clipped to `clip`;  u ← optimiser(g);  w ← w − η (u + λ w)
//
// The moments that travel (`carry`) are a list of float32 arrays, in the order in which Python's state has them: first
// moments, second moments (factored ones as means of rows and of columns), then the counts of steps.

import { TaskError } from "./task_error.js";

/** @typedef {import("./kernels.js").Kernels} Kernels */
/** @typedef {import("./shapes.js").Leaf} Leaf */
/**
 * The table [client] of a configuration, with the optimiser's own settings.
 * @typedef {object} Client
 * @property {number} epochs @property {number} batch @property {string} optimiser @property {number} decay
 * @property {"none" | "m" | "v" | "m,v"} carry @property {"full" | "factored"} carry_form
 * @property {number} clip @property {number} prox @property {number} stragglers @property {number} max_examples
 * @property {number} [momentum] @property {number} [beta1] @property {number} [beta2] @property {number} [eps]
 */
/** @typedef {{kind: "m" | "v" | "count", shape: number[]}} Travels one array that travels */

const USUAL = {
  epochs: 1,
  batch: 10,
  optimiser: "sgd",
  decay: 0,
  carry: "none",
  carry_form: "full",
  clip: 0,
  prox: 0,
  stragglers: 0,
  max_examples: 0,
};
/** Settings that an optimiser has alone. @type {Map<string, Partial<Client>>} */
const OWN = new Map([["sgd", { momentum: 0 }], ["adam", { beta1: 0.9, beta2: 0.999, eps: 1e-8 }]]);
const f32 = Math.fround;

/** The table with Python's defaults. Throws for what is not trained here. @param {Partial<Client>} given @returns {Client} */
export function clientOf(given) {
  const client = /** @type {Client} */ ({ ...USUAL, ...given });
  const own = OWN.get(client.optimiser);
  if (!own) throw new TaskError("config", `client.optimiser = '${client.optimiser}': a page knows sgd and adam`);
  return { ...own, ...client };
}

/**
 * Reserves the optimiser's memory.
 * @param {Client} client
 * @param {Leaf[]} leaves
 * @param {import("./network.js").Take} take
 */
export function optimiser(client, leaves, take) {
  const count = leaves.reduce((n, leaf) => n + leaf.size, 0);
  const adam = client.optimiser === "adam";
  const { momentum = 0, beta1 = 0, beta2 = 0, eps = 0 } = client;
  const first = (adam ? beta1 : momentum) ? take(count) : 0;
  const second = adam ? take(count) : 0;
  const steps = { m: 0, v: 0 }; // behind each of Adam's moments
  const wanted = client.carry === "none" ? [] : client.carry.split(",");
  for (const kind of wanted)
    if (!(kind === "m" ? first : second))
      throw new TaskError("config", `client.carry = '${client.carry}': the optimiser does not keep '${kind}' with these settings`);

  const carried = /** @type {("m" | "v")[]} */ (["m", "v"]).filter((kind) => wanted.includes(kind));
  const splits = (/** @type {string} */ kind, /** @type {Leaf} */ leaf) =>
    client.carry_form === "factored" && kind === "v" && leaf.shape.length >= 2;

  /** What travels, array by array. @returns {Travels[]} */
  function travels() {
    /** @type {Travels[]} */
    const found = [];
    for (const kind of carried)
      for (const leaf of leaves) {
        const { shape } = leaf;
        if (splits(kind, leaf)) found.push({ kind, shape: shape.slice(0, -1) }, { kind, shape: shape.toSpliced(-2, 1) });
        else found.push({ kind, shape });
      }
    if (adam) for (const _ of carried) found.push({ kind: "count", shape: [] });
    return found;
  }

  /** Begins with the moments that arrived. @param {Kernels} k @param {Float32Array[]} arrived */
  function begin(k, arrived) {
    if (first) k.fill(count, first, 0);
    if (second) k.fill(count, second, 0);
    let next = 0;
    for (const kind of carried)
      for (const leaf of leaves) {
        const to = k.get((kind === "m" ? first : second) + 4 * leaf.at, leaf.size);
        if (splits(kind, leaf)) product(leaf, arrived[next++], arrived[next++], to);
        else to.set(arrived[next++]);
      }
    if (adam) for (const kind of carried) steps[kind] = arrived[next++][0];
  }

  /** The moments as they travel. @param {Kernels} k @returns {Float32Array[]} */
  function sends(k) {
    const sent = [];
    for (const kind of carried)
      for (const leaf of leaves) {
        const from = k.get((kind === "m" ? first : second) + 4 * leaf.at, leaf.size);
        if (splits(kind, leaf)) sent.push(...means(leaf, from));
        else sent.push(from.slice());
      }
    if (adam) for (const kind of carried) sent.push(Float32Array.of(steps[kind]));
    return sent;
  }

  /**
   * A step.
   * @param {Kernels} k
   * @param {number} w @param {number} w0 @param {number} g
   * @param {number} rate η
   */
  function step(k, w, w0, g, rate) {
    if (client.prox) k.pull(count, g, w, w0, client.prox);
    const norm = client.clip ? Math.sqrt(k.squares(count, g)) : 0;
    const factor = client.clip ? Math.min(1, client.clip / Math.max(norm, 1e-12)) : 1;
    if (!adam) return k.sgd(count, w, g, first, factor, momentum, rate, client.decay);
    // corrections in float32, as Python has them: for the first steps 1 − beta2ⁿ keeps few digits
    const correction = (/** @type {number} */ beta, /** @type {number} */ n) => f32(1 - f32(f32(beta) ** n));
    const unbiased = 1 / correction(beta1, ++steps.m);
    const root = 1 / Math.sqrt(correction(beta2, ++steps.v));
    k.adam(count, w, g, first, second, factor, beta1, 1 - beta1, beta2, 1 - beta2, unbiased, root, eps, rate, client.decay);
  }

  return { travels, begin, sends, step };
}

/** The means of rows and of columns of a leaf's last two axes. @param {Leaf} leaf @param {Float32Array} from */
function means({ shape, size }, from) {
  const [m, n] = shape.slice(-2);
  const rows = new Float64Array(size / n);
  const columns = new Float64Array(size / m);
  for (let i = 0; i < size; i++) {
    rows[Math.floor(i / n)] += from[i] / n;
    columns[Math.floor(i / (m * n)) * n + (i % n)] += from[i] / m;
  }
  return [Float32Array.from(rows), Float32Array.from(columns)];
}

/** r cᵀ / mean(r), of every matrix of a leaf. @param {Leaf} leaf @param {Float32Array} rows @param {Float32Array} columns @param {Float32Array} to */
function product({ shape, size }, rows, columns, to) {
  const [m, n] = shape.slice(-2);
  for (let block = 0; block < size / (m * n); block++) {
    let mean = 0;
    for (let i = 0; i < m; i++) mean += rows[block * m + i] / m;
    mean = Math.max(mean, 1e-30);
    for (let i = 0; i < m; i++)
      for (let j = 0; j < n; j++)
        to[(block * m + i) * n + j] = rows[block * m + i] * f32(columns[block * n + j] / mean);
  }
}
