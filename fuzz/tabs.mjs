// Answers the tasks of a hostile server as a tab of the page *Take part* does: each line of standard input is a list of
// messages, as Flower's objects, for one tab. Training is left out: it would have nothing to refuse any more.
import { createInterface } from "node:readline";

import { answering } from "../src/tacit/page/static/part/answering.js";
import { readParcel } from "../src/tacit/page/static/part/records.js";
import { Refusal } from "../src/tacit/page/static/part/refusal.js";
import { Abandoned, Refused } from "../src/tacit/page/static/part/secure/errors.js";
import { browserTrainer } from "../src/tacit/page/static/part/training.js";

const trainer = {
  ...browserTrainer(async () => ["see you soon"]),
  measure: async () => ({ words: 1 }),
  train: async (work) => ({ update: work.model.map(({ values }) => new Float32Array(values.length)), weight: 1 }),
};

/** @param {{root: string, contents: Record<string, string>}[]} tasks */
async function ending(tasks) {
  const answers = answering(trainer);
  const refused = [];
  try {
    for (const { root, contents } of tasks) {
      const bytes = new Map(Object.entries(contents).map(([id, content]) => [id, new Uint8Array(Buffer.from(content, "base64"))]));
      try {
        await answers.answer(readParcel(root, bytes));
        refused.push("");
      } catch (error) {
        if (![Refusal, Refused, Abandoned].some((kind) => error instanceof kind)) return { ending: "crash", told: error.stack };
        refused.push(error.message);
      }
    }
  } finally {
    answers.forget();
  }
  return { ending: refused.at(-1) ? "refused" : "ok", told: refused.at(-1) };
}

for await (const line of createInterface({ input: process.stdin })) console.log(JSON.stringify(await ending(JSON.parse(line))));
