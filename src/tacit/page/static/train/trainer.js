// Training in a Worker, for a page: `train(task)` gives the answer, and the page stays as quick as before.
//
//     import { train } from "./train/trainer.js";
//     const answer = await train(task, { progress: (step, steps) => …, signal: controller.signal });
//
// `train` is described in local.js, `score` in scores.js, `tune` in own.js; `tabTrainer` is what the page *Take part*
// gives its node. The task is copied to a Worker of its own. `signal.abort()` ends the Worker at once, and the promise
// fails with an AbortError; nothing of the work is kept. Any other failure is a TaskError with a `reason`.
//
// A page whose policy requires trusted types gives its own `spawn`. The Worker's script needs 'wasm-unsafe-eval' in the
// script-src that it is served with; without it training is slower.

import { clientOf, optimiser } from "./optimiser.js";
import { leaves, modelOf } from "./shapes.js";
import { TaskError } from "./task_error.js";

export { TaskError };

/** @typedef {{progress?: (step: number, steps: number) => void, signal?: AbortSignal, spawn?: () => Worker}} Options */

/** The Worker of this folder. */
export const spawnWorker = () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" });

/** @param {import("./local.js").Task} task @param {Options} [options] @returns {Promise<import("./local.js").Answer>} */
export const train = (task, options) => inWorker("train", task, options);

/** @param {Parameters<typeof import("./scores.js").scores>[0]} task @param {Options} [options] @returns {Promise<Record<string, number>>} */
export const score = (task, options) => inWorker("scores", task, options);

/** @param {import("./own.js").OwnTask} task @param {Options} [options] @returns {Promise<import("./own.js").Own>} */
export const tune = (task, options) => inWorker("own", task, options);

/**
 * How a tab trains for its node (part/answering.js): on the text that `textOf` gives for a configuration and its words.
 * @param {(config: any, words: string[]) => {training: ArrayLike<number>[], heldOut: ArrayLike<number>[]}} textOf
 * @param {Options} [options]
 */
export function tabTrainer(textOf, options) {
  /** @param {any} work */
  const given = ({ config, words, model }) => ({
    vocabulary: words.length,
    params: Object.fromEntries(model.map((/** @type {any} */ leaf) => [leaf.name, leaf.values])),
    text: textOf(config, words),
  });
  return {
    /** Names and shapes of a model's parameters, in Python's order; throws for what is not trained here. @param {any} config @param {number} vocabulary */
    leaves(config, vocabulary) {
      const every = leaves(modelOf(config.model), vocabulary);
      optimiser(clientOf(config.client), every, () => 1);
      return every.map(({ name, shape }) => ({ name, shape }));
    },
    /** The parameters after training, in the order of `work.model`, and the client's weight. @param {any} work */
    async train(work) {
      const { vocabulary, params, text } = given(work);
      const { config, round, number, seed, lr } = work;
      const task = { config: { ...config, seed }, vocabulary, params, number, round, lr, sentences: text.training };
      const answer = await train(task, options);
      const values = work.model.map((/** @type {any} */ leaf) => answer.params[leaf.name]);
      return { values, weight: answer.weight, report: answer.report, facts: answer.facts };
    },
    /** The sums of scores on the held-out text. @param {any} work */
    scores(work) {
      const { vocabulary, params, text } = given(work);
      return score({ model: work.config.model, vocabulary, params, sentences: text.heldOut }, options);
    },
  };
}

/**
 * @param {"train" | "scores" | "own"} work @param {any} task @param {Options} [options]
 * @returns {Promise<any>}
 */
function inWorker(work, task, { progress = () => {}, signal, spawn = spawnWorker } = {}) {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(new DOMException("the training was cancelled", "AbortError"));
    const worker = spawn();
    const end = () => {
      worker.terminate();
      signal?.removeEventListener("abort", cancel);
    };
    const cancel = () => {
      end();
      reject(new DOMException("the training was cancelled", "AbortError"));
    };
    const fail = (/** @type {string} */ why) => {
      end();
      reject(new TaskError("training", why));
    };
    signal?.addEventListener("abort", cancel);
    worker.onmessage = ({ data }) => {
      if (data.progress) return progress(data.progress[0], data.progress[1]);
      end();
      if (data.answer) resolve(data.answer);
      else reject(new TaskError(data.error.reason, data.error.message));
    };
    worker.onerror = (event) => fail(`the Worker failed: ${event.message || "its script could not be loaded"}`);
    worker.onmessageerror = () => fail("the Worker's answer could not be read");
    worker.postMessage({ work, task });
  });
}
