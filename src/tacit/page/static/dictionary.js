// A dictionary of words that a model may not know, as hashes of their spellings. A port of
// `src/tacit/keyboard/dictionary.py`, which describes the file.
//
// It answers only whether a spelling is in it: a word that was typed and stands here is a word.

const MAGIC = "TACITDIC";
const VERSION = 1;
const HEAD = 24; // bytes
const NOT_S = /(?:[sxzo]|[cs]h|(?:^|[^aeiou])y)$/u; // words that end so take no plain s

/** Hashes of words, ascending, each below `range`. @typedef {{hashes: Uint32Array, range: number}} Dictionary */

/** @type {Dictionary} */
export const EMPTY = { hashes: new Uint32Array(0), range: 1 };

const encoder = new TextEncoder();

/** The 32-bit FNV-1a hash of a word's letters, mixed by the last step of MurmurHash3. @param {string} word */
export function hashed(word) {
  let h = 0x811c9dc5;
  for (const byte of encoder.encode(word)) h = Math.imul(h ^ byte, 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

/**
 * Reads the file of a dictionary.
 * @param {ArrayBuffer} buffer
 * @returns {Dictionary}
 */
export function openDictionary(buffer) {
  const bytes = new Uint8Array(buffer);
  if (bytes.length < HEAD || new TextDecoder().decode(bytes.subarray(0, 8)) !== MAGIC) throw new Error("this is no dictionary");
  const view = new DataView(buffer);
  const [version, count, range, k] = [8, 12, 16, 20].map((at) => view.getUint32(at, true));
  if (version !== VERSION) throw new Error(`the dictionary has version ${version}`);
  const middle = HEAD + Math.ceil((count * k) / 8);
  if (k < 1 || k > 31 || middle > bytes.length) throw new Error("the dictionary is damaged");
  const bit = (/** @type {number} */ at) => (bytes[at >> 3] >> (at & 7)) & 1;
  const hashes = new Uint32Array(count);
  let low = HEAD * 8;
  let rest = middle * 8;
  let hash = 0;
  for (let i = 0; i < count; i++) {
    let gap = 0;
    while (rest < bytes.length * 8 && !bit(rest)) [gap, rest] = [gap + 1, rest + 1];
    if (rest++ >= bytes.length * 8) throw new Error("the dictionary is damaged");
    gap <<= k;
    for (let b = 0; b < k; b++) gap |= bit(low++) << b;
    hashes[i] = hash += gap;
  }
  return { hashes, range };
}

/**
 * Whether a spelling is in a dictionary, with letters as they stand.
 * @param {Dictionary} dictionary
 * @param {string} spelling
 */
export function has({ hashes, range }, spelling) {
  const wanted = hashed(spelling) % range;
  let low = 0;
  let high = hashes.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (hashes[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return hashes[low] === wanted;
}

/**
 * The word of which a spelling is the possessive or the regular plural; "" if it is neither.
 * @param {string} spelling
 */
export function stem(spelling) {
  const possessive = spelling.endsWith("'s");
  if (!spelling.endsWith("s")) return "";
  const one = spelling.slice(0, possessive ? -2 : -1);
  return one.length < 3 || (!possessive && NOT_S.test(one)) ? "" : one;
}

/**
 * Whether a spelling is a word by the dictionary.
 * @param {Dictionary} dictionary
 * @param {string} spelling
 * @param {(spelling: string) => boolean} known whether the model has a spelling
 */
export function lists(dictionary, spelling, known) {
  const one = stem(spelling);
  return has(dictionary, spelling) || (one !== "" && (has(dictionary, one) || known(one)));
}
