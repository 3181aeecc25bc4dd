// Decodes the word in progress and glides: the decoders, with the personal cache and its exceptions.

import { isOwn } from "./cache.js";
import { correct, glide, makeDecoder } from "./decode.js";
import { spell } from "./lexicon.js";
import { lower } from "./locale.js";
import { chances } from "./predict.js";

/** @typedef {import("./decode.js").Decoder} Decoder */
/** @typedef {import("./cache.js").Cache} Cache */

/**
 * Decoders by model, each made once, because that takes a while.
 * @param {import("./lexicon.js").Layout} layout
 * @param {Decoder["parameters"]} parameters
 * @returns {(choice: import("./load.js").Choice) => Decoder}
 */
export function makeDecoders(layout, parameters) {
  /** @type {Map<string, Decoder>} */
  const decoders = new Map();
  return ({ id, model }) => {
    const decoder = decoders.get(id) ?? makeDecoder(model, layout, parameters);
    decoders.set(id, decoder);
    return decoder;
  };
}

/**
 * The words that the taps probably meant; null if nothing may be corrected: an intended word, or one with characters
 * that the keys do not have.
 * @param {Decoder} decoder
 * @param {Cache | null} cache
 * @param {{context: string[], typed: string}} place
 * @param {[number, number][]} taps where they fell, one for each character
 * @param {Set<string>} kept words that were corrected wrongly, in lower case
 */
export function meantBy(decoder, cache, { context, typed }, taps, kept) {
  const { layout } = decoder.lexicon;
  const small = lower(typed);
  const spelling = spell(typed, layout);
  if (kept.has(small) || isOwn(cache, small) || !spelling || [...spelling].length !== [...typed].length) return null;
  const chance = chances(decoder.model, cache, context);
  const { best, words } = correct(decoder, chance, context, taps, typed);
  const onlyCase = typed !== small && lower(best) === small; // typed capitals are intended
  return { best: onlyCase ? typed : best, words };
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
  return glide(decoder, chances(decoder.model, cache, all), all, trail, shift).map(({ word }) => word);
}
