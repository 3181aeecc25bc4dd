// A personal model: the shared model fine-tuned on a person's sentences, used only if it passes the gate.
//
// This is what src/tacit/personal does on a simulated device (paper 3, section 2, and its gate). A person's messages,
// the oldest first, are split by words: the first 64 % to tune on, the next 16 % for the gate, the last 20 % to tell the
// effect. The tuned model is used if it has more words right on the second part, and by at least the margin. People do
// not choose rate and margin for themselves: a federation finds them (`tacit personalize`).
//
//     const own = tuneOwn({model, vocabulary, params, sentences, rate: 0.1, margin: 0.01}, module);
//     own.used ? own.params : params        // the model to suggest with
//
// Nothing here sends or stores anything.

import { batches, BOS, orderOfWork } from "./batches.js";
import { checkSentences, learner } from "./learner.js";
import { clientOf } from "./optimiser.js";
import { foldIn } from "./random.js";
import { examOf } from "./scores.js";
import { modelOf } from "./shapes.js";
import { TaskError } from "./task_error.js";

const CUTS = [64, 80]; // per cent of the words before the second part, and before the third
const LEAST_MESSAGES = 10;
const LEAST_WORDS = 100;
const EOS = 1;
const UNK = 2;
const TESTED = 300; // words of the last part from which the test of harm applies
const LEVEL = 0.05;

/**
 * @typedef {object} OwnTask
 * @property {Partial<import("./shapes.js").Model>} model
 * @property {number} vocabulary
 * @property {Record<string, Float32Array>} params the shared model
 * @property {ArrayLike<number>[]} sentences whole messages, the oldest first
 * @property {number} rate L of the paper
 * @property {number} margin by which accuracy must be better
 * @property {number} [batch] B of the paper, in sentences @property {number} [epochs]
 * @property {number} [maxTokens] tuning ends with the batch that reaches them; 0: no limit
 * @property {number} [maxWords] longer messages are split; 0: never
 * @property {number} [seed] @property {number} [number] this person's, for random draws
 */
/** Words of a part: all, those the shared model has right, and those that only one of the two has right.
 * @typedef {{words: number, before: number, won: number, lost: number}} Effect */
/**
 * @typedef {object} Own
 * @property {boolean} used whether the tuned model passed the gate
 * @property {Record<string, Float32Array> | null} params the tuned model; null where it is not used
 * @property {Effect} gate on the second part
 * @property {Effect & {significantlyWorse: boolean}} last on the last part, which neither tuning nor the gate has seen
 * @property {number} steps
 */

/**
 * Where the second and the third part begin. A message belongs to the part in which its middle word falls.
 * @param {ArrayLike<number>[]} sentences
 */
export function cuts(sentences) {
  const words = sentences.map((sentence) => sentence.length - 2);
  const whole = words.reduce((a, b) => a + b, 0);
  let before = 0;
  const twice = words.map((n) => (before += n) + before - n); // twice the middle's place
  return CUTS.map((share) => twice.filter((middle) => 100 * middle < 2 * share * whole).length);
}

/**
 * Fine-tunes and decides. Throws a `TaskError` with reason "conditions" for a person with too little text.
 * @param {OwnTask} task
 * @param {WebAssembly.Module | null} module the compiled kernels; null: plain JavaScript
 * @param {(step: number, steps: number) => void} [progress]
 * @returns {Own}
 */
