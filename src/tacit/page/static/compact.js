// Reads Tacit's compact n-gram file in place: typed arrays over one ArrayBuffer, nothing is parsed.
//
// `src/tacit/ngram/compact/reader.py` documents the layout, and the functions here have the names of those there. Both
// make the same sums in the same order, so they give the same numbers; shared test vectors check that.
//
//     p(w | h) = value of its code                               if the file has the n-gram "h w"
//              = backoff(h) · p(w | h less its first word)       otherwise, with backoff 1 if h is not a history

import { misfit, ModelError, sectionsOf } from "./sections.js";
import { checkArrays } from "./validation.js";
import { every, find, wordAt } from "./words.js";

export const VERSION = 1;
export { ModelError };
export const SPECIALS = ["<s>", "</s>", "<unk>"];
export const BOS = 0;
export const UNK = 2;
/** @type {import("./sections.js").Format} */
const FORM = {
  magic: "TacitNG\n",
  version: VERSION,
  name: 8,
  what: "a compact n-gram file",
  again: "distil the model again",
};
const RANK = 512;
const PICK = 64;

/**
 * A history in the file: its n-grams are rows first … last − 1 of order n.
 * @typedef {{n: number, first: number, last: number, logBackoff: number}} Node
 */
/**
 * The n-grams of one order ≥ 2, and, except at the highest, which of them are histories.
 * @typedef {{labels: Uint16Array, p: Uint8Array, table: Float64Array, deep: Uint8Array, rank: Uint32Array,
 *   backoff: Uint8Array, backoffTable: Float64Array, head: Uint8Array, pick: Uint32Array}} Level
 */
/**
 * An open file.
 * @typedef {{facts: {name: string, source: string, cased: boolean, order: number, ngrams: number[]}, bytes: number,
 *   order: number, words: import("./words.js").Words, hidden: Uint8Array, p: Uint8Array, table: Float64Array,
 *   common: Uint32Array, starts: Uint32Array, backoff: Uint8Array, backoffTable: Float64Array, levels: Level[]}} Compact
 */

/**
 * Open a file; throws a ModelError if something is wrong with it.
 * @param {ArrayBuffer} buffer
 * @returns {Compact}
 */
export function open(buffer) {
  const sections = sectionsOf(buffer, FORM);
  try {
    const opened = lookAt(buffer, sections);
    checkArrays(opened, { rank: RANK, pick: PICK });
    return opened;
  } catch (error) {
    throw misfit(error, FORM);
  }
}

/**
 * The arrays, as views of the file.
 * @param {ArrayBuffer} buffer
 * @param {import("./sections.js").Places} sections
 * @returns {Compact}
 */
function lookAt(buffer, sections) {
  /** @returns {any} */
  const array = (/** @type {string} */ name, /** @type {any} */ kind, /** @type {number} */ wanted = NaN) => {
    const section = sections.get(name);
    if (!section) throw new Error(`'${name}' is missing`);
    if (section[0] % 8) throw new Error(`'${name}' does not begin at a multiple of 8`);
    const length = section[1] / kind.BYTES_PER_ELEMENT;
    if (!Number.isInteger(length)) throw new Error(`'${name}' has ${section[1]} bytes`);
    const view = new kind(buffer, section[0], length);
    if (!Number.isNaN(wanted) && view.length !== wanted) throw new Error(`'${name}' has ${view.length} items, not ${wanted}`);
    return view;
  };
  const values = (/** @type {string} */ name) => Float64Array.from(array(name, Float32Array, 256));
  const bits = (/** @type {string} */ name, /** @type {number} */ count) =>
    array(name, Uint8Array, Math.ceil(count / 8));

  const strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const facts = JSON.parse(strict.decode(array("meta", Uint8Array)));
  const [v, ...counts] = facts.ngrams;
  if (!(v > SPECIALS.length) || ![v, ...counts].every(Number.isInteger) || counts.length !== facts.order - 1) {
    throw new Error("no words, or not as many orders as it says");
  }
  const common = array("common", Uint32Array);
  const starts = array("start2", Uint32Array, common.length + 1);
  if (starts[starts.length - 1] !== (counts[0] ?? 0)) throw new Error("'start2' does not cover the bigrams");
  const none = new Uint8Array(0);
  const levels = counts.map((/** @type {number} */ count, /** @type {number} */ i) => {
    const n = i + 2;
    const level = { labels: array(`label${n}`, Uint16Array, count), p: array(`p${n}`, Uint8Array, count) };
    const table = values(`tp${n}`);
    if (n > counts.length) {
      const empty = new Uint32Array(0);
      const nowhere = { deep: none, rank: empty, backoff: none, backoffTable: table, head: none, pick: empty };
      return { ...level, table, ...nowhere };
    }
    const backoff = array(`b${n}`, Uint8Array);
    return {
      ...level,
      table,
      deep: bits(`deep${n}`, count),
      rank: array(`rank${n}`, Uint32Array, Math.ceil(count / RANK)),
      backoff,
      backoffTable: values(`tb${n}`),
      head: bits(`head${n + 1}`, counts[i + 1]),
      pick: array(`pick${n + 1}`, Uint32Array, Math.ceil(backoff.length / PICK) + 1),
    };
  });
  const hidden = bits("hidden", v);
  return {
    facts,
    bytes: buffer.byteLength,
    order: levels.length + 1,
    words: { count: v - SPECIALS.length, starts: array("blocks", Uint32Array), text: array("text", Uint8Array) },
    hidden: Uint8Array.from({ length: v }, (_, i) => (hidden[i >> 3] >> (i & 7)) & 1),
    p: array("p1", Uint8Array, v),
    table: values("tp1"),
    common,
    starts,
    backoff: array("b1", Uint8Array, common.length),
    backoffTable: values("tb1"),
    levels,
  };
}

