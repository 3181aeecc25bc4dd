// Addresses, which are not corrected and of which no part is learnt.
//
// An address is a whole piece between spaces, however it is split into words, that contains "@", or a colon and two
// slashes, or starts with "www.". A word may become one as it is typed: `jane` is a word, `jane@` is not.

import { placeOf, TAIL } from "./tokens.js";

const ADDRESS = /:[/]{2}|@|^[^\p{L}\p{N}]*www\./iu;
const INSTEAD = "@"; // a token that the cache never keeps

/** Whether the piece at the end of a text looks like an address. @param {string} before */
export function endsInAddress(before) {
  return ADDRESS.test(/\S*$/u.exec(before.slice(-TAIL))?.[0] ?? "");
}

/**
 * The finished words of the line at the end of a text, as the cache may learn them, and the word being typed: an address
 * is one token that is not a word.
 * @param {string} before
 * @returns {import("./tokens.js").Place}
 */
export function lessonsOf(before) {
  const place = placeOf(before);
  if (place.context[0] === "") return place; // too long for a message: nothing is learnt
  const line = before.slice(before.lastIndexOf("\n") + 1);
  return placeOf(line.replace(/\S+/gu, (piece) => (ADDRESS.test(piece) ? INSTEAD : piece)));
}
