// From the text to the personal cache: a word is learnt when it is finished, and forgotten when it is changed.
//
// A line is a message. Of the line at the caret it is known which finished words were learnt; after every key the
// finished words are compared with them. Words that are gone, because a correction was taken back or something was
// deleted, are unlearnt; new ones are learnt. Text that was pasted, or stood there before, is never learnt.

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
 * @param {string[]} tokens the finished words of the line now
 * @param {boolean} learning whether new words are learnt
 * @returns {{line: Line, cache: import("./cache.js").Cache}}
 */
export function follow(line, cache, tokens, learning) {
  if (tokens[0] === "") return { line: untold(line.start, tokens), cache }; // too long for a message
  let same = 0;
  while (same < tokens.length && line.words[same]?.token === tokens[same]) same++;
  const gone = line.words.slice(same).filter((word) => word.learnt).length;
  let now = gone ? makeCache(cache.entries.slice(0, -gone)) : cache;
  const words = line.words.slice(0, same);
  for (let i = same; i < tokens.length; i++) {
    const learnt = learning && i !== line.foreign && keeps(tokens[i]);
    if (learnt) now = learn(now, i ? tokens[i - 1] : null, tokens[i]);
    words.push({ token: tokens[i], learnt });
  }
  const foreign = tokens.length < line.foreign ? -1 : line.foreign; // it is gone
  return { line: { start: line.start, words, foreign }, cache: now };
}
