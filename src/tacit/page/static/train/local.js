// One client's training in a round: what src/tacit/network/tasks/train.py computes, on this page.
//
//     const answer = trainLocally(task, module, (step, steps) => …);
//
// The task holds what arrives from a server, and this client's text:
//
//     config     {seed, model, client, sampling, aggregation}: tables of the run's configuration, keys as in TOML;
//                missing keys have Python's defaults
//     vocabulary number of words
//     params     arrays by name ("embedding", "gru0/input", …): the model w_t, Float32Array
//     carried    moments that travel, a list of Float32Array; [] where none do
//     number     this client's number in the federation;  round: 0, 1, …;  lr: the rate of this round
//     sentences  ids of words, each sentence `<s> … </s>` (ids 0 … 1), an array or Int32Array each
//
// The answer holds what a Python client sends, before a rule makes a message of it (message.js does):
//
//     update     arrays by name: w − w_t
//     carried    the moments after training, as `carried` of the task
//     weight     of this client: its sentences, or (sampling.weight = "words") its words
//     report     {loss, steps, words, clients: 1, norm, refused: 0}: loss is the sum of the steps' mean losses
//     facts      {engine: "wasm" | "javascript", cells, seconds}: of the training itself; they are not sent
//
// Batches, their order and dropout are those of the simulator, so parameters agree to float32 rounding. A task that
// cannot be trained throws a `TaskError`, whose `reason` is a word of Python's refusals: "schema" or "config", or
// "training" where the numbers do not stay finite.

import { batches, orderOfWork } from "./batches.js";
import { engine } from "./engine.js";
import { network } from "./network.js";
import { clientOf, optimiser } from "./optimiser.js";
import { foldIn } from "./random.js";
import { leaves, modelOf } from "./shapes.js";

/** @typedef {import("./shapes.js").Model} Model */
/** @typedef {import("./optimiser.js").Client} Client */
/**
 * @typedef {object} Config
 * @property {number} seed
 * @property {Partial<Model>} model
 * @property {Partial<Client>} client
 * @property {{weight?: "sentences" | "words"}} [sampling]
 * @property {{rule?: string, noise?: number, max_norm?: number, uniform?: boolean, norm?: number}} [aggregation]
 */
/**
 * @typedef {object} Task
 * @property {Config} config
 * @property {number} vocabulary
 * @property {Record<string, Float32Array>} params
 * @property {Float32Array[]} [carried]
 * @property {number} number
 * @property {number} round
 * @property {number} lr
 * @property {ArrayLike<number>[]} sentences
 */
/** @typedef {{loss: number, steps: number, words: number, clients: number, norm: number, refused: number}} Report */
/**
 * @typedef {object} Answer
 * @property {Record<string, Float32Array>} update
 * @property {Float32Array[]} carried
 * @property {number} weight
 * @property {Report} report
 * @property {{engine: string, cells: number, seconds: number}} facts
 */

/** Why a task is not trained. */
export class TaskError extends Error {
  /** @param {string} reason "schema", "config" or "training" @param {string} message */
  constructor(reason, message) {
    super(message);
    this.name = "TaskError";
    this.reason = reason;
  }
}

/**
 * Trains.
 * @param {Task} task
 * @param {WebAssembly.Module | null} module the compiled kernels; null: plain JavaScript
 * @param {(step: number, steps: number) => void} [progress] after every step
 * @returns {Answer}
 */
