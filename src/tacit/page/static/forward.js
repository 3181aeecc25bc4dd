// The recurrence of an 8-bit network, word by word: a port of `src/tacit/lm/network8/forward.py`.
//
//     GRU   r, z = σ(W x + U h + b)    n = tanh(Wₙ x + r∗(Uₙ h + bₙ))    h ← (1 − z)∗n + z∗h
//     LSTM  i, o, g = W x + U r + b    f = 1 − σ(i) if coupled    c ← f∗c + σ(i)∗tanh(g)    r ← P (σ(o)∗tanh(c))
//
// A new word costs one step, and its distribution one product with the output; a letter of the word in progress costs
// neither. States and sums are float32 at every assignment, as in Python; both agree to about 1e-6.

const EPSILON = 1e-5; // of the layer normalisation
const BOS = 0;

/** @typedef {import("./network8.js").Network} Network */
/** @typedef {import("./network8.js").Matrix} Matrix */
/** Of each layer h, or r and c; and the input of the output layer. */
/** @typedef {{layers: Float32Array[][], features: Float32Array}} State */

/**
 * Rows `first` … `last` − 1 of a matrix times x, from its place `skip` on.
 * @param {Matrix} matrix
 * @param {Float32Array} x
 * @param {number} [first]
 * @param {number} [last]
 * @param {number} [skip]
 */
export function times({ codes, scale, columns, rows }, x, first = 0, last = rows, skip = 0) {
  const out = new Float32Array(last - first);
  const even = columns - (columns % 4);
  for (let row = first, at = first * columns; row < last; row++) {
    let [a, b, c, d] = [0, 0, 0, 0]; // four sums: each addition need not wait for the one before
    for (let i = skip; i < skip + even; i += 4, at += 4) {
      a += codes[at] * x[i];
      b += codes[at + 1] * x[i + 1];
      c += codes[at + 2] * x[i + 2];
      d += codes[at + 3] * x[i + 3];
    }
    for (let i = skip + even; i < skip + columns; i++, at++) a += codes[at] * x[i];
    out[row - first] = (a + b + (c + d)) * scale[row];
  }
  return out;
}

const sigmoid = (/** @type {number} */ x) => 0.5 * (Math.tanh(0.5 * x) + 1);

/**
 * The state after one more word; null is the initial state, and `<s>` resets it.
 * @param {Network} model
 * @param {State | null} state
 * @param {number} id
 * @returns {State}
 */
export function step(model, state, id) {
  const { architecture: a, matrices } = model;
  const { codes, scale } = matrices.embedding;
  /** @type {Float32Array} */
  let x = Float32Array.from(codes.subarray(id * a.embedding, (id + 1) * a.embedding), (code) => code * scale[id]);
  const sizes = a.kind === "gru" ? [a.hidden] : [a.embedding, a.hidden];
  const fresh = () => sizes.map((size) => new Float32Array(size));
  const before = state && id !== BOS ? state.layers : Array.from({ length: a.layers }, fresh);
  const layers = before.map((layer, depth) => {
    const at = `${a.kind}${depth}/`;
    const now = a.kind === "lstm" ? lstm(model, at, layer, x) : [gru(model, at, layer[0], x)];
    const input = x;
    x = a.residual && depth ? now[0].map((value, i) => value + input[i]) : now[0];
    return now;
  });
  return { layers, features: x };
}

/** @param {Network} model @param {string} at @param {Float32Array} h @param {Float32Array} x */
function gru({ architecture, matrices: m, vectors: v }, at, h, x) {
  const size = h.length;
  if (architecture.variant === "printed") {
    const both = Float32Array.of(...h, ...x);
    const [z, r] = ["update", "reset"].map((name) => times(m[at + name], both).map(sigmoid));
    for (let i = 0; i < size; i++) both[i] = r[i] * h[i];
    const next = times(m[`${at}candidate`], both);
    return h.map((old, i) => (1 - z[i]) * old + z[i] * Math.tanh(next[i]));
  }
  const a = times(m[`${at}input`], x);
  const b = times(m[`${at}recurrent`], h);
  const [p, q] = [v[`${at}input_bias`], v[`${at}recurrent_bias`]];
  for (let i = 0; i < 3 * size; i++) {
    a[i] += p[i];
    b[i] += q[i];
  }
  return h.map((old, i) => {
    const [j, k] = [size + i, 2 * size + i];
    const z = sigmoid(a[j] + b[j]);
    return (1 - z) * Math.tanh(a[k] + sigmoid(a[i] + b[i]) * b[k]) + z * old;
  });
}

