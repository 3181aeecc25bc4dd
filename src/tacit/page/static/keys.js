// The keys and their places: layers of four rows. Widths are in half keys, twenty to a row.
//
// The letters are placed as in `src/tacit/keyboard/layout.py`, against which the decoders measure taps; a browser test
// compares the two.

/**
 * A key: what it does, its name for screen readers, its width, and what it types with shift if that is not a capital.
 * @typedef {{kind: "letter" | "mark" | "space" | "shift" | "back" | "enter" | "layer", value: string, name: string,
 *   width: number, start?: number, shifted?: string}} Key
 */

/** @returns {Key} */
const letter = (/** @type {string} */ value) => ({ kind: "letter", value, name: value, width: 2 });
/** @returns {Key} */
const mark = (/** @type {string} */ value, /** @type {string} */ name, width = 2, shifted = "") => ({
  kind: "mark",
  value,
  name,
  width,
  ...(shifted ? { shifted } : {}),
});

const SHIFT = /** @type {Key} */ ({ kind: "shift", value: "shift", name: "Shift", width: 3 });
const BACK = /** @type {Key} */ ({ kind: "back", value: "back", name: "Backspace", width: 3 });
const ENTER = /** @type {Key} */ ({ kind: "enter", value: "\n", name: "Enter", width: 3 });
const SPACE = /** @type {Key} */ ({ kind: "space", value: " ", name: "Space", width: 6 });
const COMMA = mark(",", "Comma", 2, "!");
const STOP = mark(".", "Full stop", 2, "?");
const APOSTROPHE = mark("'", "Apostrophe");
const layer = (/** @type {string} */ value, /** @type {string} */ name, width = 3) =>
  /** @type {Key} */ ({ kind: "layer", value, name, width });

const EMOJI = layer("emoji", "Emoji", 2);

/** @type {Key[][]} */
export const LETTERS = [
  [..."qwertyuiop"].map(letter),
  [..."asdfghjkl"].map((c, i) => ({ ...letter(c), ...(i ? {} : { start: 2 }) })),
  [SHIFT, ...[..."zxcvbnm"].map(letter), BACK],
  [layer("123", "Numbers and marks"), EMOJI, COMMA, SPACE, APOSTROPHE, STOP, ENTER],
];

/** @param {[string, string][]} named */
const marks = (named) => named.map(([c, name]) => mark(c, name));
const SECOND = marks([
  ["-", "Hyphen"], ["/", "Slash"], [":", "Colon"], [";", "Semicolon"], ["(", "Open bracket"],
  [")", "Close bracket"], ["$", "Dollar"], ["&", "Ampersand"], ["@", "At sign"], ['"', "Quotation mark"],
]);
const THIRD = marks([
  ["?", "Question mark"], ["!", "Exclamation mark"], ["#", "Number sign"], ["%", "Per cent"],
  ["*", "Asterisk"], ["_", "Underscore"], ["£", "Pound"],
]);
const MORE = marks([
  ["[", "Open square bracket"], ["]", "Close square bracket"], ["{", "Open brace"], ["}", "Close brace"],
  ["<", "Less than"], [">", "Greater than"], ["^", "Caret"], ["~", "Tilde"], ["|", "Vertical bar"], ["\\", "Backslash"],
]);
const MOST = marks([
  ["+", "Plus"], ["=", "Equals"], ["€", "Euro"], ["¥", "Yen"], ["¢", "Cent"], ["°", "Degree"],
  ["…", "Ellipsis"], ["–", "Dash"], ["•", "Bullet"], ["`", "Backquote"],
]);
const LAST = [layer("abc", "Letters"), EMOJI, mark(",", "Comma"), SPACE, APOSTROPHE, mark(".", "Full stop"), ENTER];

/** @type {Key[][]} */
export const MARKS = [
  [..."1234567890"].map((c) => mark(c, c)),
  SECOND,
  [layer("more", "More marks"), ...THIRD, BACK],
  LAST,
];

/** @type {Key[][]} */
export const SYMBOLS = [MORE, MOST, [layer("123", "Numbers and marks"), ...THIRD, BACK], LAST];

/** The layer of emoji, thirty of them. @param {string[]} emoji @returns {Key[][]} */
export const emojiLayer = (emoji) => [
  ...[0, 10, 20].map((from) => emoji.slice(from, from + 10).map((c) => mark(c, c))),
  [layer("abc", "Letters"), mark(",", "Comma"), { ...SPACE, width: 7 }, mark(".", "Full stop"), { ...BACK, width: 3 }, ENTER],
];

/** The name of a mark. @param {string} character */
export function nameOf(character) {
  return [...MARKS, ...SYMBOLS].flat().find(({ value }) => value === character)?.name ?? character;
}
