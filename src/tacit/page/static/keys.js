// The keys and their places: two layers of four rows. Widths are in half keys, twenty to a row.
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
const SPACE = /** @type {Key} */ ({ kind: "space", value: " ", name: "Space", width: 8 });
const COMMA = mark(",", "Comma", 2, "!");
const STOP = mark(".", "Full stop", 2, "?");
const APOSTROPHE = mark("'", "Apostrophe");
const layer = (/** @type {string} */ value, /** @type {string} */ name) =>
  /** @type {Key} */ ({ kind: "layer", value, name, width: 3 });

/** @type {Key[][]} */
export const LETTERS = [
  [..."qwertyuiop"].map(letter),
  [..."asdfghjkl"].map((c, i) => ({ ...letter(c), ...(i ? {} : { start: 2 }) })),
  [SHIFT, ...[..."zxcvbnm"].map(letter), BACK],
  [layer("123", "Numbers and marks"), COMMA, SPACE, APOSTROPHE, STOP, ENTER],
];

/** @type {[string, string][]} */
const SECOND = [
  ["-", "Hyphen"], ["/", "Slash"], [":", "Colon"], [";", "Semicolon"], ["(", "Open bracket"],
  [")", "Close bracket"], ["&", "Ampersand"], ["@", "At sign"], ['"', "Quotation mark"],
];
/** @type {[string, string][]} */
const THIRD = [
  ["?", "Question mark"], ["!", "Exclamation mark"], ["#", "Number sign"], ["%", "Per cent"],
  ["+", "Plus"], ["=", "Equals"], ["€", "Euro"],
];

/** @type {Key[][]} */
export const MARKS = [
  [..."1234567890"].map((c) => mark(c, c)),
  SECOND.map(([c, name], i) => ({ ...mark(c, name), ...(i ? {} : { start: 2 }) })),
  [...THIRD.map(([c, name], i) => ({ ...mark(c, name), ...(i ? {} : { start: 4 }) })), BACK],
  [layer("abc", "Letters"), mark(",", "Comma"), SPACE, APOSTROPHE, mark(".", "Full stop"), ENTER],
];

/** The name of a mark. @param {string} character */
export function nameOf(character) {
  return MARKS.flat().find(({ value }) => value === character)?.name ?? character;
}
