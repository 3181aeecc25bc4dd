// The Worker that trains: one task in, messages of progress and one answer out. trainer.js speaks to it.
//
//     in   {task}: see local.js
//     out  {progress: [step, steps]} …, then {answer} or {error: {reason, message}}
//
// Where the page's policy forbids WebAssembly (script-src without 'wasm-unsafe-eval') or kernels.wasm cannot be fetched,
// it trains in plain JavaScript, five times slower; `answer.facts.engine` tells.

import { compile } from "./engine.js";
import { trainLocally } from "./local.js";

/** @type {Promise<WebAssembly.Module | null>} */
const ready = fetch(new URL("./kernels.wasm", import.meta.url))
  .then((answer) => (answer.ok ? answer.arrayBuffer() : Promise.reject(new Error(String(answer.status)))))
  .then(compile)
  .catch(() => null);

self.onmessage = async (event) => {
  const { task } = event.data;
  try {
    const answer = trainLocally(task, await ready, (step, steps) => self.postMessage({ progress: [step, steps] }));
    const arrays = [...Object.values(answer.update), ...answer.carried];
    /** @type {any} */ (self).postMessage({ answer }, arrays.map((array) => array.buffer));
  } catch (error) {
    const { reason = "training", message } = /** @type {any} */ (error);
    self.postMessage({ error: { reason, message } });
  }
};