/** @param {Network} model @param {string} at @param {Float32Array[]} before @param {Float32Array} x */
function lstm({ architecture: a, matrices: m, vectors: v }, at, [r, c], x) {
  const h = a.hidden;
  const gates = grouped(m[`${at}input`], x, a); // [gates, H]
  const recurrent = grouped(m[`${at}recurrent`], r, a);
  const bias = v[`${at}bias`];
  for (let i = 0; i < gates.length; i++) gates[i] += recurrent[i] + (bias ? bias[i] : 0);
  if (a.layer_norm) {
    for (let first = 0; first < gates.length; first += h) {
      normalise(gates.subarray(first, first + h), v[`${at}gate_gain`].subarray(first), v[`${at}gate_shift`].subarray(first));
    }
  }
  const cell = c.map((old, j) => {
    const i = sigmoid(gates[j]);
    const f = a.coupled ? 1 - i : sigmoid(gates[3 * h + j] + 1);
    return f * old + i * Math.tanh(gates[2 * h + j]);
  });
  const normal = cell.slice();
  if (a.layer_norm) normalise(normal, v[`${at}cell_gain`], v[`${at}cell_shift`]);
  return [times(m[`${at}projection`], normal.map((value, j) => sigmoid(gates[h + j]) * Math.tanh(value))), cell];
}

/**
 * The block-diagonal product of a group LSTM, [gates, H]: rows of the matrix are by group, then gate, then unit.
 * @param {Matrix} matrix
 * @param {Float32Array} x
 * @param {import("./network8.js").Architecture} a
 */
function grouped(matrix, x, { groups, hidden }) {
  if (groups === 1) return times(matrix, x);
  const rows = matrix.rows / groups;
  const [units, gates] = [hidden / groups, matrix.rows / hidden];
  const out = new Float32Array(matrix.rows);
  for (let group = 0; group < groups; group++) {
    const part = times(matrix, x, group * rows, (group + 1) * rows, group * matrix.columns);
    for (let gate = 0; gate < gates; gate++) {
      out.set(part.subarray(gate * units, (gate + 1) * units), gate * hidden + group * units);
    }
  }
  return out;
}

/** Layer normalisation in place. @param {Float32Array} x @param {Float32Array} gain @param {Float32Array} shift */
function normalise(x, gain, shift) {
  const mean = x.reduce((sum, value) => sum + value, 0) / x.length;
  const variance = x.reduce((sum, value) => sum + (value - mean) ** 2, 0) / x.length;
  const scale = 1 / Math.sqrt(variance + EPSILON);
  for (let i = 0; i < x.length; i++) x[i] = (x[i] - mean) * scale * gain[i] + shift[i];
}

/**
 * log p of every word after a state, [V].
 * @param {Network} model
 * @param {State} state
 */
export function logProbs(model, state) {
  const scores = times(model.matrices[model.architecture.tied ? "embedding" : "output"], state.features);
  const bias = model.vectors.output_bias;
  let most = -Infinity;
  for (let i = 0; i < scores.length; i++) {
    scores[i] += bias[i];
    if (scores[i] > most) most = scores[i];
  }
  let sum = 0;
  for (let i = 0; i < scores.length; i++) sum += Math.exp(scores[i] - most);
  const all = most + Math.log(sum);
  for (let i = 0; i < scores.length; i++) scores[i] -= all;
  return scores;
}

/**
 * A function from a message's first words, as ids, to log p of every next word. It keeps the states of the last
 * contexts: one more word costs one step, and words taken back cost nothing.
 * @param {Network} model
 * @param {number} [most] contexts that are kept
 */
export function following(model, most = 24) {
  /** By the ids of a context; the latest last. @type {Map<string, {state: State, logP: Float32Array | null}>} */
  const known = new Map();

  /** @param {number[]} ids @returns {{state: State, logP: Float32Array | null}} */
  function after(ids) {
    const key = ids.join(" ");
    const found = known.get(key) ?? { state: reached(ids), logP: null };
    known.delete(key);
    known.set(key, found);
    if (known.size > most) known.delete(known.keys().next().value ?? "");
    return found;
  }

  /** The state after these words, from the longest part of them that is known. @param {number[]} ids */
  function reached(ids) {
    let from = ids.length;
    let state = null;
    for (; from > 0 && !state; from--) state = known.get(ids.slice(0, from - 1).join(" "))?.state ?? null;
    state ??= step(model, null, BOS);
    for (const id of ids.slice(from)) state = step(model, state, id);
    return state;
  }

  return (/** @type {number[]} */ ids) => {
    const found = after(ids.slice(Math.max(0, ids.length - model.longest)));
    return (found.logP ??= logProbs(model, found.state));
  };
}
