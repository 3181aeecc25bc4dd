// Reads the cases that Python wrote for these tests.
import { readFileSync } from "node:fs";

import { parse } from "./parse.mjs";

export { against, apart } from "./parse.mjs";

/** The bytes of a file as an ArrayBuffer of its own. */
export function bytes(path) {
  const data = readFileSync(path);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

/** One case: {task, expected}. */
export function read(name, folder = process.env.TACIT_CASES ?? "/missing") {
  return parse(readFileSync(`${folder}/${name}.json`, "utf8"), bytes(`${folder}/${name}.bin`));
}
