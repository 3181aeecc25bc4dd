// Reads the sections "text" and "blocks" of a compact file: sorted words in little space.
//
// Words lie in blocks of 16, in the order of their UTF-8 bytes: the first of a block whole, each other one as how many
// bytes it shares with the word before it, and the rest. Numbers are varints. `src/tacit/ngram/compact/words.py`
// documents the format. Words that begin alike are neighbours: a typed prefix is a range.

export const BLOCK = 16;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/**
 * Words by number, 0 … count − 1.
 * @typedef {{count: number, starts: Uint32Array, text: Uint8Array}} Words
 */

/**
 * Which of two byte strings comes first: below 0 the first, above 0 the second, 0 if they are equal.
 * @param {Uint8Array} a
 * @param {Uint8Array} b
 */
export function compare(a, b) {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/**
 * The words of one block as bytes, in order.
 * @param {Words} words
 * @param {number} block
 * @param {number} [most] the most words to read
 * @returns {Uint8Array[]}
 */
export function blockOf(words, block, most = BLOCK) {
  const { text, starts } = words;
  const end = starts[block + 1];
  let at = starts[block];
  const varint = () => {
    let value = 0;
    let shift = 0;
    let byte = text[at++];
    for (; byte >= 128; byte = text[at++], shift += 7) value |= (byte & 127) << shift;
    if (at > end || shift > 21) throw new Error("a word is cut short or too long");
    return value | (byte << shift);
  };
  /** @type {Uint8Array[]} */
  const list = [];
  /** @type {Uint8Array} */
  let last = new Uint8Array(0);
  while (at < end && list.length < most) {
    const shared = list.length ? varint() : 0;
    const rest = varint();
    if (shared > last.length || rest > end - at) throw new Error("a word is cut short"); // a file may be damaged
    const word = new Uint8Array(shared + rest);
    word.set(last.subarray(0, shared));
    word.set(text.subarray(at, at + rest), shared);
    at += rest;
    list.push(word);
    last = word;
  }
  return list;
}

/**
 * How many words come before these bytes in the order.
 * @param {Words} words
 * @param {Uint8Array} key
 */
export function before(words, key) {
  let low = 0; // the first block whose first word comes after the key
  let high = words.starts.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (compare(blockOf(words, middle, 1)[0], key) <= 0) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return 0;
  const block = blockOf(words, low - 1);
  let inside = 0;
  while (inside < block.length && compare(block[inside], key) < 0) inside++;
  return (low - 1) * BLOCK + inside;
}

/**
 * The word with a number.
 * @param {Words} words
 * @param {number} number
 */
export function wordAt(words, number) {
  return decoder.decode(blockOf(words, Math.floor(number / BLOCK), (number % BLOCK) + 1)[number % BLOCK]);
}

/**
 * The number of a word, −1 if it is not there.
 * @param {Words} words
 * @param {string} word
 */
export function find(words, word) {
  const key = encoder.encode(word);
  const number = before(words, key);
  if (number >= words.count) return -1;
  const candidate = blockOf(words, Math.floor(number / BLOCK), (number % BLOCK) + 1)[number % BLOCK];
  return compare(candidate, key) === 0 ? number : -1;
}

/**
 * The numbers of the words with a prefix: from the first up to, but not including, the second.
 * @param {Words} words
 * @param {string} prefix
 * @returns {[number, number]}
 */
export function starting(words, prefix) {
  const key = encoder.encode(prefix);
  const after = new Uint8Array(key.length + 1);
  after.set(key);
  after[key.length] = 255; // never occurs in UTF-8
  return [before(words, key), before(words, after)];
}

/**
 * All words in order, for the decoders.
 * @param {Words} words
 * @returns {string[]}
 */
export function every(words) {
  const list = [];
  for (let block = 0; block + 1 < words.starts.length; block++) {
    for (const word of blockOf(words, block)) list.push(decoder.decode(word));
  }
  return list;
}
