// The Worker that tunes a model on one's own lines for the keyboard: one task in, progress and one answer out.
//
//     out  {ready: true} when its scripts are here; then
//     in   {task, code}: own.js of ../train, and the compiled kernels, or null
//     out  {progress: [step, steps]} …, then {answer} or {error: {reason, message}}
//
// It is loaded before the page forbids requests, and its own policy allows it none but its scripts.

import { compile } from "../train/engine.js";
import { tuneOwn } from "../train/own.js";

self.onmessage = async ({ data: { task, code } }) => {
  const progress = (/** @type {number} */ step, /** @type {number} */ steps) => self.postMessage({ progress: [step, steps] });
  try {
    const module = code ? await compile(code).catch(() => null) : null; // without it, plain JavaScript
    self.postMessage({ answer: tuneOwn(task, module, progress) });
  } catch (error) {
    const { reason = "training", message } = /** @type {any} */ (error);
    self.postMessage({ error: { reason, message } });
  }
};
self.postMessage({ ready: true });
