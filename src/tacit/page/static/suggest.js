// The likeliest next words, and completions of a typed prefix, from a compact file.
//
// Labels are nested: every word that follows a long history follows the shorter ones too. So the candidates are, from
// the longest known history down, the best k of its words that no longer history has; the unigrams come last. Codes
// rise with probability, so only k of them are decoded, and ties go to the lower id. A prefix is a range of ids, so only
// that range of every slice is read.

import { SPECIALS, search, stateAfter, word } from "./compact.js";
import { starting } from "./words.js";

/**
 * A word, its probability, and the words of context in its n-gram (0: the word alone).
 * @typedef {{id: number, word: string, p: number, depth: number}} Candidate
 */

/**
 * The k likeliest words that begin with the prefix, which is among them if it is a word itself.
 * @param {import("./compact.js").Compact} model
 * @param {string[]} context
 * @param {string} prefix
 * @param {number} [k]
 * @param {(id: number) => boolean} [barred] ids that are excluded
 * @returns {Candidate[]}
 */
export function complete(model, context, prefix, k = 3, barred) {
  const [first, last] = prefix ? starting(model.words, prefix) : [0, model.words.count];
  const state = stateAfter(model, context);
  return best(model, state, k, first + SPECIALS.length, last + SPECIALS.length, barred).map(
    ({ id, logP, depth }) => ({ id, word: word(model, id), p: Math.exp(logP), depth }),
  );
}

/**
 * The k likeliest words with ids from `first` to `last` − 1 and their log p; hidden and barred ones never.
 * @param {import("./compact.js").Compact} model
 * @param {import("./compact.js").Node[]} state
 * @param {number} k
 * @param {number} first
 * @param {number} last
 * @param {(id: number) => boolean} [barred]
 * @returns {{id: number, logP: number, depth: number}[]}
 */
export function best(model, state, k, first = 0, last = model.p.length, barred = () => false) {
  const low = search(model.common, first);
  const high = search(model.common, last);
  const refused = (/** @type {number} */ id) => model.hidden[id] === 1 || barred(id);
  /** @type {{id: number, logP: number, depth: number}[]} */
  const candidates = [];
  /** @type {Set<number>} */
  const taken = new Set(); // ids that longer histories have
  let spent = 0;
  for (const node of state) {
    const level = model.levels[node.n - 2];
    const begin = search(level.labels, low, node.first, node.last);
    const end = search(level.labels, high, begin, node.last);
    const idAt = (/** @type {number} */ row) => model.common[level.labels[row]];
    const skip = (/** @type {number} */ row) => taken.has(idAt(row)) || refused(idAt(row));
    for (const row of greatest(level.p, begin, end, k, skip)) {
      candidates.push({ id: idAt(row), logP: spent + level.table[level.p[row]], depth: node.n - 1 });
    }
    for (let row = begin; row < end; row++) taken.add(idAt(row));
    spent += node.logBackoff;
  }
  for (const id of greatest(model.p, first, last, k, (i) => taken.has(i) || refused(i))) {
    candidates.push({ id, logP: spent + model.table[model.p[id]], depth: 0 });
  }
  return candidates.sort((a, b) => b.logP - a.logP || a.id - b.id).slice(0, k);
}

/**
 * The positions of the k greatest codes, greatest first, the lower position of equals; code 0 means no probability.
 * @param {Uint8Array} codes
 * @param {number} begin
 * @param {number} end
 * @param {number} k
 * @param {(at: number) => boolean} skip
 */
function greatest(codes, begin, end, k, skip) {
  /** @type {number[]} */
  const kept = [];
  let least = 0; // a code must be above it
  for (let at = begin; at < end; at++) {
    const code = codes[at];
    if (code <= least || skip(at)) continue; // an equal code further on never wins
    let place = kept.length;
    while (place > 0 && codes[kept[place - 1]] < code) place--;
    kept.splice(place, 0, at);
    if (kept.length > k) kept.pop();
    if (kept.length === k) least = codes[kept[k - 1]];
  }
  return kept;
}
