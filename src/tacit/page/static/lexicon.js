// The words that can be typed with the keys, sorted by their spelling, for the decoders.
//
// A port of `src/tacit/keyboard/lexicon.py`, in the same order, so that ties are broken the same way. Python keeps the
// trie level by level; here its nodes are in depth-first order, a node before its children, which is fastest in
// JavaScript: a search goes to the next node, or skips all nodes of a prefix.

import { SPECIALS } from "./compact.js";
import { lower } from "./locale.js";
import { countLetters } from "./spelling.js";
import { every } from "./words.js";

const APOSTROPHE = "'";
const LONGEST = 256; // letters of a word; longer ones are left out

/**
 * Keys by number: `x[i]`, `y[i]` is the middle of the key that types `letters[i]`, in key widths.
 * `held` is the key that offers each letter without a key of its own, on a long press.
 * @typedef {{letters: string[], held: Record<string, string>, x: number[], y: number[], width: number,
 *   height: number}} Layout
 */
/**
 * Prefixes in depth-first order: the key of its last letter, its length, and the first node that does not have this
 * prefix. The words that end at node n have the places words[n] … words[n + 1] − 1.
 * @typedef {{letters: Uint8Array, depths: Uint32Array, after: Uint32Array, words: Uint32Array}} Trie
 */
/**
 * Words that can be typed, ascending by spelling, and the counts of their letters.
 * @typedef {{layout: Layout, ids: number[], spellings: string[], trie: Trie,
 *   counts: import("./spelling.js").Letters}} Lexicon
 */

/**
 * The layout as `tacit.keyboard.layout.as_json` gives it.
 * @param {{keys: {letter: string, x: number, y: number}[], held: Record<string, string>, width: number, height: number}} json
 * @returns {Layout}
 */
export function layoutOf({ keys, held, width, height }) {
  return { held, letters: keys.map((k) => k.letter), x: keys.map((k) => k.x), y: keys.map((k) => k.y), width, height };
}

/**
 * The keys that type a word: those of its letters, of the letters that offer them on a long press, or of the letters
 * without their accents; none for a hyphen inside. "" if some character has no key.
 * @param {string} text
 * @param {Pick<Layout, "letters" | "held">} layout
 */
export function spell(text, { letters, held }) {
  const plain = lower(text).replaceAll("’", APOSTROPHE).replace(/(?<=[^-])-(?=[^-])/gu, "").normalize("NFC");
  let keys = "";
  for (const c of plain) {
    const bare = letters.includes(c) || held[c] ? c : c.normalize("NFD").replace(/\p{M}/gu, "");
    for (const one of bare) {
      const key = letters.includes(one) ? one : held[one];
      if (!key) return "";
      keys += key;
    }
  }
  return keys;
}

/**
 * The middle of a letter's key, if it has one.
 * @param {string} character
 * @param {Layout} layout
 * @returns {[number, number] | null}
 */
export function middleOf(character, layout) {
  const i = layout.letters.indexOf(spell(character, layout));
  return i < 0 ? null : [layout.x[i], layout.y[i]];
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
  const entries = [];
  for (const { text, id } of words) {
    const spelling = spell(text, layout);
    if (spelling && spelling.length <= LONGEST) entries.push({ id, spelling });
  }
  entries.sort((a, b) => (a.spelling < b.spelling ? -1 : a.spelling > b.spelling ? 1 : a.id - b.id));
  const spellings = entries.map((e) => e.spelling);
  const counts = countLetters(spellings, layout.letters);
  return { layout, ids: entries.map((e) => e.id), spellings, trie: trieOf(spellings, layout), counts };
}

/**
 * The places of the words with a spelling: from the first up to, but not including, the second.
 * @param {Lexicon} lexicon
 * @param {string} spelling
 * @returns {[number, number]}
 */
export function placesOf({ spellings }, spelling) {
  let first = 0;
  let end = spellings.length;
  while (first < end) {
    const middle = (first + end) >> 1;
    if (spellings[middle] < spelling) first = middle + 1;
    else end = middle;
  }
  end = first;
  while (spellings[end] === spelling) end++;
  return [first, end];
}

/**
 * The trie of sorted spellings: a word adds a node for each letter after those that it shares with the word before.
 * @param {string[]} spellings
 * @param {Layout} layout
 * @returns {Trie}
 */
function trieOf(spellings, { letters }) {
  const number = new Map(letters.map((letter, i) => [letter, i]));
  const most = spellings.reduce((sum, spelling) => sum + spelling.length, 0);
  const trie = {
    letters: new Uint8Array(most),
    depths: new Uint32Array(most),
    after: new Uint32Array(most),
    words: new Uint32Array(most + 1),
  };
  /** @type {number[]} */
  const open = []; // the nodes of the current word
  let size = 0;
  spellings.forEach((spelling, place) => {
    const last = spellings[place - 1] ?? "";
    let shared = 0;
    while (shared < last.length && last[shared] === spelling[shared]) shared++;
    for (const node of open.splice(shared)) trie.after[node] = size;
    for (let i = shared; i < spelling.length; i++) {
      trie.letters[size] = number.get(spelling[i]) ?? 0;
      trie.depths[size] = i + 1;
      trie.words[size] = place;
      open.push(size++);
    }
  });
  for (const node of open) trie.after[node] = size;
  trie.words[size] = spellings.length;
  return {
    letters: trie.letters.slice(0, size),
    depths: trie.depths.slice(0, size),
    after: trie.after.slice(0, size),
    words: trie.words.slice(0, size + 1),
  };
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
