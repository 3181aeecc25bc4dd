// From the text to the personal cache: a word is learnt when it is finished, and forgotten when it is changed.
//
// A line is a message. For the line at the caret this module keeps which finished words were learnt, and compares them
// with the finished words after every key. Removed words (an undone correction, a deletion) are unlearnt; new ones are
// learnt. Pasted and earlier text is never learnt, nor kept as the first of a pair.

import { keeps, learn, makeCache } from "./cache.js";
import { startsSentence } from "./capitals.js";

/**
 * The finished words of a line, and which of them the cache has learnt. `foreign` is the number of a pasted word that is
 * not finished yet, −1 if there is none.
 * @typedef {{start: number, words: {token: string, learnt: boolean}[], foreign: number}} Line
 */

/**
 * A line without learnt words.
 * @param {number} start
 * @param {string[]} tokens its finished words
 * @param {boolean} [unfinished] whether an unfinished word follows, which must not be learnt when it is finished
 * @returns {Line}
 */
export function untold(start, tokens, unfinished = false) {
  return { start, words: tokens.map((token) => ({ token, learnt: false })), foreign: unfinished ? tokens.length : -1 };
}

/**
 * The line and the cache after a key.
 * @param {Line} line
 * @param {import("./cache.js").Cache} cache
 * @param {import("./tokens.js").Place} place the finished words of the line now, and the word in progress
 * @param {boolean} learning whether new words are learnt
 * @returns {{line: Line, cache: import("./cache.js").Cache}}
 */
export function follow(line, cache, { context: tokens, typed }, learning) {
  const { start, words: old, foreign } = line;
  if (tokens[0] === "" || old[0]?.token === "") { // it is, or was, too long for a message: what was learnt from it is not known
    return { line: untold(start, tokens, typed !== ""), cache };
  }
  let same = 0;
  while (same < tokens.length && old[same]?.token === tokens[same]) same++;
  const gone = old.slice(same).filter((word) => word.learnt).length;
  let now = gone ? makeCache(cache.entries.slice(0, -gone)) : cache;
  const stood = old[same]?.learnt === false; // the word that changes was not learnt, so its new form is not either
  const words = old.slice(0, same);
  for (let i = same; i < tokens.length; i++) {
    const isTyped = !stood && (foreign < 0 || i < foreign); // `one--two` is one word in progress and then three tokens
    const learnt = learning && isTyped && keeps(tokens[i]);
    // the previous word is stored with it, so it must have been learnt itself: not pasted, nor typed while learning
    // was off
    const previous = i ? (words[i - 1].learnt ? tokens[i - 1] : "") : null;
    if (learnt) now = learn(now, previous, tokens[i], startsSentence(tokens.slice(0, i)));
    words.push({ token: tokens[i], learnt });
  }
  const still = typed !== "" && (stood || tokens.length === foreign); // that word is in progress, still or again
  return { line: { start, words, foreign: still ? tokens.length : -1 }, cache: now };
}
