// From the text to the personal cache: a word is learnt when it is finished, and forgotten when it is changed.
//
// A line is a message. Of the line at the caret it is known which finished words were learnt; after every key the
// finished words are compared with them. Words that are gone, because a correction was taken back or something was
// deleted, are unlearnt; new ones are learnt. Text that was pasted, or stood there before, is never learnt, nor kept as
// the first of a pair.

import { keeps, learn, makeCache } from "./cache.js";

/**
 * The finished words of a line, and which of them the cache learnt from it. `foreign` is the number of a word that was
 * pasted and is not finished yet, −1 if there is none.
 * @typedef {{start: number, words: {token: string, learnt: boolean}[], foreign: number}} Line
 */

/**
 * A line none of whose words is learnt.
 * @param {number} start
 * @param {string[]} tokens its finished words
 * @param {boolean} [unfinished] whether another word stands there that must not be learnt when it is finished
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
  if (tokens[0] === "" || old[0]?.token === "") { // it is, or was, too long for a message: what it taught is not known
    return { line: untold(start, tokens, typed !== ""), cache };
  }
  let same = 0;
  while (same < tokens.length && old[same]?.token === tokens[same]) same++;
  const gone = old.slice(same).filter((word) => word.learnt).length;
  let now = gone ? makeCache(cache.entries.slice(0, -gone)) : cache;
  const stood = old[same]?.learnt === false; // what changes here was not learnt, so what becomes of it is not either
  const words = old.slice(0, same);
  for (let i = same; i < tokens.length; i++) {
    const own = !stood && (foreign < 0 || i < foreign); // `one--two` is one word in progress and then three tokens
    const learnt = learning && own && keeps(tokens[i]);
    // the word before is kept beside it, so it must have been learnt itself: not one that was pasted, or typed while
    // nothing was to be learnt
    const previous = i ? (words[i - 1].learnt ? tokens[i - 1] : "") : null;
    if (learnt) now = learn(now, previous, tokens[i]);
    words.push({ token: tokens[i], learnt });
  }
  const still = typed !== "" && (stood || tokens.length === foreign); // that word is in progress, still or again
  return { line: { start, words, foreign: still ? tokens.length : -1 }, cache: now };
}
