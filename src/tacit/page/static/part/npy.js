// Arrays in numpy's format 1.0, the few kinds that tasks have.
//
//     "\x93NUMPY" · 1 · 0 · length of the header, 2 bytes, little-endian · header, a Python dict · the numbers in C order

import { join, utf8 } from "./bytes.js";
import { Refusal } from "./refusal.js";

const MAGIC = "\x93NUMPY\x01\x00";
const HEADER = /^\{'descr': '([<|][a-z]\d)', 'fortran_order': (True|False), 'shape': \(((?:\d+, ?)*\d*),?\), ?\} *\n$/;

/** Kinds of numbers, by numpy's name. @type {Record<string, any>} */
const KINDS = { "<f4": Float32Array, "|u1": Uint8Array, "<f8": Float64Array };

/** @typedef {{kind: string, shape: number[], values: Float32Array | Uint8Array | Float64Array}} Numbers */

/** An array from its bytes; refuses everything else. @param {Uint8Array} data @returns {Numbers} */
export function readArray(data) {
  if (String.fromCharCode(...data.subarray(0, 8)) !== MAGIC) throw new Refusal("schema", "an array's format is not 1.0");
  const start = 10 + data[8] + 256 * data[9];
  const found = HEADER.exec(String.fromCharCode(...data.subarray(10, start)));
  const kind = found && KINDS[found[1]];
  if (!kind) throw new Refusal("schema", "an array is of a kind that no task has");
  const shape = found[3].split(",").filter((side) => side.trim()).map(Number);
  const size = shape.reduce((product, side) => product * side, 1) * kind.BYTES_PER_ELEMENT;
  if (found[2] === "True" || data.length - start !== size) throw new Refusal("schema", "an array's header does not fit its bytes");
  return { kind: found[1], shape, values: new kind(data.slice(start).buffer) };
}

/** The bytes of a row of bytes as an array. @param {Uint8Array} values */
export function writeBytes(values) {
  const said = `{'descr': '|u1', 'fortran_order': False, 'shape': (${values.length},), }`;
  const header = said.padEnd(64 * Math.ceil((said.length + 11) / 64) - 11) + "\n";
  const head = Uint8Array.from([...MAGIC].map((c) => c.charCodeAt(0)));
  return join(head, [header.length % 256, header.length >> 8], utf8(header), values);
}
