// Training in a Worker, for a page: `train(task)` gives the answer, and the page stays as quick as before.
//
//     import { train } from "./train/trainer.js";
//     const answer = await train(task, { progress: (step, steps) => …, signal: controller.signal });
//
// Task and answer are described in local.js; message.js makes of an answer what a server expects. The task is copied to
// the Worker. `signal.abort()` ends the Worker at once, and the promise fails with an AbortError; nothing of the
// training is kept. Any other failure is a TaskError with `reason` "schema", "config" or "training".
//
// A page whose policy requires trusted types gives its own `spawn`. The Worker's script needs 'wasm-unsafe-eval' in the
// script-src that it is served with; without it training is slower.

import { TaskError } from "./local.js";

/** @typedef {import("./local.js").Task} Task */
/** @typedef {import("./local.js").Answer} Answer */

/** The Worker of this folder. */
export const spawnWorker = () => new Worker(new URL("./worker.js", import.meta.url), { type: "module" });

/**
 * Trains a task in a Worker of its own.
 * @param {Task} task
 * @param {{progress?: (step: number, steps: number) => void, signal?: AbortSignal, spawn?: () => Worker}} [options]
 * @returns {Promise<Answer>}
 */
export function train(task, { progress = () => {}, signal, spawn = spawnWorker } = {}) {
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
    signal?.addEventListener("abort", cancel);
    worker.onmessage = ({ data }) => {
      if (data.progress) return progress(data.progress[0], data.progress[1]);
      end();
      if (data.answer) resolve(data.answer);
      else reject(new TaskError(data.error.reason, data.error.message));
    };
    worker.onerror = (event) => {
      end();
      reject(new TaskError("training", `the Worker failed: ${event.message || "its script could not be loaded"}`));
    };
    worker.onmessageerror = () => {
      end();
      reject(new TaskError("training", "the Worker's answer could not be read"));
    };
    worker.postMessage({ task });
  });
}
