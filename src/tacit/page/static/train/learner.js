// A model in the kernels' memory that trains on batches and is measured on batches: what local.js and own.js share.

import { engine } from "./engine.js";
import { network } from "./network.js";
import { optimiser } from "./optimiser.js";
import { foldIn } from "./random.js";
import { leaves } from "./shapes.js";
import { TaskError } from "./task_error.js";

/** @typedef {import("./batches.js").Batch} Batch */
/**
 * @typedef {object} Given
 * @property {import("./shapes.js").Model} model
 * @property {import("./optimiser.js").Client} client
 * @property {number} vocabulary
 * @property {number} cells of the largest batch
 * @property {WebAssembly.Module | null} module the compiled kernels; null: plain JavaScript
 * @property {Record<string, Float32Array>} params
 * @property {Float32Array[]} [carried]
 */

/** Reserves the memory, and begins with the parameters and moments that arrived. @param {Given} given */
export function learner({ model, client, vocabulary, cells, module, params, carried = [] }) {
  const every = leaves(model, vocabulary);
  checkParams(params, every);
  const total = every.reduce((n, leaf) => n + leaf.size, 0);
  const memory = engine(module);
  const [w, w0, g] = [memory.take(total), memory.take(total), memory.take(total)];
  const at = new Map(every.map((leaf) => [leaf.name, 4 * leaf.at]));
  const place = (/** @type {number} */ base) => (/** @type {string} */ name) => base + /** @type {number} */ (at.get(name));
  const net = network(model, vocabulary, cells, place(w), place(g), memory.take);
  const steps = optimiser(client, every, memory.take);
  checkCarried(steps.travels(), carried);
  const k = memory.open();
  for (const leaf of every) k.put(w + 4 * leaf.at, params[leaf.name]);
  k.copy(total, w, w0);
  steps.begin(k, carried);

  return {
    /**
     * A step for each batch; `key` is the client's of the round.
     * @param {Batch[]} made @param {[number, number]} key @param {number} lr
     * @param {(step: number, steps: number) => void} progress
     */
    train(made, key, lr, progress) {
      const sums = { loss: 0, words: 0 };
      made.forEach((batch, i) => {
        const now = foldIn(key, i);
        k.fill(total, g, 0);
        sums.loss += net.step(k, batch, (index) => foldIn(now, index)) / batch.cells;
        sums.words += batch.cells;
        steps.step(k, w, w0, g, Math.fround(lr));
        progress(i + 1, made.length);
      });
      return sums;
    },

    /** −log p and rank of every target of a batch. @param {Batch} batch */
    marks: (batch) => net.marks(k, batch),

    /** The parameters, their change, and its norm. */
    result() {
      const [now, update] = /** @type {Record<string, Float32Array>[]} */ ([{}, {}]);
      let square = 0;
      for (const leaf of every) {
        now[leaf.name] = k.get(w + 4 * leaf.at, leaf.size).slice();
        update[leaf.name] = now[leaf.name].map((x, i) => x - params[leaf.name][i]);
        square += update[leaf.name].reduce((sum, x) => sum + x * x, 0);
      }
      return { params: now, update, norm: Math.sqrt(square) };
    },

    /** The moments that travel. */
    moments: () => steps.sends(k),
  };
}

/** Each sentence has two ids or more, all of them words. @param {ArrayLike<number>[]} sentences @param {number} vocabulary */
export function checkSentences(sentences, vocabulary) {
  if (!sentences.length) throw new TaskError("training", "there are no sentences to train on");
  const fine = (/** @type {number} */ id) => Number.isInteger(id) && id >= 0 && id < vocabulary;
  sentences.forEach((sentence, i) => {
    if (sentence.length < 2 || !Array.prototype.every.call(sentence, fine))
      throw new TaskError("schema", `sentence ${i + 1} must be two ids or more, each below ${vocabulary}`);
  });
}

/** @param {Record<string, Float32Array>} params @param {import("./shapes.js").Leaf[]} every */
function checkParams(params, every) {
  const count = Object.keys(params).length;
  if (count !== every.length) throw new TaskError("schema", `the model has ${count} arrays, expected ${every.length}`);
  for (const leaf of every) {
    const array = params[leaf.name];
    if (!(array instanceof Float32Array) || array.length !== leaf.size)
      throw new TaskError("schema", `'${leaf.name}' must be ${leaf.size} float32 numbers`);
  }
}

/** @param {import("./optimiser.js").Travels[]} wanted @param {Float32Array[]} arrived */
function checkCarried(wanted, arrived) {
  const fits = wanted.every(({ shape }, i) => arrived[i]?.length === shape.reduce((a, b) => a * b, 1));
  if (arrived.length !== wanted.length || !fits)
    throw new TaskError("schema", `the carried moments must be ${wanted.length} arrays in the shapes of the optimiser`);
}
