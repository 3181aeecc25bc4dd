// Reads the name of a compact file on each line of standard input; answers how the page's reader judges it.
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

import { ModelError, open } from "../src/tacit/page/static/compact.js";
import { complete } from "../src/tacit/page/static/suggest.js";

const contexts = [[], ["see", "you"], ["xyzzy", "are"], "are you coming home now i am".split(" ")];

/** @param {string} path */
function verdict(path) {
  const data = readFileSync(path);
  let model;
  try {
    model = open(data.buffer.slice(data.byteOffset, data.byteOffset + data.length));
  } catch (error) {
    return error instanceof ModelError ? { ending: "refused", told: error.message } : { ending: "crash", told: String(error) };
  }
  try {
    for (const context of contexts) {
      for (const suggestion of complete(model, context, "", 3)) {
        const p = suggestion.p ?? suggestion[1];
        if (!(p >= 0 && p <= 1.000001)) return { ending: "nonsense", told: `p = ${p} after ${context}` };
      }
    }
  } catch (error) {
    return { ending: "crash", told: String(error) };
  }
  return { ending: "ok", told: "" };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(verdict(line)));
