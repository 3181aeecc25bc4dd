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
//     update     arrays by name: w − w_t;  params: w itself
//     carried    the moments after training, as `carried` of the task
//     weight     of this client: its sentences, or (sampling.weight = "words") its words
//     report     {loss, steps, words, clients: 1, norm, refused: 0}: loss is the sum of the steps' mean losses
//     facts      {engine: "wasm" | "javascript", cells, seconds}: of the training itself; they are not sent
//
// Batches, their order and dropout are those of the simulator, so parameters agree to float32 rounding. A task that
// cannot be trained throws a `TaskError`, whose `reason` is a word of Python's refusals: "schema" or "config", or
// "training" where the numbers do not stay finite.

import { batches, orderOfWork } from "./batches.js";
import { checkSentences, learner } from "./learner.js";
import { clientOf } from "./optimiser.js";
import { foldIn } from "./random.js";
import { modelOf } from "./shapes.js";
import { TaskError } from "./task_error.js";

export { TaskError };

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
 * @property {Record<string, Float32Array>} params
 * @property {Float32Array[]} carried
 * @property {number} weight
 * @property {Report} report
 * @property {{engine: string, cells: number, seconds: number}} facts
 */

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
  checkSentences(task.sentences, vocabulary);
  const work = orderOfWork(task.sentences.length, client, config.seed, task.round, task.number);
  const made = batches(task.sentences, work.schedule);
  const largest = made.reduce((n, batch) => Math.max(n, batch.cells), 1);
  const pupil = learner({ model, client, vocabulary, cells: largest, module, params: task.params, carried: task.carried });
  const key = foldIn(foldIn([0, config.seed], task.round), task.number);
  const { loss, words } = pupil.train(made.slice(0, work.steps), key, task.lr, progress);
  const { params, update, norm } = pupil.result();
  const carried = pupil.moments();
  const report = { loss, steps: work.steps, words, clients: 1, norm, refused: 0 };
  const most = config.aggregation?.max_norm || Infinity;
  const finite = Number.isFinite(report.loss + report.norm) && carried.every((array) => array.every(Number.isFinite));
  if (!finite || report.norm > most) throw new TaskError("training", "it did not end with finite numbers within the limit");
  const cells = made.reduce((n, batch) => n + batch.cells, 0);
  const held = Math.min(task.sentences.length, client.max_examples || Infinity);
  const weight = Math.fround(config.sampling?.weight === "words" ? cells / client.epochs : held);
  const seconds = (performance.now() - begun) / 1000;
  return { update, params, carried, weight, report, facts: { engine: module ? "wasm" : "javascript", cells, seconds } };
}

/** @param {Config} config @returns {[Model, Client]} */
function understood(config) {
  if (config.aggregation?.noise) throw new TaskError("config", "aggregation.noise: a page adds no noise");
  return [modelOf(config.model), clientOf(config.client)];
}
