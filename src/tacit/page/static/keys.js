// The keys and their places, from the rows of a locale: layers of letters, marks, more marks and emoji. Widths are in half
// keys, two for each key of the longest row.
//
// The letters are placed as in `src/tacit/keyboard/layout.py`, against which the decoders measure taps; a browser test
// compares the two.

/**
 * A key: what it does, its name for screen readers, its width, what it types with shift if that is not a capital, and what it
 * offers when it is held.
 * @typedef {{kind: "letter" | "mark" | "space" | "shift" | "back" | "enter" | "layer", value: string, name: string,
 *   width: number, start?: number, shifted?: string,
 *   held?: string[]}} Key
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

/** @type {(kind: "shift" | "back" | "enter" | "layer", value: string, name: string, width?: number) => Key} */
const side = (kind, value, name, width = 3) => ({ kind, value, name, width });
/** @type {(width: number) => Key} */
const space = (width) => ({ kind: "space", value: " ", name: "Space", width });
const SHIFT = side("shift", "shift", "Shift");
const BACK = side("back", "back", "Backspace");
const ENTER = side("enter", "\n", "Enter");
const EMOJI = side("layer", "emoji", "Emoji", 2);
const TO_LETTERS = side("layer", "abc", "Letters");
const TO_MARKS = side("layer", "123", "Numbers and marks");
const TO_MORE = side("layer", "more", "More marks");

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

/** What marks are called, beside those of the layers. @type {Record<string, string>} */
const NAMES = {
  "'": "Apostrophe", ",": "Comma", ".": "Full stop", "।": "Danda", "，": "Chinese comma", "。": "Chinese full stop",
  "、": "Enumeration comma", "’": "Typographic apostrophe", "¿": "Opening question mark", "¡": "Opening exclamation mark",
};

/** The name of a mark. @param {string} character */
export function nameOf(character) {
  const named = [SECOND, THIRD, MORE, MOST].flat().find(({ value }) => value === character);
  return NAMES[character] ?? named?.name ?? character;
}

/**
 * A row of keys in the middle of the keyboard, with keys at its ends that fill the rest.
 * @param {Key[]} keys
 * @param {number} wide half keys of the whole keyboard
 * @param {Key | null} first
 * @param {Key | null} last
 */
function centred(keys, wide, first = null, last = null) {
  const gap = (wide - 2 * keys.length) / 2;
  const [key, ...rest] = keys;
  const begin = first || !gap ? key : { ...key, start: gap + 1 };
  return [first && { ...first, width: gap }, begin, ...rest, last && { ...last, width: gap }].filter((k) => k !== null);
}

/**
 * The layers of a locale; `emojiLayer` makes that of thirty emoji.
 * @param {Pick<import("./locale.js").Locale, "rows" | "comma" | "stop" | "long_press">} locale
 * @returns {{wide: number, letters: Key[][], marks: Key[][], symbols: Key[][], emojiLayer: (emoji: string[]) => Key[][]}}
 */
export function layersOf({ rows, comma, stop, long_press }) {
  const wide = 2 * Math.max(10, ...rows.map((row) => [...row].length));
  const holding = (/** @type {Key} */ key) =>
    long_press[key.value] ? { ...key, held: [...long_press[key.value]] } : key;
  const letters = rows.map((row) => [...row].map((c) => holding(letter(c))));
  const commaKey = (shifted = "") => holding(mark(comma, nameOf(comma), 2, shifted));
  const stopKey = (shifted = "") => holding(mark(stop, nameOf(stop), 2, shifted));
  const last = (/** @type {Key} */ other, /** @type {boolean} */ shifts) => [
    other,
    EMOJI,
    commaKey(shifts ? "!" : ""),
    space(wide - 14),
    holding(mark("'", nameOf("'"))),
    stopKey(shifts ? "?" : ""),
    ENTER,
  ];
  /** As many rows as the letters have, so that the keyboard keeps its height. @param {Key[][]} some @returns {Key[][]} */
  const filled = (some) => [...Array(Math.max(0, rows.length - some.length)).fill([]), ...some];
  const digits = [..."1234567890"].map((c) => mark(c, c));
  return {
    wide,
    letters: [
      ...letters.map((row, i) => (i < rows.length - 1 ? centred(row, wide) : centred(row, wide, SHIFT, BACK))),
      last(TO_MARKS, true),
    ],
    marks: [
      ...filled([centred(digits, wide), centred(SECOND, wide), centred(THIRD, wide, TO_MORE, BACK)]),
      last(TO_LETTERS, false),
    ],
    symbols: [
      ...filled([centred(MORE, wide), centred(MOST, wide), centred(THIRD, wide, TO_MARKS, BACK)]),
      last(TO_LETTERS, false),
    ],
    emojiLayer: (emoji) => [
      ...filled([0, 10, 20].map((from) => centred(emoji.slice(from, from + 10).map((c) => mark(c, c)), wide))),
      [TO_LETTERS, commaKey(), space(wide - 13), stopKey(), BACK, ENTER],
    ],
  };
}
