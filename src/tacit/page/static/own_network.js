// The weights of an 8-bit network as training has them, and a network of tuned weights.
//
// A file has a row for each output of a matrix, [groups × outputs, inputs]; training has Python's arrays,
// [groups, inputs, outputs] (`as_model` of src/tacit/lm/network8/writer.py). Rows of words are rows in both. Tuned weights
// stay float32: forward.js computes with numbers of scale 1 as with codes.

/** @typedef {import("./network8.js").Network} Network */

/** Where the number of row r and column c of a matrix is in training's array. @param {Network} network @param {string} name */
function turned({ architecture, matrices }, name) {
  const { rows, columns } = matrices[name];
  if (name === "embedding" || name === "output") return (/** @type {number} */ r, /** @type {number} */ c) => r * columns + c;
  const groups = /^lstm\d+\/(input|recurrent)$/.test(name) ? architecture.groups : 1;
  const outputs = rows / groups;
  return (/** @type {number} */ r, /** @type {number} */ c) => (Math.floor(r / outputs) * columns + c) * outputs + (r % outputs);
}

/** The weights by Python's names. @param {Network} network @returns {Record<string, Float32Array>} */
export function paramsOf(network) {
  /** @type {Record<string, Float32Array>} */
  const params = {};
  for (const [name, values] of Object.entries(network.vectors)) params[name] = values.slice();
  for (const [name, { codes, scale, rows, columns }] of Object.entries(network.matrices)) {
    const [to, at] = [new Float32Array(rows * columns), turned(network, name)];
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) to[at(r, c)] = codes[r * columns + c] * scale[r];
    params[name] = to;
  }
  return params;
}

/** The same network with other weights. @param {Network} network @param {Record<string, Float32Array>} params @returns {Network} */
export function withParams(network, params) {
  /** @type {Network["matrices"]} */
  const matrices = {};
  for (const [name, { rows, columns }] of Object.entries(network.matrices)) {
    const [codes, at] = [new Float32Array(rows * columns), turned(network, name)];
    for (let r = 0; r < rows; r++) for (let c = 0; c < columns; c++) codes[r * columns + c] = params[name][at(r, c)];
    matrices[name] = { codes, scale: new Float32Array(rows).fill(1), rows, columns };
  }
  const vectors = Object.fromEntries(Object.keys(network.vectors).map((name) => [name, params[name]]));
  const bytes = Object.values(params).reduce((sum, values) => sum + values.byteLength, 0);
  return { ...network, matrices, vectors, bytes };
}
