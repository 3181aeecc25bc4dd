// Trains cases in float32 and in float64, and prints how far each pair is apart: benchmarks/adam_rounding.py.
//
// Float64 is the plain kernels over arrays of doubles: the same lines with another type of memory. It begins with the same
// numbers and has the same batches, dropout and constants, so what it differs by is float32's rounding.
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import { compile } from "../src/tacit/page/static/train/engine.js";
import { trainLocally } from "../src/tacit/page/static/train/local.js";
import { bytes, read } from "../tests/page/train/js/cases.mjs";

const [folder, ...names] = process.argv.slice(2);
const TRAIN = new URL("../src/tacit/page/static/train/", import.meta.url);
const module = await compile(bytes(new URL("kernels.wasm", TRAIN)));

/** Training in float64: a copy of the scripts whose plain kernels have doubles. @param {string} copy */
async function inDoubles(copy) {
  cpSync(TRAIN, copy, { recursive: true });
  writeFileSync(join(copy, "package.json"), '{"type": "module"}');
  let text = readFileSync(join(copy, "kernels.js"), "utf8");
  for (const [from, to] of [
    ["const f = new Float32Array(buffer);", "const f = new Float64Array(buffer.byteLength / 4);"],
    ["...access(buffer),", `put(at, numbers) { (numbers instanceof Int32Array ? whole : f).set(numbers, at >> 2); },
    get(at, count) { return f.subarray(at >> 2, (at >> 2) + count); },`],
  ]) {
    if (!text.includes(from)) throw new Error(`kernels.js has no longer: ${from}`);
    text = text.replace(from, to);
  }
  writeFileSync(join(copy, "kernels.js"), text);
  return (await import(pathToFileURL(join(copy, "local.js")).href)).trainLocally;
}

/** The largest difference of two updates, and that of 99.9 % of the parameters. */
function apart(a, b) {
  const all = Float64Array.from(Object.keys(a).flatMap((name) => Array.from(a[name], (x, i) => Math.abs(x - b[name][i])))).sort();
  return { largest: all.at(-1), within_999: all[Math.floor(0.999 * all.length)], median: all[all.length >> 1] };
}

const copy = mkdtempSync(join(tmpdir(), "tacit-doubles-"));
try {
  const doubles = await inDoubles(copy);
  for (const name of names) {
    const { task, expected } = read(name, folder);
    const weight = expected["reply/message/1"][0];
    const of = (/** @type {any} */ answer) => answer.update;
    const found = {
      python: Object.fromEntries(Object.keys(task.params).map((key) => [key, expected[`reply/message/0/${key}`].map((x) => x / weight)])),
      wasm: of(trainLocally(task, module)),
      float64: of(doubles(task, null)),
    };
    const pairs = [["wasm", "python"], ["wasm", "float64"], ["python", "float64"]];
    for (const [a, b] of pairs) console.log(JSON.stringify({ name, between: `${a} and ${b}`, ...apart(found[a], found[b]) }));
  }
} finally {
  rmSync(copy, { recursive: true });
}
