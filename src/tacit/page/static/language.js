// Asks a model of any kind: n-grams (compact.js), a network (forward.js), or a mixture of the two.
//
//     P(w | h) = λ P_n-gram(w | h) + (1 − λ) P_network(w | h)
//
// N-grams are looked up word by word. A network gives all words at once, so its state is their distribution. The words
// of a mixture are those of its network; the two must have the same words, in the same order.

import { idOf, reading as readNgram, stateOf, UNK } from "./compact.js";
import { following } from "./forward.js";
import { lower } from "./locale.js";
import { best as bestNgrams } from "./suggest.js";
import { every } from "./words.js";

/** @typedef {import("./compact.js").Compact} Compact */
/**
 * What every kind of model has: its words, those that are never suggested, capitals of names by id, and its size.
 * @typedef {{facts: {name: string, source: string, cased: boolean}, bytes: number, words: import("./words.js").Words,
 *   hidden: Uint8Array, forms?: Map<number, string>}} Basis
 */
/**
 * A network, or a mixture with n-grams of the weight λ. `after` gives log p of all words after a context of ids.
 * @typedef {Basis & {longest: number, mixed: {ngrams: Compact, weight: number} | null,
 *   network?: import("./network8.js").Network, after: (ids: number[]) => Float32Array}} Dense
 */
/** @typedef {Compact | Dense} Model */
/**
 * A state: known histories of n-grams, or log p of all words and how many words of context they depend on.
 * @typedef {import("./compact.js").Node[] | {logP: Float32Array, depth: number}} State
 */

/** @param {Model} model @returns {model is Dense} */
export const isDense = (model) => "after" in model;

/** A network as a model. @param {import("./network8.js").Network} network @returns {Dense} */
export function dense(network) {
  const { facts, bytes, words, hidden, longest } = network;
  return { facts, bytes, words, hidden, longest, network, mixed: null, after: following(network) };
}

/**
 * A network mixed with n-grams over the same words; null if their words differ.
 * @param {Dense} network
 * @param {Compact} ngrams
 * @param {number} weight λ, of the n-grams
 * @returns {Dense | null}
 */
export function mixture(network, ngrams, weight) {
  const [ours, theirs] = [every(network.words), every(ngrams.words)];
  if (ours.length !== theirs.length || ours.some((text, i) => text !== theirs[i])) return null;
  /** @type {{key: string, logP: Float32Array}} */
  let last = { key: "none", logP: new Float32Array(0) };
  const after = (/** @type {number[]} */ ids) => {
    const key = ids.join(" ");
    if (last.key !== key) last = { key, logP: mix(network.after(ids), everyWord(ngrams, ids), weight) };
    return last.logP;
  };
  return { ...network, bytes: network.bytes + ngrams.bytes, mixed: { ngrams, weight }, after };
}

/** @param {Float32Array} network @param {Float32Array} ngrams @param {number} weight */
const mix = (network, ngrams, weight) =>
  network.map((logP, i) => Math.log(weight * Math.exp(ngrams[i]) + (1 - weight) * Math.exp(logP)));

/** The known histories at the end of a message. @param {Compact} model @param {number[]} ids */
function stateOfIds(model, ids) {
  const first = Math.max(0, ids.length - model.order + 1);
  return stateOf(model, ids.slice(first), first === 0);
}

/**
 * log p of all words after a context under n-grams: shorter histories first, longer ones write over them.
 * @param {Compact} model
 * @param {number[]} ids
 */
export function everyWord(model, ids) {
  const nodes = stateOfIds(model, ids);
  let spent = nodes.reduce((sum, node) => sum + node.logBackoff, 0);
  const all = Float32Array.from(model.p, (code) => spent + model.table[code]);
  for (const node of [...nodes].reverse()) {
    spent -= node.logBackoff;
    const { labels, p, table } = model.levels[node.n - 2];
    for (let row = node.first; row < node.last; row++) all[model.common[labels[row]]] = spent + table[p[row]];
  }
  return all;
}

/**
 * The state of a model after the first words of a message; words that it does not know are read in lower case.
 * @param {Model} model
 * @param {string[]} context
 * @returns {State}
 */
export function stateAfter(model, context) {
  const idOfAny = (/** @type {string} */ text) => {
    const id = idOf(model, text);
    return id === UNK ? idOf(model, lower(text)) : id;
  };
  if (isDense(model)) {
    const ids = context.map(idOfAny);
    return { logP: model.after(ids), depth: Math.min(ids.length, model.longest) };
  }
  const first = Math.max(0, context.length - model.order + 1); // earlier words are not looked up
  return stateOf(model, context.slice(first).map(idOfAny), first === 0);
}

/**
 * Natural log p of the word with an id, and how many words of context it depends on.
 * @param {Model} model
 * @param {State} state
 * @param {number} id
 * @returns {{logP: number, depth: number}}
 */
export function reading(model, state, id) {
  if ("logP" in state) return { logP: state.logP[id], depth: state.depth };
  return readNgram(/** @type {Compact} */ (model), state, id);
}

/**
 * The k likeliest words with ids from `first` to `last` − 1 and their log p; hidden and barred ones never.
 * @param {Model} model
 * @param {State} state
 * @param {number} k
 * @param {number} first
 * @param {number} last
 * @param {(id: number) => boolean} [barred]
 * @returns {{id: number, logP: number, depth: number}[]}
 */
export function best(model, state, k, first, last, barred = () => false) {
  if (!("logP" in state)) return bestNgrams(/** @type {Compact} */ (model), state, k, first, last, barred);
  const { logP, depth } = state;
  /** @type {number[]} */
  const kept = [];
  let least = -Infinity; // the lower id of equals wins
  for (let id = first; id < last; id++) {
    if (!(logP[id] > least) || model.hidden[id] || barred(id)) continue;
    let place = kept.length;
    while (place > 0 && logP[kept[place - 1]] < logP[id]) place--;
    kept.splice(place, 0, id);
    if (kept.length > k) kept.pop();
    if (kept.length === k) least = logP[kept[k - 1]];
  }
  return kept.map((id) => ({ id, logP: logP[id], depth }));
}
