// Shamir's secret sharing over the integers modulo p = 2²⁵⁶ + 297; as in tacit.privacy.secure.shamir.

import { hex } from "../bytes.js";

export const P = 2n ** 256n + 297n;
export const SHARE = 33; // bytes
export const COEFFICIENT = 48; // random bytes of a coefficient

/** @param {Uint8Array} bytes */
const number = (bytes) => BigInt(`0x${hex(bytes)}`);

/** @param {bigint} value @param {number} size */
export function bytesOf(value, size) {
  const found = new Uint8Array(size);
  for (let i = size - 1; i >= 0; i--) {
    found[i] = Number(value & 255n);
    value >>= 8n;
  }
  return found;
}

/**
 * A share for each place. Takes (threshold − 1) · 48 random bytes: the coefficients of x, x², ….
 * @param {Uint8Array} secret @param {number[]} places @param {number} threshold @param {(size: number) => Uint8Array} random
 * @returns {Map<number, Uint8Array>}
 */
export function split(secret, places, threshold, random) {
  const coefficients = [number(secret)];
  while (coefficients.length < threshold) coefficients.push(number(random(COEFFICIENT)) % P);
  coefficients.reverse(); // Horner's rule
  return new Map(
    places.map((place) => {
      const x = BigInt(place);
      return [place, bytesOf(coefficients.reduce((sum, c) => (sum * x + c) % P, 0n), SHARE)];
    }),
  );
}
