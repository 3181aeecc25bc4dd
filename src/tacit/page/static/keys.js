// The keys and their places, from the rows of a locale: a layer of letters and one of marks. Widths are in half keys, two
// for each key of the longest row.
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

/** What marks are called, beside those of the second layer. @type {Record<string, string>} */
const NAMES = {
  "'": "Apostrophe", ",": "Comma", ".": "Full stop", "।": "Danda", "，": "Chinese comma", "。": "Chinese full stop",
  "、": "Enumeration comma", "’": "Typographic apostrophe", "¿": "Opening question mark", "¡": "Opening exclamation mark",
};

/** The name of a mark. @param {string} character */
export function nameOf(character) {
  return NAMES[character] ?? [...SECOND, ...THIRD].find(([mark]) => mark === character)?.[1] ?? character;
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
 * The layers of a locale.
 * @param {Pick<import("./locale.js").Locale, "rows" | "comma" | "stop" | "long_press">} locale
 * @returns {{wide: number, letters: Key[][], marks: Key[][]}}
 */
export function layersOf({ rows, comma, stop, long_press }) {
  const wide = 2 * Math.max(10, ...rows.map((row) => [...row].length));
  const holding = (/** @type {Key} */ key) =>
    long_press[key.value] ? { ...key, held: [...long_press[key.value]] } : key;
  const letters = rows.map((row) => [...row].map((c) => holding(letter(c))));
  const back = side("back", "back", "Backspace");
  const last = (/** @type {Key} */ other, /** @type {boolean} */ shifts) => [
    other,
    holding(mark(comma, nameOf(comma), 2, shifts ? "!" : "")),
    /** @type {Key} */ ({ kind: "space", value: " ", name: "Space", width: wide - 12 }),
    holding(mark("'", nameOf("'"))),
    holding(mark(stop, nameOf(stop), 2, shifts ? "?" : "")),
    side("enter", "\n", "Enter"),
  ];
  const marks = [
    centred([..."1234567890"].map((c) => mark(c, c)), wide),
    centred(SECOND.map(([c, name]) => mark(c, name)), wide),
    centred(THIRD.map(([c, name]) => mark(c, name)), wide, null, back),
  ];
  while (marks.length < rows.length) marks.unshift([]); // so that the keyboard keeps its height
  return {
    wide,
    letters: [
      ...letters.map((row, i) =>
        i < rows.length - 1 ? centred(row, wide) : centred(row, wide, side("shift", "shift", "Shift"), back),
      ),
      last(side("layer", "123", "Numbers and marks"), true),
    ],
    marks: [...marks, last(side("layer", "abc", "Letters"), false)],
  };
}