export function trainLocally(task, module, progress = () => {}) {
  const begun = performance.now();
  const { config, vocabulary } = task;
  const [model, client] = understood(config);
  const every = leaves(model, vocabulary);
  check(task, every);
  const total = every.reduce((n, leaf) => n + leaf.size, 0);
  const work = orderOfWork(task.sentences.length, client, config.seed, task.round, task.number);
  const made = batches(task.sentences, work.schedule);

  const memory = engine(module);
  const [w, w0, g] = [memory.take(total), memory.take(total), memory.take(total)];
  const at = new Map(every.map((leaf) => [leaf.name, 4 * leaf.at]));
  const place = (/** @type {number} */ base) => (/** @type {string} */ name) => base + /** @type {number} */ (at.get(name));
  const largest = made.reduce((n, batch) => Math.max(n, batch.cells), 1);
  const net = network(model, vocabulary, largest, place(w), place(g), memory.take);
  const steps = optimiserOf(client, every, memory.take);
  const arrived = task.carried ?? [];
  checkCarried(steps.travels(), arrived);
  const k = memory.open();

  for (const leaf of every) k.put(w + 4 * leaf.at, task.params[leaf.name]);
  k.copy(total, w, w0);
  steps.begin(k, arrived);
  const key = foldIn(foldIn([0, config.seed], task.round), task.number);
  const sums = { loss: 0, words: 0 };
  for (let i = 0; i < work.steps; i++) {
    const batch = made[i];
    const now = foldIn(key, i);
    k.fill(total, g, 0);
    sums.loss += net.step(k, batch, (index) => foldIn(now, index)) / batch.cells;
    sums.words += batch.cells;
    steps.step(k, w, w0, g, Math.fround(task.lr));
    progress(i + 1, work.steps);
  }

  const update = /** @type {Record<string, Float32Array>} */ ({});
  let square = 0;
  for (const leaf of every) {
    const [after, before] = [k.get(w + 4 * leaf.at, leaf.size), k.get(w0 + 4 * leaf.at, leaf.size)];
    update[leaf.name] = after.map((x, i) => x - before[i]);
    square += update[leaf.name].reduce((sum, x) => sum + x * x, 0);
  }
  const carried = steps.sends(k);
  const report = { loss: sums.loss, steps: work.steps, words: sums.words, clients: 1, norm: Math.sqrt(square), refused: 0 };
  const most = config.aggregation?.max_norm || Infinity;
  const finite = Number.isFinite(report.loss + report.norm) && carried.every((array) => array.every(Number.isFinite));
  if (!finite || report.norm > most) throw new TaskError("training", "it did not end with finite numbers within the limit");
  const cells = made.reduce((n, batch) => n + batch.cells, 0);
  const held = Math.min(task.sentences.length, client.max_examples || Infinity);
  const weight = Math.fround(config.sampling?.weight === "words" ? cells / client.epochs : held);
  const seconds = (performance.now() - begun) / 1000;
  return { update, carried, weight, report, facts: { engine: module ? "wasm" : "javascript", cells, seconds } };
}

/** @param {Config} config @returns {[Model, Client]} */
function understood(config) {
  if (config.aggregation?.noise) throw new TaskError("config", "aggregation.noise: a page adds no noise");
  try {
    return [modelOf(config.model), clientOf(config.client)];
  } catch (error) {
    throw new TaskError("config", /** @type {Error} */ (error).message);
  }
}

/** @type {typeof optimiser} */
function optimiserOf(client, every, take) {
  try {
    return optimiser(client, every, take);
  } catch (error) {
    throw new TaskError("config", /** @type {Error} */ (error).message);
  }
}

/** @param {Task} task @param {import("./shapes.js").Leaf[]} every */
function check(task, every) {
  const names = Object.keys(task.params);
  if (names.length !== every.length) throw new TaskError("schema", `the model has ${names.length} arrays, expected ${every.length}`);
  for (const leaf of every) {
    const array = task.params[leaf.name];
    if (!(array instanceof Float32Array) || array.length !== leaf.size)
      throw new TaskError("schema", `'${leaf.name}' must be ${leaf.size} float32 numbers`);
  }
  if (!task.sentences.length) throw new TaskError("training", "there are no sentences to train on");
  task.sentences.forEach((sentence, i) => {
    const fine = (/** @type {number} */ id) => Number.isInteger(id) && id >= 0 && id < task.vocabulary;
    if (sentence.length < 2 || !Array.prototype.every.call(sentence, fine))
      throw new TaskError("schema", `sentence ${i + 1} must be two ids or more, each below ${task.vocabulary}`);
  });
}

/** @param {import("./optimiser.js").Travels[]} wanted @param {Float32Array[]} arrived */
function checkCarried(wanted, arrived) {
  const fits = wanted.every(({ shape }, i) => arrived[i]?.length === shape.reduce((a, b) => a * b, 1));
  if (arrived.length !== wanted.length || !fits)
    throw new TaskError("schema", `the carried moments must be ${wanted.length} arrays in the shapes of the optimiser`);
}
