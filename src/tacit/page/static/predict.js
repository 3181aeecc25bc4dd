// The words to suggest: a model's, mixed with the personal cache (cache.js has the formula), with their capitals.
//
// A word that is in the cache gets its exact mixed probability. Of all other words only the model's best matter, as
// mixing keeps their order: so the best k of the mixture are among the cached words and the model's best k besides.
// Without a cache this is `complete` of `src/tacit/keyboard/suggestions.py`; shared test vectors check that.

import { cacheProbability, formOf, isOwn, weightOf } from "./cache.js";
import { capitalise, startsSentence, written } from "./capitals.js";
import { fold, idOf, SPECIALS, UNK, word as wordOf } from "./compact.js";
import { best, reading, stateAfter } from "./language.js";
import { lower, upper } from "./locale.js";
import { starting } from "./words.js";

/**
 * A word that may be suggested. `depth`: words of context that its n-gram has, −1 for a word that is not in the model.
 * @typedef {{word: string, p: number, depth: number, cached: boolean}} Guess
 */
/**
 * A query: the tokens before, the letters typed so far, and whether shift asks for a capital; null leaves that to the
 * start of the sentence.
 * @typedef {{context: string[], typed: string, shift?: boolean | null}} Asked
 */

/** Ids of cached words, found once for each model. @type {WeakMap<object, Map<string, number[]>>} */
const places = new WeakMap();

/**
 * The ids that a word of the cache, which has no capitals, may have in a model.
 * @param {import("./language.js").Model} model
 * @param {string} text
 */
function variants(model, text) {
  let known = places.get(model);
  if (!known) places.set(model, (known = new Map()));
  let ids = known.get(text);
  if (!ids) {
    const forms = model.facts.cased ? [text, capitalise(text)] : [text];
    ids = [...new Set(forms.map((form) => idOf(model, form)))].filter((id) => id !== UNK);
    known.set(text, ids);
  }
  return ids;
}

/**
 * log p of words after a context, mixed with the cache if there is one, for the decoders.
 * @param {import("./language.js").Model} model
 * @param {import("./cache.js").Cache | null} cache
 * @param {string[]} context
 * @returns {(id: number) => number}
 */
export function chances(model, cache, context) {
  const state = stateAfter(model, context);
  const beta = cache ? weightOf(cache) : 0;
  if (!cache || !beta) return (id) => reading(model, state, id).logP;
  const share = cacheProbability(cache, context.length ? context[context.length - 1] : null);
  /** @type {Map<number, number>} */
  const cacheShares = new Map();
  for (const text of cache.words.keys()) for (const id of variants(model, text)) cacheShares.set(id, beta * share(text));
  return (id) => {
    const { logP } = reading(model, state, id);
    const cacheShare = cacheShares.get(id);
    return cacheShare ? Math.log((1 - beta) * Math.exp(logP) + cacheShare) : Math.log(1 - beta) + logP;
  };
}

/**
 * A word of the cache: its mixed probability, and its id in the model, Infinity if it has none.
 * @typedef {{id: number, text: string, p: number, depth: number}} Mixed
 */

/** @param {{id: number, p: number}} a @param {{id: number, p: number}} b */
const byP = (a, b) => b.p - a.p || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0);

/**
 * The likeliest form of a word in the model; the depth of a word that it does not have is −1.
 * @param {import("./language.js").Model} model
 * @param {import("./language.js").State} state
 * @param {number[]} ids
 */
function likeliest(model, state, ids) {
  let top = { id: Infinity, p: 0, depth: -1 };
  for (const id of ids) {
    const { logP, depth } = reading(model, state, id);
    const p = model.hidden[id] ? 0 : Math.exp(logP);
    if (p > top.p) top = { id, p, depth };
  }
  return top;
}

/**
 * The k likeliest words that begin with the typed letters, in any case.
 * @param {import("./language.js").Model} model
 * @param {import("./cache.js").Cache | null} cache
 * @param {Asked} asked
 * @param {number} k
 * @param {Set<string>} [blocked] words of the cache that are never suggested; the model hides its own
 * @returns {Guess[]}
 */
export function predict(model, cache, { context, typed, shift = null }, k, blocked = new Set()) {
  const prefix = typed.replaceAll("’", "'");
  const small = lower(prefix);
  const { cased } = model.facts;
  const state = stateAfter(model, context);
  const beta = cache ? weightOf(cache) : 0;
  /** @type {Set<number>} */
  const cachedIds = new Set(); // ids that the cache has
  /** @type {Mixed[]} */
  const cached = [];
  if (cache && beta) {
    const share = cacheProbability(cache, context.length ? context[context.length - 1] : null);
    for (const text of cache.words.keys()) {
      if (!text.startsWith(small) || (blocked.size && blocked.has(fold(text)))) continue;
      const ids = variants(model, text);
      if (ids.length ? ids.every((id) => model.hidden[id]) : !isOwn(cache, text)) continue; // unknown: perhaps a slip
      for (const id of ids) cachedIds.add(id);
      const likely = likeliest(model, state, ids);
      cached.push({ ...likely, text, p: (1 - beta) * likely.p + beta * share(text) });
    }
  }
  // only the best of the cache are looked up: it may be long, and a look-up takes time
  const guesses = cached.sort(byP).slice(0, cased ? 3 * k : k).map(({ id, text, p, depth }) => {
    return { id, word: formOf(cache, id < Infinity ? wordOf(model, id) : text), p, depth, cached: true };
  });
  const spellings = cased ? [prefix, small, capitalise(small), upper(prefix)] : [small];
  for (const spelling of new Set(spellings)) {
    const [first, last] = spelling ? starting(model.words, spelling) : [0, model.words.count];
    const [from, to] = [first + SPECIALS.length, last + SPECIALS.length];
    for (const { id, logP, depth } of best(model, state, cased ? 3 * k : k, from, to, (i) => cachedIds.has(i))) {
      guesses.push({ id, word: wordOf(model, id), p: (1 - beta) * Math.exp(logP), depth, cached: false });
    }
  }
  guesses.sort(byP);
  const start = shift ?? startsSentence(context);
  /** @type {Map<string, Guess>} */
  const merged = new Map(); // The and the are one word at the start of a sentence
  for (const { word, p, depth, cached } of guesses) {
    const form = written(word, cased, start, prefix);
    const previous = merged.get(form);
    merged.set(form, previous ? { ...previous, p: previous.p + p } : { word: form, p, depth, cached });
  }
  return [...merged.values()].sort((a, b) => b.p - a.p).slice(0, k);
}
