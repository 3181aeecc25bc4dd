// What Python wrote for these tests (tests/page/vectors.py).
import { readFileSync } from "node:fs";

export const vectors = JSON.parse(readFileSync(process.env.TACIT_VECTORS ?? "/missing", "utf8"));

/** The bytes of a file as an ArrayBuffer of its own. */
export function bytes(path) {
  const data = readFileSync(path);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}
