// Numbers as fixed-point words of 64 bits, and the layout of a message; as in tacit.privacy.secure.codec.
//
// x is round(x · 2^f), ties to even, modulo 2⁶⁴. A double holds x · 2^f exactly, so its two halves are too; no BigInt.

import { double, integer, join, sha256, utf8 } from "../bytes.js";
import { Refused } from "./errors.js";

const MOST_BITS = 62;
const HALF = 2 ** 32;

/** One leaf of a message. @typedef {{name: string, shape: number[], bound: number, bits: number, quanta: number}} Part */

/** @param {number[]} shape */
export const sizeOf = (shape) => shape.reduce((size, side) => size * side, 1);

/** Length of the vector. @param {Part[]} parts */
export const wordsOf = (parts) => parts.reduce((words, part) => words + sizeOf(part.shape), 0);

/** The most fractional bits with which the sum of so many numbers up to `bound` fits. @param {number} bound @param {number} clients */
export function mostBits(bound, clients) {
  for (let f = MOST_BITS; f >= 0; f--) if (clients * (bound * 2 ** f + 1) < 2 ** 63) return f;
  throw new Refused(`the sum of ${clients} numbers up to ${bound} does not fit 64 bits`);
}

/** SHA-256 of the layout, which the terms of a round carry. @param {Part[]} parts */
export function digestOf(parts) {
  return sha256(
    join(
      ...parts.flatMap((part) => {
        const name = utf8(part.name);
        const sides = part.shape.map((side) => integer(side, 8));
        return [integer(name.length, 2), name, [sides.length], ...sides, double(part.bound), [part.bits], integer(part.quanta, 8)];
      }),
    ),
  );
}

/** Refuse a layout whose sums could overflow. @param {Part[]} parts @param {number} clients */
export function checkParts(parts, clients) {
  for (const { name, bound, bits } of parts) {
    if (!(Number.isFinite(bound) && bound > 0)) throw new Refused(`'${name}': the bound must be positive and finite`);
    if (!(bits >= 0 && bits <= mostBits(bound, clients)))
      throw new Refused(`'${name}': the sum of ${clients} numbers up to ${bound} with ${bits} bits does not fit 64 bits`);
  }
}

/**
 * A client's vector, the lower half of each word first; refuses numbers beyond their bounds, and NaN.
 * @param {Part[]} parts @param {ArrayLike<number>[]} leaves @returns {Uint32Array}
 */
export function encode(parts, leaves) {
  const vector = new Uint32Array(2 * wordsOf(parts));
  let at = 0;
  parts.forEach(({ name, shape, bound, bits }, which) => {
    const leaf = leaves[which];
    if (leaf.length !== sizeOf(shape)) throw new Refused(`'${name}' of a message has ${leaf.length} numbers`);
    const scale = 2 ** bits;
    for (let i = 0; i < leaf.length; i++) {
      const x = leaf[i];
      if (!(x >= -bound && x <= bound))
        throw new Refused(`'${name}' of a message has a number beyond its bound ${bound}. Nothing is sent`);
      const value = rounded(x * scale);
      const high = Math.floor(value / HALF);
      vector[at++] = value - high * HALF;
      vector[at++] = high;
    }
  });
  return vector;
}

/** The nearest whole number, ties to even. @param {number} x */
function rounded(x) {
  const below = Math.floor(x);
  const rest = x - below;
  if (rest < 0.5) return below;
  return rest > 0.5 || below % 2 !== 0 ? below + 1 : below;
}
