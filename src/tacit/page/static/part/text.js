// A person's sentences as a model reads them; the same ids as tacit.network.person.person_text gives. The language is that
// of ../locale.js (language.js sets it).

import { lower } from "../locale.js";
import { tokenize } from "../tokens.js";
import { Refusal } from "./refusal.js";

const BOS = 0, EOS = 1, UNK = 2;
const SPECIALS = ["<s>", "</s>", "<unk>"];
const LONGEST_SCORED = 1000; // words: in evaluation a longer message is split

/** The words of a task: one a line, the three special ones first. @param {Uint8Array} content @returns {string[]} */
export function readWords(content) {
  let words;
  try {
    words = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content).split("\n");
  } catch {
    throw new Refusal("schema", "its words are not UTF-8");
  }
  if (SPECIALS.some((word, i) => words[i] !== word) || new Set(words).size !== words.length)
    throw new Refusal("schema", "its words are not a vocabulary");
  return words;
}

/** The nearest whole number, ties to even, as Python rounds. @param {number} x */
function rounded(x) {
  const below = Math.floor(x);
  return x - below === 0.5 ? below + (below % 2) : Math.round(x);
}

/**
 * Earlier messages for training and the latest for evaluation, each sentence `<s> … </s>`.
 * @param {string[]} messages the oldest first @param {Record<string, any>} settings of [text] @param {string[]} words
 * @returns {{training: Int32Array[], heldOut: Int32Array[]}}
 */
export function ownText(messages, settings, words) {
  const ids = new Map(words.map((word, i) => /** @type {[string, number]} */ ([word, i])).slice(UNK));
  const later = Math.min(Math.max(messages.length - 1, 0), rounded(settings.held_out_text * messages.length));
  const sentences = (/** @type {string[]} */ some, /** @type {number} */ limit) =>
    some.flatMap((message) => {
      const tokens = tokenize(settings.case === "lower" ? lower(message) : message);
      const size = limit || Math.max(1, tokens.length);
      const parts = [];
      for (let at = 0; at < tokens.length; at += size)
        parts.push(Int32Array.from([BOS, ...tokens.slice(at, at + size).map((token) => ids.get(token) ?? UNK), EOS]));
      return parts;
    });
  const border = messages.length - later;
  return {
    training: sentences(messages.slice(0, border), settings.max_words),
    heldOut: sentences(messages.slice(border), settings.max_words ? LONGEST_SCORED : 0),
  };
}
