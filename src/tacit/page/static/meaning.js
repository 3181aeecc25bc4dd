// Decodes the word in progress and glides: the decoders, with the personal cache and its exceptions.
//
// A word that was typed twice is learnt: it counts like the model's words, for itself and for slips near it, written with the
// capitals that it was typed with.

import { cacheProbability, formOf, isOwn, weightOf } from "./cache.js";
import { fold, idOf, UNK } from "./compact.js";
import { among, correct, glide, isOfLongPress, joined, makeDecoder } from "./decode.js";
import { build, spell } from "./lexicon.js";
import { lower } from "./locale.js";
import { chances } from "./predict.js";

/** @typedef {import("./decode.js").Decoder} Decoder */
/** @typedef {import("./cache.js").Cache} Cache */

/**
 * Decoders by model, each made once, because that takes a while.
 * @param {import("./lexicon.js").Layout} layout
 * @param {Decoder["parameters"]} parameters
 * @param {import("./dictionary.js").Dictionary} dictionary
 * @returns {(choice: import("./load.js").Choice) => Decoder}
 */
export function makeDecoders(layout, parameters, dictionary) {
  /** @type {Map<string, Decoder>} */
  const decoders = new Map();
  return ({ id, model }) => {
    const decoder = decoders.get(id) ?? makeDecoder(model, layout, parameters, dictionary);
    decoders.set(id, decoder);
    return decoder;
  };
}

/**
 * The lexicons of own words, each until its cache learns. @type {WeakMap<Cache, {next: number, size: number,
 * decoder: Decoder, lexicon: import("./lexicon.js").Lexicon, texts: string[]}>}
 */
const lexicons = new WeakMap();

/**
 * One's own words that the model does not have, for the decoder.
 * @param {Decoder} decoder
 * @param {Cache} cache
 * @param {string[]} context
 * @param {Set<string>} blocked
 * @returns {import("./decode.js").OwnWords}
 */
function ownWords(decoder, cache, context, blocked) {
  let known = lexicons.get(cache);
  if (known?.next !== cache.next || known.size !== cache.entries.length || known.decoder !== decoder) {
    const texts = [...cache.times.keys()].filter((text) => isOwn(cache, text) && idOf(decoder.model, text) === UNK);
    const lexicon = build(texts.map((text, id) => ({ text, id })), decoder.lexicon.layout);
    known = { next: cache.next, size: cache.entries.length, decoder, lexicon, texts };
    lexicons.set(cache, known);
  }
  const share = cacheProbability(cache, context.length ? context[context.length - 1] : null);
  const beta = weightOf(cache);
  const logP = (/** @type {string} */ text) => (blocked.size && blocked.has(fold(text)) ? -Infinity : Math.log(beta * share(text)));
  return { lexicon: known.lexicon, texts: known.texts, logP };
}

/**
 * The words that the taps probably meant; null if nothing may be corrected: a word with characters that the keys do not
 * have, or one that was corrected wrongly. `joins`: the best word replaces the part before the space, too. `score` and
 * `isWord` are those of this part alone.
 * @param {Decoder} decoder
 * @param {Cache | null} cache
 * @param {{context: string[], typed: string}} place
 * @param {[number, number][]} taps where they fell, one for each character
 * @param {Set<string>} kept words that were corrected wrongly, in lower case
 * @param {Set<string>} [blocked] words that are never suggested; the model hides its own
 * @param {import("./decode.js").Part | null} [part] what was typed before the last space
 */
export function meantBy(decoder, cache, { context, typed }, taps, kept, blocked = new Set(), part = null) {
  const { layout } = decoder.lexicon;
  const small = lower(typed);
  const spelling = spell(typed, layout);
  if (kept.has(small) || !spelling || [...spelling].length !== [...typed].length) return null;
  const asked = (/** @type {string[]} */ before) =>
    /** @type {const} */ ([chances(decoder.model, cache, before), cache ? ownWords(decoder, cache, before, blocked) : null]);
  const [chance, own] = asked(context);
  const { score, isWord, ...found } = correct(decoder, chance, context, taps, typed, 3, own, isOwn(cache, small));
  let { best, words } = found;
  let joins = false;
  if (part && !isOfLongPress(decoder, part.typed + typed)) {
    const [before, ownBefore] = asked(part.context);
    const one = joined(decoder, before, part, { typed, taps, score, isWord }, ownBefore);
    if (one) words = among(words, one);
    if (one?.wins) [best, joins] = [one.word, true];
  }
  const form = (/** @type {string} */ word) => formOf(cache, word);
  const mended = form(best);
  const onlyCase = !joins && typed !== small && lower(mended) === small; // typed capitals are intended
  const forms = words.map((meant) => ({ ...meant, word: form(meant.word) }));
  return { best: onlyCase ? typed : mended, known: found.known, words: forms, joins, score, isWord };
}

/**
 * The joined word that the bar offers though space would not write it: one that is likelier than the third completion.
 * @param {Decoder} decoder
 * @param {ReturnType<typeof meantBy>} meant
 * @param {{word: string, p: number}[]} completions
 * @param {string} typed
 */
export function joinToOffer(decoder, meant, completions, typed) {
  const one = meant?.words.find(({ joins }) => joins);
  if (!one || meant?.joins) return null;
  const third = completions.filter(({ word }) => word !== typed)[2];
  return !third || one.score > decoder.parameters.taps.language * Math.log(third.p) ? one.word : null;
}

/**
 * The words that a trail may have meant, best first.
 * @param {Decoder} decoder
 * @param {Cache | null} cache
 * @param {{context: string[], typed: string}} place
 * @param {[number, number][]} trail
 * @param {boolean | null} shift
 */
export function drawnBy(decoder, cache, { context, typed }, trail, shift) {
  const all = typed ? [...context, typed] : context; // the typed letters are a separate word
  return glide(decoder, chances(decoder.model, cache, all), all, trail, shift).map(({ word }) => formOf(cache, word));
}
