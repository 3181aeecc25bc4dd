// The language of the page: its capitals, its elided words, its emoji. The server sends the locale's file as JSON
// (`src/tacit/text/locale.py`), and the page sets it once, before the first key.

/**
 * A locale; the names are those of Python's.
 * @typedef {{code: string, script: string, rows: string[], comma: string, stop: string,
 *   long_press: Record<string, string>, lower_of: Record<string, string>, upper_of: Record<string, string>,
 *   key_of: Record<string, string>, always: string[], elided: string[], opening: string, emoji: Record<string, string>,
 *   segments: {run: string, table: Record<string, Record<string, number>>} | null}} Locale
 */

/** What the page has before a server has sent anything. @type {Locale} */
export const PLAIN = {
  code: "en",
  script: "Latin",
  rows: ["qwertyuiop", "asdfghjkl", "zxcvbnm"],
  comma: ",",
  stop: ".",
  long_press: {},
  lower_of: {},
  upper_of: {},
  key_of: {},
  always: ["i"],
  elided: [],
  opening: "",
  emoji: {},
  segments: null,
};

let locale = PLAIN;

/** Set the language of the page. @param {Locale} found */
export function setLocale(found) {
  locale = found;
}

/** The language of the page. */
export const current = () => locale;

/** Whether spaces stand between words. */
export const hasSpaces = () => locale.segments === null;

/** @param {string} text @param {Record<string, string>} exceptions */
function replaced(text, exceptions) {
  for (const from in exceptions) text = text.replaceAll(from, exceptions[from]);
  return text;
}

/** The text in lower case. @param {string} text */
export const lower = (text) => replaced(text, locale.lower_of).toLowerCase();

/** The text in upper case. @param {string} text */
export const upper = (text) => replaced(text, locale.upper_of).toUpperCase();

/**
 * The word with a capital first letter, the rest as it is.
 * @param {string} word
 */
export function capitalise(word) {
  const [first = ""] = word;
  const raised = upper(first);
  return [...raised].length === 1 ? raised + word.slice(first.length) : word;
}

/** What a key types with shift: ẞ for ß, which has no capital within a word. @param {string} character */
export const keyCapital = (character) => locale.key_of[character] ?? capitalise(character);

/** The elided words at the end of a text, which join the next word: "" or as in "l'". @param {string} text */
export function elidedEnd(text) {
  if (!locale.elided.length) return "";
  const [end = "", word = ""] = /(?<![\p{L}\p{M}\p{N}_'’])([\p{L}\p{M}]+)['’]$/u.exec(text.slice(-24)) ?? [];
  return locale.elided.includes(lower(word)) ? end : "";
}

/** The emoji that a word stands for, "" if none. @param {string} word */
export const emojiOf = (word) => (Object.hasOwn(locale.emoji, lower(word)) ? locale.emoji[lower(word)] : "");
