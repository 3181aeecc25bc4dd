// The language models of src/tacit/models, forward and backward over a batch (batches.js), written in kernels.
//
// The same functions call the compiled kernels (kernels.c, products.c) or the plain ones (kernels.js). A matrix is a
// place in the kernels' memory, in bytes. As in Python, the backward pass over time computes gradients of
// pre-activations only; one large product over all cells then gives the gradient of each weight.

import { gru, lstm, printed } from "./layers.js";

/** @typedef {import("./batches.js").Batch} Batch */
/** @typedef {import("./shapes.js").Model} Model */
/** @typedef {import("./kernels.js").Kernels} Kernels */
/** @typedef {(numbers: number) => number} Take reserves numbers of the kernels' memory, and gives the first's place */
/** @typedef {(name: string) => number} Place where a parameter is, or its gradient */

const CHUNK = 128; // cells whose scores are in memory at once
const FIRST = 3; // the first word that is suggested: not `<s>`, `</s>`, `<unk>`

/**
 * Reserves the memory of a model for batches of at most so many cells.
 * @param {Model} model
 * @param {number} vocabulary
 * @param {number} cells of the largest batch
 * @param {Place} weight @param {Place} gradient
 * @param {Take} take
 */
export function network(model, vocabulary, cells, weight, gradient, take) {
  const { embedding, hidden } = model;
  const width = model.kind === "lstm" ? embedding : hidden; // of a layer's output
  const tokens = take(cells);
  const targets = take(cells);
  const places = take(cells);
  const keep = take(cells);
  const scores = take(Math.min(cells, CHUNK) * vocabulary);
  const facts = take(3 * CHUNK);
  const x = [take(cells * embedding)]; // input of each layer, and the features
  const layers = /** @type {import("./layers.js").Layer[]} */ ([]);
  for (let depth = 0; depth < model.layers; depth++) {
    const of = (/** @type {Place} */ place) => (/** @type {string} */ name) => place(`${model.kind}${depth}/${name}`);
    const make = model.kind === "lstm" ? lstm : model.variant === "printed" ? printed : gru;
    layers.push(make(model, depth ? width : embedding, cells, of(weight), of(gradient), take));
    x.push(take(cells * width));
  }
  const dx = [take(cells * Math.max(width, embedding)), take(cells * Math.max(width, embedding))];
  const table = model.tied ? "embedding" : "output";

  /** @param {Kernels} k @param {Batch} batch @param {((index: number) => [number, number]) | null} key */
  function read(k, batch, key) {
    const n = batch.cells;
    k.put(tokens, batch.tokens);
    k.put(targets, batch.targets);
    k.put(places, batch.place);
    k.put(keep, batch.keep);
    k.gather(n, embedding, weight("embedding"), tokens, x[0]);
    drop(k, n, key, x[0], embedding, 0);
    layers.forEach((layer, depth) => {
      layer.forward(k, batch, keep, x[depth], x[depth + 1]);
      if (model.residual && depth) k.add(n * width, x[depth], x[depth + 1]);
      drop(k, n, key, x[depth + 1], width, 1 + depth);
    });
  }

  /** @param {Kernels} k @param {number} n @param {((index: number) => [number, number]) | null} key @param {number} at @param {number} size @param {number} index */
  function drop(k, n, key, at, size, index) {
    if (key && model.dropout) k.dropout(n, size, at, places, ...key(index), Math.fround(1 - model.dropout));
  }

  /**
   * The sum of a batch's losses; adds the gradient of their mean to the gradients.
   * @param {Kernels} k
   * @param {Batch} batch
   * @param {((index: number) => [number, number]) | null} key of each place of dropout; null: off
   */
  function step(k, batch, key) {
    const n = batch.cells;
    read(k, batch, key);
    let [upper, lower] = dx;
    const loss = words(k, n, x[model.layers], upper);
    for (let depth = model.layers - 1; depth >= 0; depth--) {
      const size = depth ? width : embedding;
      drop(k, n, key, upper, width, 1 + depth);
      const through = model.residual && depth > 0;
      if (through) k.copy(n * width, upper, lower);
      layers[depth].backward(k, batch, keep, x[depth], upper, lower, through ? 1 : 0);
      [upper, lower] = [lower, upper];
      if (!depth) {
        drop(k, n, key, upper, size, 0);
        k.scatter(n, size, gradient("embedding"), tokens, upper);
      }
    }
    return loss;
  }

  /** Scores of all words, a part of the cells at a time. @param {Kernels} k @param {number} n @param {number} h @param {number} dh */
  function words(k, n, h, dh) {
    const matrix = weight(table);
    let loss = 0;
    for (let from = 0; from < n; from += CHUNK) {
      const m = Math.min(CHUNK, n - from);
      const at = h + 4 * from * width;
      k.nt(m, vocabulary, width, at, width, matrix, width, scores, vocabulary, 0);
      k.softmax(m, vocabulary, scores, weight("output_bias"), targets + 4 * from, 1 / n, facts);
      const f = k.get(facts, 3 * m);
      for (let i = 0; i < m; i++) loss += Math.log(f[3 * i]) + f[3 * i + 1] - f[3 * i + 2];
      k.nn(m, width, vocabulary, scores, vocabulary, matrix, width, dh + 4 * from * width, width, 0);
      k.tn(vocabulary, width, m, scores, vocabulary, at, width, gradient(table), width);
      k.add_rows(m, vocabulary, scores, gradient("output_bias"));
    }
    return loss;
  }

  /**
   * −log p of every cell's target, and its rank among the words that are suggested (src/tacit/scoring/recall.py).
   * @param {Kernels} k
   * @param {Batch} batch
   */
  function marks(k, batch) {
    read(k, batch, null);
    const [nll, rank] = [new Float64Array(batch.cells), new Int32Array(batch.cells)];
    const bias = k.get(weight("output_bias"), vocabulary);
    for (let from = 0; from < batch.cells; from += CHUNK) {
      const m = Math.min(CHUNK, batch.cells - from);
      k.nt(m, vocabulary, width, x[model.layers] + 4 * from * width, width, weight(table), width, scores, vocabulary, 0);
      for (let i = 0; i < m; i++) {
        const row = k.get(scores + 4 * i * vocabulary, vocabulary);
        let top = -Infinity;
        for (let j = 0; j < vocabulary; j++) top = Math.max(top, (row[j] += bias[j]));
        const target = batch.targets[from + i];
        const wanted = row[target];
        let sum = 0;
        for (let j = 0; j < vocabulary; j++) {
          sum += Math.exp(row[j] - top);
          if (j >= FIRST && (row[j] > wanted || (row[j] === wanted && j < target))) rank[from + i]++;
        }
        nll[from + i] = top + Math.log(sum) - wanted;
      }
    }
    return { nll, rank };
  }

  return { step, marks };
}