export function tuneOwn(task, module, progress = () => {}) {
  const { vocabulary, params, sentences, rate, margin } = task;
  const { batch = 5, epochs = 1, maxTokens = 5000, maxWords = 30, seed = 0, number = 0 } = task;
  if (!(margin >= 0 && margin <= 1)) throw new TaskError("config", `the margin ${margin} must lie between 0 and 1`);
  if (sentences.length) checkSentences(sentences, vocabulary);
  const parts = partsOf(sentences);
  const [model, client] = [modelOf(task.model), clientOf({ epochs, batch })];

  const short = shortened(parts[0], maxWords);
  const { schedule } = orderOfWork(short.length, client, seed, 0, number);
  let seen = 0;
  const kept = schedule.filter((step) => {
    const wanted = !maxTokens || seen < maxTokens;
    for (const i of step) seen += short[i].length - 1;
    return wanted;
  });
  const lessons = batches(short, kept);
  const exams = parts.slice(1).map(examOf);
  const cells = [...lessons, ...exams.flat()].reduce((n, one) => Math.max(n, one.cells), 1);
  const pupil = learner({ model, client, vocabulary, cells, module, params });
  const right = () => exams.map((exam) => exam.map((one) => rightWords(one, pupil.marks(one))));
  const before = right();
  pupil.train(lessons, foldIn([0, 0], number), rate, progress);
  const tuned = pupil.result();
  const after = right();

  const [gate, last] = exams.map((_, part) => effect(parts[part + 1], before[part].flat(), after[part].flat()));
  const used = Number.isFinite(tuned.norm) && passes(gate, margin);
  const significantlyWorse = last.words >= TESTED && mcnemar(last.lost, last.won) <= LEVEL;
  return { used, params: used ? tuned.params : null, gate, last: { ...last, significantlyWorse }, steps: lessons.length };
}

/** The three parts. @param {ArrayLike<number>[]} sentences */
function partsOf(sentences) {
  const words = sentences.reduce((n, sentence) => n + sentence.length - 2, 0);
  const few = (/** @type {string} */ what) => new TaskError("conditions", `${what}: too little text for a personal model`);
  if (sentences.length < LEAST_MESSAGES) throw few(`${sentences.length} messages, and ${LEAST_MESSAGES} are needed`);
  if (words < LEAST_WORDS) throw few(`${words} words, and ${LEAST_WORDS} are needed`);
  const [second, third] = cuts(sentences);
  const parts = [sentences.slice(0, second), sentences.slice(second, third), sentences.slice(third)];
  const known = (/** @type {ArrayLike<number>} */ sentence) => Array.prototype.some.call(sentence, (id) => id > UNK);
  if (!parts.every((part) => part.some(known))) throw few("a part of the text has no known word");
  return parts;
}

/** Long messages as several sequences. @param {ArrayLike<number>[]} sentences @param {number} limit words; 0: none */
function shortened(sentences, limit) {
  if (!limit) return sentences;
  return sentences.flatMap((sentence) => {
    const words = Array.prototype.slice.call(sentence, 1, -1);
    const pieces = [];
    for (let i = 0; i === 0 || i < words.length; i += limit) pieces.push([BOS, ...words.slice(i, i + limit), EOS]);
    return pieces;
  });
}

/** @param {import("./batches.js").Batch} batch @param {{nll: Float64Array, rank: Int32Array}} marks */
function rightWords(batch, { nll, rank }) {
  return Array.from(batch.targets, (target, i) => target > UNK && rank[i] < 1 && Number.isFinite(nll[i]));
}

/** @param {ArrayLike<number>[]} part @param {boolean[]} before @param {boolean[]} after @returns {Effect} */
function effect(part, before, after) {
  const count = (/** @type {(b: boolean, a: boolean) => boolean} */ holds) => before.filter((b, i) => holds(b, after[i])).length;
  const words = part.reduce((n, sentence) => n + sentence.length - 2, 0);
  return { words, before: count((b) => b), won: count((b, a) => a && !b), lost: count((b, a) => b && !a) };
}

/** Whether accuracy is better, and by at least the margin. @param {Effect} effect @param {number} margin */
export function passes({ won, lost, words }, margin) {
  const change = won - lost;
  return change > 0 && change >= margin * words - 1e-9;
}

/** P(Bin(lost + won, ½) ≥ lost): so many losses if both models are equally good. @param {number} lost @param {number} won */
export function mcnemar(lost, won) {
  const n = lost + won;
  let [log, sum] = [-n * Math.LN2, 0]; // of the term of i
  for (let i = 0; i <= n; i++) {
    if (i >= lost) sum += Math.exp(log);
    log += Math.log((n - i) / (i + 1));
  }
  return Math.min(1, sum);
}
