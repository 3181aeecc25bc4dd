// The Worker that trains and measures: one task in, messages of progress and one answer out. trainer.js speaks to it.
//
//     in   {work: "train" | "scores" | "own", task}: see local.js, scores.js, own.js
//     out  {progress: [step, steps]} …, then {answer} or {error: {reason, message}}
//
// Where the page's policy forbids WebAssembly (script-src without 'wasm-unsafe-eval') or kernels.wasm cannot be fetched,
// it trains in plain JavaScript, many times slower; `answer.facts.engine` tells.

import { compile } from "./engine.js";
import { trainLocally } from "./local.js";
import { scores } from "./scores.js";

const WORKS = { train: trainLocally, scores, own: async (/** @type {any[]} */ ...given) => (await import("./own.js")).tuneOwn(...given) };

/** @type {Promise<WebAssembly.Module | null>} */
const ready = fetch(new URL("./kernels.wasm", import.meta.url))
  .then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(String(answer.status)))))
  .then(compile)
  .catch(() => null);

self.onmessage = async (event) => {
  const { work, task } = event.data;
  const progress = (/** @type {number} */ step, /** @type {number} */ steps) => self.postMessage({ progress: [step, steps] });
  try {
    const answer = await /** @type {any} */ (WORKS)[work](task, await ready, progress);
    const { update = {}, params = {}, carried = [] } = answer;
    const arrays = [...Object.values(update), ...Object.values(params ?? {}), ...carried];
    /** @type {any} */ (self).postMessage({ answer }, arrays.map((array) => array.buffer));
  } catch (error) {
    const { reason = "training", message } = /** @type {any} */ (error);
    self.postMessage({ error: { reason, message } });
  }
};
