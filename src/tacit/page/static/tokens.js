// Text to tokens, as the models were trained on them: a port of `src/tacit/text/tokens.py`, checked against it.
//
// A word keeps its inner apostrophes and hyphens, a number its inner points; emoji, emoticons and addresses stay whole;
// a run of one mark is one token. Python's possessive repeats are not needed here: where one could give characters
// back, a look-ahead forbids it.

import { current, elidedEnd } from "./locale.js";
import { makeSegmenter } from "./segments.js";

const LETTER = "[\\p{L}\\p{N}_]"; // Python's \w
const PART = `(?:${LETTER}|(?=[\\u0300-\\u1fff])[\\p{Mn}\\p{Mc}])`; // with combining accents
const JOIN = "['\\-\\u200c\\u200d]";
const WHITE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";

const PICTURE =
  "[©®™‼⁉ℹ〰〽㊗㊙\\u2190-\\u21ff\\u2300-\\u23ff\\u2460-\\u24ff\\u25a0-\\u27bf\\u2900-\\u297f\\u2b00-\\u2bff" +
  "\\u{1f000}-\\u{1faff}]";
const DRESS = "[\\ufe0e\\ufe0f\\u{1f3fb}-\\u{1f3ff}\\u{e0020}-\\u{e007f}]"; // variation, skin tone, tag
const EMOJI =
  "[\\u{1f1e6}-\\u{1f1ff}]{2}" + // a flag is two letters
  "|[0-9#*]\\ufe0f?\\u20e3" + // a keycap
  `|${PICTURE}${DRESS}*(?:\\u200d${PICTURE}${DRESS}*)*`;
const PLACEHOLDER = `<\\/?(?:[A-Za-z](?:${LETTER}|-){0,30}|#)>`;
const URL = `(?:https?:\\/\\/|www\\.)[^${WHITE}<>]*[^${WHITE}<>.,!?;:'"()\\[\\]{}…]`;
const EMAIL = `${LETTER}(?:${LETTER}|[.+\\-]){0,63}@${LETTER}(?:${LETTER}|-){0,63}(?:\\.${LETTER}(?:${LETTER}|-){0,63})+`;
const EMOTICON =
  `[:;=][\\-'^]?(?:[()\\[\\]]+|[\\/\\\\|*]+(?![\\/\\\\|*])(?!${LETTER}))` +
  `|(?<!${LETTER})[:;=][\\-'^]?[dDpPoO3sS](?!${LETTER})` + // a letter for a mouth only where no word touches it
  `|<\\/?3+(?!\\p{Nd})|\\^[_.\\-]*\\^|(?<!${LETTER})-_+-|>_+<`;
const WORD = `${PART}+(?:${JOIN}${PART}+|(?<=\\p{Nd})[.,:]\\p{Nd}${PART}*)*`;
const RUNS =
  "[!?]+|" + [...".,…-–—*~=#/\\|+^&%$@:;()[]{}\"'`_"].map((c) => `${c.replace(/[.*+?^${}()|[\]\\/]/, "\\$&")}+`).join("|");

const BEFORE_WORDS = [EMOJI, PLACEHOLDER, URL, EMAIL, EMOTICON];
const AFTER_WORDS = [WORD, RUNS, `[^${WHITE}]`];
const TOKEN = new RegExp([...BEFORE_WORDS, ...AFTER_WORDS].join("|"), "gu");

/** Made once for each locale. @type {WeakMap<import("./locale.js").Locale, (text: string) => string[]>} */
const splitters = new WeakMap();

/** @param {import("./locale.js").Locale} locale @returns {(text: string) => string[]} */
function splitterOf({ elided, segments }) {
  if (segments) {
    const cut = makeSegmenter(segments);
    const some = new RegExp(`[${segments.run}]`, "u");
    const isWhole = (/** @type {string} */ token) => !some.test(token) || /^(?:http|www\.|<)/.test(token);
    return (text) => (text.match(TOKEN) ?? []).flatMap((token) => (isWhole(token) ? [token] : cut(token)));
  }
  if (!elided.length) return (text) => text.match(TOKEN) ?? [];
  const anyCase = (/** @type {string} */ word) => [...word].map((c) => `[${c}${c.toUpperCase()}]`).join("");
  const short = [...elided].sort((a, b) => b.length - a.length).map(anyCase).join("|");
  const joined = `(?<!${PART})(?:${short})'(?=${PART}|[${WHITE}]|$)`;
  const token = new RegExp([...BEFORE_WORDS, joined, ...AFTER_WORDS].join("|"), "gu");
  return (text) => text.match(token) ?? [];
}

/**
 * The tokens of any text, after `plain`.
 * @param {string} text
 * @returns {string[]}
 */
export function tokenize(text) {
  const locale = current();
  const split = splitters.get(locale) ?? splitterOf(locale);
  splitters.set(locale, split);
  return split(plain(text));
}

/**
 * Text as keyboards write it: composed letters, one apostrophe, one hyphen, no soft hyphens.
 * @param {string} text
 * @returns {string}
 */
function plain(text) {
  return text.replaceAll("\u00ad", "").normalize("NFC").replaceAll("’", "'").replace(/[\u2010\u2011]/gu, "-");
}

export const TAIL = 2000; // characters that are read: no model here uses as much
const TYPED = /[\p{L}\p{M}\p{N}_'’-]*$/u;
const LEAD = /^[^\p{L}\p{N}]+/u; // a word begins with a letter
const LONGEST_WORD = 48; // characters of a word that is completed or corrected

/**
 * A place in a text: the tokens of this message before the word in progress, and that word as typed so far, "" between
 * words. If only the end of a long message was read, the first token is "".
 * @typedef {{context: string[], typed: string}} Place
 */

/**
 * The model's input, from the text before the caret; a line is a message.
 * @param {string} before
 * @param {boolean} [finished] whether the last word is finished, where no space says so
 * @returns {Place}
 */
export function placeOf(before, finished = false) {
  const start = Math.max(before.lastIndexOf("\n") + 1, before.length - TAIL);
  const tail = before.slice(start);
  const cut = start > 0 && before[start - 1] !== "\n";
  const run = TYPED.exec(tail.slice(-LONGEST_WORD - 1))?.[0] ?? "";
  const word = run.replace(LEAD, "");
  const typed = inProgress(word, tail, finished);
  const context = tokenize(tail.slice(0, tail.length - typed.length));
  return { context: cut ? ["", ...context.slice(1)] : context, typed }; // the first may be half a word
}

/**
 * The part of the letters before the caret that is the word in progress: without elided words before it, and in a script
 * without spaces the last word.
 * @param {string} word
 * @param {string} tail
 * @param {boolean} finished
 */
function inProgress(word, tail, finished) {
  if (current().segments) {
    const last = word && !finished ? (tokenize(tail).pop() ?? "") : "";
    return last.length > LONGEST_WORD ? "" : word.slice(word.length - last.length);
  }
  const apostrophe = current().elided.length ? word.search(/['’](?!.*['’])/u) + 1 : 0;
  const begun = apostrophe && elidedEnd(word.slice(0, apostrophe)) ? word.slice(apostrophe) : word;
  return begun.length > LONGEST_WORD ? "" : begun;
}
