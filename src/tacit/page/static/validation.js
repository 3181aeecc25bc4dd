// Checks once that the arrays of a compact file are consistent, so that no query can fail or loop forever.
//
// A CRC-32 detects damage, not malice: anyone who makes a file can make its CRC, too. `compact.js` checks that all
// sections lie inside the file and have their lengths; this module checks that every index in them is valid, and
// `probabilities.js` that the numbers are probabilities. Python's checks.py refuses the same files.

import { checkProbabilities } from "./probabilities.js";
import { BLOCK, blockOf, compare } from "./words.js";

const strict = new TextDecoder("utf-8", { fatal: true });

/** @param {boolean} fits @param {string} what */
function must(fits, what) {
  if (!fits) throw new Error(what);
}

/** Whether numbers never fall. @param {Uint32Array} numbers */
const rises = (numbers) => numbers.every((value, i) => i === 0 || numbers[i - 1] <= value);

/** Whether a bit is set. @param {Uint8Array} bits @param {number} i */
const bit = (bits, i) => ((bits[i >> 3] >> (i & 7)) & 1) === 1;

/**
 * Throws an Error that names the inconsistency.
 * @param {import("./compact.js").Compact} model
 * @param {{rank: number, pick: number}} steps distance, in n-grams and in histories, between entries of the file's indexes
 */
export function checkArrays(model, steps) {
  const { words, common, starts, levels, p } = model;
  checkWords(words);
  must(common.every((id, i) => id < p.length && (i === 0 || common[i - 1] < id)), "'common' is not in order");
  must(rises(starts), "'start2' is not in order");
  const begins = new Set(starts);
  /** @type {(row: number) => boolean} whether the n-grams of another history begin here */
  let first = (row) => begins.has(row);
  levels.forEach((level, i) => {
    const { labels } = level;
    const n = i + 2;
    must(labels.every((label) => label < common.length), `'label${n}' has ids without a word`);
    must(labels.every((label, row) => row === 0 || labels[row - 1] < label || first(row)), `'label${n}' is not in order`);
    if (i + 1 < levels.length) checkHistories(level, n, levels[i + 1].labels.length, steps);
    first = (row) => bit(level.head, row);
  });
  checkProbabilities(model);
}

/**
 * The words are complete and in the order of their bytes.
 * @param {import("./words.js").Words} words
 */
function checkWords(words) {
  const { starts, text } = words;
  must(rises(starts) && starts[starts.length - 1] === text.length, "'blocks' does not cover the words");
  /** @type {Uint8Array | null} */
  let last = null;
  let count = 0;
  for (let block = 0; block + 1 < starts.length; block++) {
    const blockWords = blockOf(words, block);
    must(blockWords.length === Math.min(BLOCK, words.count - count), "the number of its words is wrong");
    for (const word of blockWords) {
      strict.decode(word); // throws unless it is UTF-8
      must(last === null || compare(last, word) < 0, "its words are not in order");
      last = word;
    }
    count += blockWords.length;
  }
  must(count === words.count, "the number of its words is wrong");
}

/**
 * Every history of an order has its number, its backoff weight and its n-grams.
 * @param {import("./compact.js").Level} level
 * @param {number} n
 * @param {number} after how many n-grams the next order has
 * @param {{rank: number, pick: number}} steps
 */
function checkHistories({ labels, deep, rank, backoff, head, pick }, n, after, steps) {
  let histories = 0;
  for (let i = 0; i < labels.length; i++) {
    must(i % steps.rank > 0 || rank[i / steps.rank] === histories, `'rank${n}' does not match 'deep${n}'`);
    if (bit(deep, i)) histories++;
  }
  let heads = 0;
  for (let i = 0; i < after; i++) {
    if (!bit(head, i)) continue;
    must(heads % steps.pick > 0 || pick[heads / steps.pick] === i, `'pick${n + 1}' does not match 'head${n + 1}'`);
    heads++;
  }
  must(histories === backoff.length && heads === histories, `'b${n}' does not fit its histories`);
  must(pick[pick.length - 1] === after, `'pick${n + 1}' does not cover the n-grams`);
  must(!after || bit(head, 0), `'head${n + 1}' does not begin with a history`);
}
