// The words that can be typed with the keys, sorted by their keys: what the decoders search.
//
// A port of `src/tacit/keyboard/lexicon.py`. In a sorted list words that begin alike are neighbours, so a walk through
// the list that keeps what it knows of each prefix is a walk through the trie.

import { SPECIALS } from "./compact.js";
import { every } from "./words.js";

const APOSTROPHE = "'";

/**
 * Keys by number: `x[i]`, `y[i]` is the middle of the key that types `letters[i]`, in key widths.
 * @typedef {{letters: string[], x: number[], y: number[], width: number, height: number}} Layout
 */
/**
 * Words that can be typed, ascending by key numbers. `lengths` are without apostrophes.
 * @typedef {{layout: Layout, ids: number[], keys: Uint8Array[], spellings: string[], lengths: Uint8Array}} Lexicon
 */

/**
 * The layout as `tacit.keyboard.layout.as_json` gives it.
 * @param {{keys: {letter: string, x: number, y: number}[], width: number, height: number}} json
 * @returns {Layout}
 */
export function layoutOf({ keys, width, height }) {
  return { letters: keys.map((k) => k.letter), x: keys.map((k) => k.x), y: keys.map((k) => k.y), width, height };
}

/**
 * The keys that type a word: lower case, without accents; "" if some letter has no key.
 * @param {string} text
 * @param {string[]} letters
 */
export function spell(text, letters) {
  const plain = text.toLowerCase().replaceAll("’", APOSTROPHE).normalize("NFD").replace(/\p{M}/gu, "");
  return plain && [...plain].every((c) => letters.includes(c)) ? plain : "";
}

/**
 * The lexicon of a model; words that cannot be typed with the layout, and hidden ones, are left out.
 * @param {import("./compact.js").Compact} model
 * @param {Layout} layout
 * @returns {Lexicon}
 */
export function lexiconOf(model, layout) {
  return build(
    every(model.words).map((text, i) => ({ text, id: i + SPECIALS.length })).filter(({ id }) => !model.hidden[id]),
    layout,
  );
}

/**
 * The lexicon of these words.
 * @param {{text: string, id: number}[]} words
 * @param {Layout} layout
 * @returns {Lexicon}
 */
export function build(words, layout) {
  const number = new Map(layout.letters.map((letter, i) => [letter, i]));
  const entries = [];
  for (const { text, id } of words) {
    const spelling = spell(text, layout.letters);
    if (spelling) entries.push({ id, spelling, keys: Uint8Array.from([...spelling].map((c) => number.get(c) ?? 0)) });
  }
  entries.sort((a, b) => byKeys(a.keys, b.keys) || a.id - b.id);
  const spellings = entries.map((e) => e.spelling);
  const lengths = Uint8Array.from(spellings, (s) => Math.min(255, s.replaceAll(APOSTROPHE, "").length));
  return { layout, ids: entries.map((e) => e.id), keys: entries.map((e) => e.keys), spellings, lengths };
}

/** @param {Uint8Array} a @param {Uint8Array} b */
function byKeys(a, b) {
  const most = Math.min(a.length, b.length);
  for (let i = 0; i < most; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

/**
 * The keys that a glide of this word passes: doubled letters once, apostrophes passed or left out.
 * @param {string} spelling
 * @param {boolean} apostrophe
 */
export function polyline(spelling, apostrophe) {
  const kept = apostrophe ? spelling : spelling.replaceAll(APOSTROPHE, "");
  return [...kept].filter((c, i) => i === 0 || kept[i - 1] !== c).join("");
}
