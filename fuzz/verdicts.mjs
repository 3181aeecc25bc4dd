// Reads the name of a model file on each line of standard input; answers how the page's reader judges it.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { ModelError, open } from "../src/tacit/page/static/compact.js";
import { best, dense, stateAfter } from "../src/tacit/page/static/language.js";
import { isNetwork, openNetwork } from "../src/tacit/page/static/network8.js";

const contexts = [[], ["see", "you"], ["xyzzy", "are"], "are you coming home now i am".split(" ")];

/** @param {string} path */
async function verdict(path) {
  const data = readFileSync(path);
  const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  let model;
  try {
    model = isNetwork(buffer) ? dense(await openNetwork(buffer)) : open(buffer);
  } catch (error) {
    return error instanceof ModelError ? { ending: "refused", told: error.message } : { ending: "crash", told: String(error) };
  }
  try {
    for (const context of contexts) {
      for (const { logP } of best(model, stateAfter(model, context), 3, 3, model.words.count + 3)) {
        const p = Math.exp(logP);
        if (!(p >= 0 && p <= 1.000001)) return { ending: "nonsense", told: `p = ${p} after ${context}` };
      }
    }
  } catch (error) {
    return { ending: "crash", told: String(error) };
  }
  return { ending: "ok", told: "" };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await verdict(line)));
