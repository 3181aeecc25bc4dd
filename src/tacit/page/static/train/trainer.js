// Training in a Worker, for a page: `train(task)` gives the answer, and the page stays as quick as before.
//
//     import { train } from "./train/trainer.js";
//     const answer = await train(task, { progress: (step, steps) => …, signal: controller.signal });
//
// `train` is described in local.js, `score` in scores.js, `tune` in own.js. The task is copied to a Worker of its own.
// `signal.abort()` ends the Worker at once, and the promise fails with an AbortError; nothing of the work is kept. Any
// other failure is a TaskError with a `reason`.
//
// A page whose policy requires trusted types gives its own `spawn`. The Worker's script needs 'wasm-unsafe-eval' in the
// script-src that it is served with; without it training is slower.

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
