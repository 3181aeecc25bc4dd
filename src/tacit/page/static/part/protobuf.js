// Protocol buffers by hand: the few kinds of fields that Flower's calls have. Flower documents none of it;
// tests/network/test_part_wire.py compares every message with Flower's own classes.
//
// Numbers of nodes and runs have 64 bits and are BigInt here; lengths and counts are plain numbers.

import { join, utf8 } from "./bytes.js";

const VARINT = 0, DOUBLE = 1, BYTES = 2, FLOAT = 5;
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** @param {bigint} value */
function varint(value) {
  const bytes = [];
  for (; value > 127n; value >>= 7n) bytes.push(Number(value & 127n) | 128);
  bytes.push(Number(value));
  return bytes;
}

/** @param {number} field @param {number} kind */
const tag = (field, kind) => varint(BigInt(field * 8 + kind));

/** An unsigned integer; 0 is not written. @param {number} field @param {bigint | number} value */
export const unsigned = (field, value) => (value ? join(tag(field, VARINT), varint(BigInt(value))) : new Uint8Array());

/** A signed integer in zigzag form, also 0. @param {number} field @param {bigint | number} value */
export function signed(field, value) {
  const big = BigInt(value);
  return join(tag(field, VARINT), varint(big < 0n ? -2n * big - 1n : 2n * big));
}

/** @param {number} field @param {number} value */
export function double(field, value) {
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setFloat64(0, value, true);
  return join(tag(field, DOUBLE), bytes);
}

/** Bytes, a text or a message; nothing is written for an empty one unless `always`.
 * @param {number} field @param {Uint8Array | string} value @param {boolean} always */
export function bytes(field, value, always = false) {
  const content = typeof value === "string" ? utf8(value) : value;
  return content.length || always ? join(tag(field, BYTES), varint(BigInt(content.length)), content) : new Uint8Array();
}

/** A field of a message that was read. */
export class Field {
  /** @param {bigint} value @param {Uint8Array} content */
  constructor(value, content) {
    this.value = value;
    this.content = content;
  }
  get text() {
    return decoder.decode(this.content);
  }
  get double() {
    return new DataView(this.content.buffer, this.content.byteOffset, 8).getFloat64(0, true);
  }
  get signed() {
    return this.value & 1n ? -(this.value >> 1n) - 1n : this.value >> 1n;
  }
  get message() {
    return read(this.content);
  }
}

/**
 * The fields of a message, by number; throws if the bytes are no message.
 * @param {Uint8Array} data
 * @returns {Map<number, Field[]>}
 */
export function read(data) {
  /** @type {Map<number, Field[]>} */
  const fields = new Map();
  let at = 0;
  const number = () => {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (at >= data.length || shift > 63n) throw new RangeError("a message is cut short");
      const byte = data[at++];
      value |= BigInt(byte & 127) << shift;
      if (byte < 128) return BigInt.asUintN(64, value);
    }
  };
  while (at < data.length) {
    const head = Number(number());
    const kind = head & 7;
    let field = new Field(0n, new Uint8Array());
    if (kind === VARINT) field = new Field(number(), new Uint8Array());
    else {
      const sizes = new Map([[DOUBLE, 8], [FLOAT, 4]]);
      const size = kind === BYTES ? Number(number()) : sizes.get(kind);
      if (size === undefined || at + size > data.length) throw new RangeError("a message is cut short");
      field = new Field(0n, data.subarray(at, at + size));
      at += size;
    }
    const before = fields.get(head >> 3);
    if (before) before.push(field);
    else fields.set(head >> 3, [field]);
  }
  return fields;
}

/** The last field of a number, or an empty one. @param {Map<number, Field[]>} fields @param {number} number */
export const one = (fields, number) => fields.get(number)?.at(-1) ?? new Field(0n, new Uint8Array());
