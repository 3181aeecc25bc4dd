// Text to tokens, as the models were trained on them: a port of `src/tacit/text/tokens.py`, checked against it.
//
// A word keeps its inner apostrophes and hyphens, a number its inner points; emoji, emoticons and addresses stay whole;
// a run of one mark is one token. Python's possessive repeats are not needed here: where one could give characters
// back, a look-ahead forbids it.

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

const TOKEN = new RegExp([EMOJI, PLACEHOLDER, URL, EMAIL, EMOTICON, WORD, RUNS, `[^${WHITE}]`].join("|"), "gu");

/**
 * The tokens of any text; a typographic apostrophe becomes the plain one.
 * @param {string} text
 * @returns {string[]}
 */
export function tokenize(text) {
  return text.replaceAll("’", "'").match(TOKEN) ?? [];
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
 * @returns {Place}
 */
export function placeOf(before) {
  const start = Math.max(before.lastIndexOf("\n") + 1, before.length - TAIL);
  const tail = before.slice(start);
  const cut = start > 0 && before[start - 1] !== "\n";
  const run = TYPED.exec(tail.slice(-LONGEST_WORD - 1))?.[0] ?? "";
  const word = run.replace(LEAD, "");
  const typed = word.length > LONGEST_WORD ? "" : word;
  const context = tokenize(tail.slice(0, tail.length - typed.length));
  return { context: cut ? ["", ...context.slice(1)] : context, typed }; // the first may be half a word
}
