// Masks: AES-256-CTR streams as vectors of 64-bit words, added modulo 2⁶⁴; as in tacit.privacy.secure.masks.
//
// The mask of a key is its stream from counter block 0, read as little-endian words. A vector is a Uint32Array with the
// lower half of each word first, which is how these words lie in memory: BigInt would be ten times slower.

import { integer } from "../bytes.js";

const PIECE = 1 << 20; // bytes of a stream at once
const ZEROS = new Uint8Array(PIECE);

/** Add the masks of some keys to a vector, in place, and subtract those of others.
 * @param {Uint32Array} vector @param {Uint8Array[]} plus @param {Uint8Array[]} minus */
export async function addMasks(vector, plus, minus) {
  for (const key of plus) await addStream(vector, key, add);
  for (const key of minus) await addStream(vector, key, subtract);
}

/** @param {Uint32Array} vector @param {Uint8Array} key @param {(to: Uint32Array, from: Uint32Array) => void} into */
async function addStream(vector, key, into) {
  const aes = await crypto.subtle.importKey("raw", /** @type {any} */ (key), "AES-CTR", false, ["encrypt"]);
  for (let at = 0; at < 4 * vector.length; at += PIECE) {
    const size = Math.min(PIECE, 4 * vector.length - at);
    const how = { name: "AES-CTR", counter: integer(at / 16, 16), length: 128 };
    const stream = new Uint32Array(await crypto.subtle.encrypt(how, aes, ZEROS.subarray(0, size)));
    into(vector.subarray(at / 4, (at + size) / 4), stream);
  }
}

/** Words of `from` are added to those of `to`. @param {Uint32Array} to @param {Uint32Array} from */
export function add(to, from) {
  for (let i = 0; i < to.length; i += 2) {
    const low = to[i] + from[i];
    to[i] = low;
    to[i + 1] += from[i + 1] + (low > 0xffffffff ? 1 : 0);
  }
}

/** Words of `from` are subtracted from those of `to`. @param {Uint32Array} to @param {Uint32Array} from */
export function subtract(to, from) {
  for (let i = 0; i < to.length; i += 2) {
    const low = to[i] - from[i];
    to[i] = low;
    to[i + 1] -= from[i + 1] + (low < 0 ? 1 : 0);
  }
}
