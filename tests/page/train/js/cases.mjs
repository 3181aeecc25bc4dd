// Reads the tasks and answers that Python wrote (tests/page/train/cases.py).
import { readFileSync } from "node:fs";

const folder = process.env.TACIT_CASES ?? "/missing";

/** One case: {task, expected}, arrays of `expected` by Python's names. */
export function read(name, from = folder) {
  const { arrays, ...task } = JSON.parse(readFileSync(`${from}/${name}.json`, "utf8"));
  const bytes = readFileSync(`${from}/${name}.bin`);
  const numbers = new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
  const [params, carried, expected] = [{}, [], {}];
  for (const [label, shape, at] of arrays) {
    const array = numbers.slice(at, at + shape.reduce((a, b) => a * b, 1));
    if (label.startsWith("params/")) params[label.slice(7)] = array;
    else if (label.startsWith("carried/")) carried.push(array);
    else expected[label] = array;
  }
  return { task: { ...task, params, carried }, expected };
}

/** The largest difference of two arrays. */
export function apart(a, b) {
  if (a.length !== b.length) return Infinity;
  return a.reduce((most, x, i) => Math.max(most, Number.isNaN(x - b[i]) ? Infinity : Math.abs(x - b[i])), 0);
}
