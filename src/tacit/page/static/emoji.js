// Emoji: those that a model expects after a context, in the bar and on the layer of the emoji key.
//
// A model's vocabulary holds the emoji that people type. Among three words an emoji is seldom one: there are many, and each
// alone is less likely than a word. So their probabilities are added up. Where all emoji together have P(emoji) >= 0.15,
// the likeliest one takes the third place of the bar, unless one is there already.

import { SPECIALS } from "./compact.js";
import { reading, stateAfter } from "./language.js";
import { every } from "./words.js";

export const EXPECTED = 0.15;
export const SHOWN = 30; // on the layer
const IS_EMOJI = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/u;
const USUAL = "😂 ❤️ 😍 🤣 😊 🙏 💕 😭 😘 👍 😅 👏 😁 🔥 🥰 💔 💖 😢 🤔 😆 🙄 💪 😉 👌 🤗 💜 😔 😎 🎉 🌹".split(" ");

/** @typedef {import("./language.js").Model} Model */

/** The emoji of a model, found once. @type {WeakMap<object, {id: number, word: string}[]>} */
const known = new WeakMap();

/** @param {Model} model @returns {{id: number, word: string}[]} */
function emojiOf({ words }) {
  let found = known.get(words);
  if (!found) {
    found = every(words).flatMap((word, i) => (IS_EMOJI.test(word) ? [{ id: i + SPECIALS.length, word }] : []));
    known.set(words, found);
  }
  return found;
}

/**
 * A model's emoji after a context, the likeliest first, and the probability of any.
 * @param {Model} model
 * @param {string[]} context
 * @returns {{p: number, emoji: string[]}}
 */
export function expectedEmoji(model, context) {
  const state = stateAfter(model, context);
  const all = emojiOf(model)
    .filter(({ id }) => !model.hidden[id])
    .map(({ id, word }) => ({ word, p: Math.exp(reading(model, state, id).logP) }))
    .sort((a, b) => b.p - a.p);
  return { p: all.reduce((sum, { p }) => sum + p, 0), emoji: all.map(({ word }) => word) };
}

/**
 * The words of the bar, with an emoji in the third place where one is expected.
 * @param {string[]} words
 * @param {{p: number, emoji: string[]}} expected
 */
export function withExpected(words, { p, emoji }) {
  if (p < EXPECTED || !emoji.length || words.slice(0, 3).some((word) => IS_EMOJI.test(word))) return words;
  return [...words.slice(0, 2), emoji[0], ...words.slice(2)];
}

/** The emoji of the layer: those that the model expects, then the usual ones. @param {string[]} expected */
export function emojiToShow(expected) {
  return [...new Set([...expected, ...USUAL])].slice(0, SHOWN);
}
