// The personal cache: words and word pairs typed on this page, which never leave the browser.
//
// It is the cache of `src/tacit/personal/mixing.py` (Kuhn and De Mori 1990), mixed with the model that is in use:
//
//     P(w) = (1 − β) P_model(w) + β P_cache(w | v)                          v the word before
//     P_cache(w | v) = λ c(v, w)/c(v) + (1 − λ) c(w)/c,    λ = c(v) / (c(v) + κ)
//     β = 0.3 · n / (n + 50)                                                n words in the cache
//
// Counts c fade with age: a word typed 2,000 words ago counts half, and at most 5,000 are kept. Only words are kept, of
// letters, apostrophes and hyphens: no number, no part of an address (addresses.js), nothing longer than 30 characters.
// A word that is not in the model may be a slip: it is suggested, and no longer corrected, once it was typed twice.
// Capitals that no start of a sentence explains are kept beside the word, and given back if at least half of its uses had
// them.

import { lower } from "./locale.js";

export const KAPPA = 4;
export const HALF_LIFE = 2000; // words
export const MOST = 5000;
export const BETA = 0.3;
export const HALF_TRUST = 50; // words at which β is half of its maximum
const START = "<s>"; // stands before the first word

const WORD = /^\p{L}[\p{L}\p{M}]*(?:['-][\p{L}\p{M}]+)*$/u;

/** Whether a token may be kept. @param {string} token */
export function keeps(token) {
  return token.length <= 30 && WORD.test(token);
}

/** The word before, the word, and how it was written if it had capitals. @typedef {[string, string] | [string, string, string]} Entry */
/**
 * Pairs of a word and the one before it, oldest first; how often each word was typed, and how; and sums of weights. Weights grow
 * by 2^(1/half-life) per word, so that earlier ones need not be changed.
 * @typedef {{entries: Entry[], times: Map<string, number>, capitals: Map<string, Map<string, number>>, words: Map<string, number>, pairs: Map<string, Map<string, number>>,
 *   follow: Map<string, number>, total: number, next: number}} Cache
 */

/**
 * A cache of these pairs, the latest last.
 * @param {Entry[]} [entries]
 * @returns {Cache}
 */
export function makeCache(entries = []) {
  /** @type {Cache} */
  const cache = { entries: [], times: new Map(), capitals: new Map(), words: new Map(), pairs: new Map(), follow: new Map(), total: 0, next: 0 };
  for (const [before, word, form] of entries.slice(-MOST)) add(cache, before, word, form);
  return cache;
}

/** @param {Cache} cache @param {string} before @param {string} word @param {string} [form] */
function add(cache, before, word, form) {
  cache.entries.push(form === undefined ? [before, word] : [before, word, form]);
  if (form !== undefined) {
    let forms = cache.capitals.get(word);
    if (!forms) cache.capitals.set(word, (forms = new Map()));
    forms.set(form, (forms.get(form) ?? 0) + 1);
  }
  cache.times.set(word, (cache.times.get(word) ?? 0) + 1);
  weigh(cache, before, word, 2 ** (cache.next / HALF_LIFE));
  cache.next++;
}

/** @param {Cache} cache @param {string} before @param {string} word @param {number} weight */
function weigh(cache, before, word, weight) {
  const more = (/** @type {Map<string, number>} */ map, /** @type {string} */ key) =>
    map.set(key, (map.get(key) ?? 0) + weight);
  more(cache.words, word);
  more(cache.follow, before);
  let after = cache.pairs.get(before);
  if (!after) cache.pairs.set(before, (after = new Map()));
  more(after, word);
  cache.total += weight;
}

/**
 * Learn a word, and drop the oldest if there are too many. Returns the cache to use from now on.
 * @param {Cache} cache
 * @param {string | null} before null at the start of a message
 * @param {string} word
 * @param {boolean} [start] whether a sentence starts with it, so that its capital says nothing
 */
export function learn(cache, before, word, start = true) {
  if (!keeps(word)) return cache;
  const previous = before === null ? START : keeps(before) ? lower(before) : "";
  const small = lower(word);
  add(cache, previous, small, start || word === small ? undefined : word);
  return cache.entries.length > 1.1 * MOST ? makeCache(cache.entries) : cache; // rebuilt now and then, not each time
}

/** Whether a word was typed twice, and so is intended even if the model does not have it. @param {Cache | null} cache @param {string} word */
export function isOwn(cache, word) {
  return (cache?.times.get(word) ?? 0) >= 2;
}

/** A lower-case word with the capitals that its person gives it. @param {Cache | null} cache @param {string} word */
export function formOf(cache, word) {
  const forms = cache?.capitals.get(word);
  if (!cache || !forms) return word;
  const [form, count] = [...forms].reduce((a, b) => (b[1] > a[1] ? b : a));
  return 2 * count >= (cache.times.get(word) ?? 0) ? form : word;
}

/** β: the weight of the cache beside the model. @param {Cache} cache */
export function weightOf(cache) {
  const n = Math.min(cache.entries.length, MOST);
  return (BETA * n) / (n + HALF_TRUST);
}

/**
 * P_cache(w | v) as a function of w.
 * @param {Cache} cache
 * @param {string | null} before null at the start of a message
 * @returns {(word: string) => number}
 */
export function cacheProbability(cache, before) {
  if (!cache.total) return () => 0;
  const scale = 2 ** (-(cache.next - 1) / HALF_LIFE); // the latest word counts 1
  const key = before === null ? START : lower(before);
  const seen = (cache.follow.get(key) ?? 0) * scale;
  const trust = seen / (seen + KAPPA);
  const after = cache.pairs.get(key);
  return (word) => {
    const pair = seen ? ((after?.get(word) ?? 0) * scale) / seen : 0;
    return trust * pair + (1 - trust) * ((cache.words.get(word) ?? 0) / cache.total);
  };
}

/**
 * The cache for display: words and pairs with their counts, the commonest first.
 * @param {Cache} cache
 */
export function contents(cache) {
  /** @type {Map<string, number>} */
  const words = new Map();
  /** @type {Map<string, number>} */
  const pairs = new Map();
  for (const [before, word] of cache.entries) {
    words.set(word, (words.get(word) ?? 0) + 1);
    const pair = `${before} ${word}`;
    if (before) pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
  }
  const ranked = (/** @type {Map<string, number>} */ map) =>
    [...map].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  return { words: ranked(words), pairs: ranked(pairs) };
}

/**
 * A cache without a word, nor that it was the first of a pair.
 * @param {Cache} cache
 * @param {string} word
 */
export function without(cache, word) {
  const others = cache.entries.filter(([, own]) => own !== word);
  return makeCache(others.map(([before, ...rest]) => [before === word ? "" : before, ...rest]));
}

const FORMAT = "tacit personal cache 1";

/** The cache as text, to store or export. @param {Cache} cache */
export function toJson(cache) {
  return JSON.stringify({ format: FORMAT, entries: cache.entries.slice(-MOST) });
}

/** Read the text of `toJson`; any other text gives an empty cache. @param {string | null} text */
export function fromJson(text) {
  try {
    const stored = JSON.parse(text ?? "");
    const pair = (/** @type {unknown} */ e) =>
      Array.isArray(e) && (e.length === 2 || (e.length === 3 && lower(String(e[2])) === e[1])) &&
      typeof e[0] === "string" && typeof e[1] === "string" && keeps(e[1]);
    return makeCache(stored.format === FORMAT && Array.isArray(stored.entries) ? stored.entries.filter(pair) : []);
  } catch {
    return makeCache();
  }
}