/**
 * The first place in sorted numbers, from `low` to `high`, whose value is not less.
 * @param {Uint16Array | Uint32Array} sorted
 * @param {number} value
 */
export function search(sorted, value, low = 0, high = sorted.length) {
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The word of an id as it is shown: a name has its capital even if the model has none.
 * @param {{words: import("./words.js").Words, forms?: Map<number, string>}} model
 * @param {number} id
 */
export function word(model, id) {
  return id <= UNK ? SPECIALS[id] : (model.forms?.get(id) ?? wordAt(model.words, id - SPECIALS.length));
}

/**
 * The id of a word; that of `<unk>` if the file does not have it.
 * @param {{words: import("./words.js").Words}} model
 * @param {string} text
 */
export function idOf(model, text) {
  const place = find(model.words, text);
  return place < 0 ? UNK : place + SPECIALS.length;
}

/** The position of a word among the common ones; −1 if it is not one. @param {Compact} model @param {number} id */
function place(model, id) {
  const at = search(model.common, id);
  return at < model.common.length && model.common[at] === id ? at : -1;
}

/**
 * The state of the model after the first words of a message: the known histories, longest first.
 * @param {Compact} model
 * @param {string[]} words
 * @returns {Node[]}
 */
export function stateAfter(model, words) {
  const first = Math.max(0, words.length - model.order + 1);
  return stateOf(model, words.slice(first).map((w) => idOf(model, w)), first === 0);
}

/**
 * The same from the ids of the last words; `whole`: they are the whole message.
 * @param {Compact} model
 * @param {number[]} recent
 * @param {boolean} whole
 * @returns {Node[]}
 */
export function stateOf(model, recent, whole) {
  const ids = whole ? [BOS, ...recent] : recent;
  const places = [];
  const nodes = [];
  for (let i = ids.length - 1; i >= Math.max(0, ids.length - model.order + 1); i--) {
    places.push(place(model, ids[i]));
    const node = after(model, places);
    if (!node) break; // then no longer history is known either
    nodes.unshift(node);
  }
  return nodes;
}

/**
 * The node of a history given by its common words, the last first.
 * @param {Compact} model
 * @param {number[]} places
 * @returns {Node | null}
 */
function after(model, places) {
  const oldest = places[places.length - 1];
  if (oldest < 0 || model.starts[oldest] === model.starts[oldest + 1]) return null;
  /** @type {Node} */
  let node = {
    n: 2,
    first: model.starts[oldest],
    last: model.starts[oldest + 1],
    logBackoff: model.backoffTable[model.backoff[oldest]],
  };
  for (let i = places.length - 2; i >= 0; i--) {
    const at = row(model, node, places[i]);
    if (at < 0 || node.n === model.order) return null;
    const level = model.levels[node.n - 2];
    if (!((level.deep[at >> 3] >> (at & 7)) & 1)) return null;
    const block = Math.floor(at / RANK);
    const history = level.rank[block] + bitsBetween(level.deep, block * RANK, at);
    const [first, last] = span(level, history);
    node = { n: node.n + 1, first, last, logBackoff: level.backoffTable[level.backoff[history]] };
  }
  return node;
}

/** The row of a common word after a history; −1 if there is none. */
function row(/** @type {Compact} */ model, /** @type {Node} */ node, /** @type {number} */ at) {
  if (at < 0) return -1;
  const { labels } = model.levels[node.n - 2];
  const i = search(labels, at, node.first, node.last);
  return i < node.last && labels[i] === at ? i : -1;
}

/** How many bits are set from `first` to `last` − 1. */
function bitsBetween(/** @type {Uint8Array} */ bits, /** @type {number} */ first, /** @type {number} */ last) {
  let count = 0;
  for (let i = first; i < last; i++) count += (bits[i >> 3] >> (i & 7)) & 1;
  return count;
}

/**
 * Where the n-grams of a history begin and end, one order above `level`.
 * @param {Level} level
 * @param {number} history
 * @returns {[number, number]}
 */
function span(level, history) {
  const block = Math.floor(history / PICK);
  const end = level.pick[block + 1];
  let left = history % PICK;
  let first = level.pick[block];
  const next = (/** @type {number} */ at) => {
    for (at++; at < end && !((level.head[at >> 3] >> (at & 7)) & 1); at++);
    return at;
  };
  for (; left > 0; left--) first = next(first);
  return [first, next(first)];
}

/**
 * Natural log p of the word with an id, and how many words of context its n-gram has.
 * @param {Compact} model
 * @param {Node[]} state
 * @param {number} id
 * @returns {{logP: number, depth: number}}
 */
export function reading(model, state, id) {
  const at = place(model, id);
  let spent = 0;
  for (const node of state) {
    const i = row(model, node, at);
    if (i >= 0) {
      const level = model.levels[node.n - 2];
      return { logP: spent + level.table[level.p[i]], depth: node.n - 1 };
    }
    spent += node.logBackoff;
  }
  return { logP: spent + model.table[model.p[id]], depth: 0 };
}

/**
 * A word without regard to capitals: Damn, DAMN and damn are the same to the block list.
 * @param {string} text
 */
export function fold(text) {
  return text.normalize("NFC").toUpperCase().toLowerCase().normalize("NFC").replaceAll("’", "'");
}

/**
 * Never suggest these words, in any capitals: the list of `tacit serve --block`.
 * @param {Compact} model
 * @param {Set<string>} folded
 */
export function block(model, folded) {
  if (!folded.size) return;
  every(model.words).forEach((text, i) => {
    if (folded.has(fold(text))) model.hidden[i + SPECIALS.length] = 1;
  });
}
