// Decodes noisy input with a language model into the likeliest intended word. A port of
// `src/tacit/keyboard/decode.py` and of `correct` and `glide` in `suggestions.py`.
//
//     score(w) = −cost(input | w) + λ log p(w | context)
//
// 1. A known word whose every tap is clear stays, in any context.
// 2. An unknown word competes with the score −(unknown + letter · clear taps + unclear · other taps), less the cost of
//    its taps above the least.
// 3. A known word with unclear taps competes as the others do.

import { startsSentence, written } from "./capitals.js";
import { idOf, UNK, word as wordOf } from "./compact.js";
import { pathsOf, search as searchPaths } from "./glide.js";
import { lexiconOf, spell } from "./lexicon.js";
import { lower } from "./locale.js";
import { search as searchTaps, tapCosts } from "./taps.js";

/**
 * A model with the lexicon of its words; paths are computed when a glide first needs them.
 * @typedef {{model: import("./compact.js").Compact, lexicon: import("./lexicon.js").Lexicon,
 *   paths: import("./glide.js").Path[] | null,
 *   parameters: {taps: import("./taps.js").Settings, glide: import("./glide.js").Settings}}} Decoder
 */
/** A word that may have been meant. @typedef {{word: string, score: number, cost: number, logP: number}} Meant */

/**
 * @param {import("./compact.js").Compact} model
 * @param {import("./lexicon.js").Layout} layout
 * @param {Decoder["parameters"]} parameters
 * @returns {Decoder}
 */
export function makeDecoder(model, layout, parameters) {
  return { model, lexicon: lexiconOf(model, layout), paths: null, parameters };
}

/**
 * The candidates by score, without those of probability 0.
 * @param {Decoder} decoder
 * @param {{place: number, cost: number}[]} candidates
 * @param {(id: number) => number} chance
 * @param {number} language
 */
function rank({ lexicon }, candidates, chance, language) {
  return candidates
    .map(({ place, cost }) => {
      const logP = chance(lexicon.ids[place]);
      return { place, cost, logP, score: -cost + language * logP };
    })
    .filter(({ logP }) => logP > -Infinity)
    .sort((a, b) => b.score - a.score || a.place - b.place);
}

/**
 * The best words as they are written, each form once.
 * @param {ReturnType<typeof rank>} ranked
 * @param {(place: number) => string} form
 * @param {number} k
 * @returns {Meant[]}
 */
function forms(ranked, form, k) {
  /** @type {Map<string, Meant>} */
  const best = new Map();
  for (const { place, score, cost, logP } of ranked) {
    const word = form(place);
    if (!best.has(word)) best.set(word, { word, score, cost, logP });
    if (best.size === k) break;
  }
  return [...best.values()];
}

/**
 * The words that taps may have meant; `typed` is the word as shown, `best` the word to write.
 * @param {Decoder} decoder
 * @param {(id: number) => number} chance log p after the context
 * @param {string[]} context
 * @param {import("./taps.js").Point[]} taps
 * @param {string} typed
 * @param {number} [k]
 * @returns {{best: string, known: boolean, clear: boolean, words: Meant[]}}
 */
export function correct(decoder, chance, context, taps, typed, k = 3) {
  const { model, lexicon, parameters } = decoder;
  const rules = parameters.taps;
  const shown = typed.replaceAll("’", "'");
  const literal = spell(shown, lexicon.layout) || shown;
  const ranked = rank(decoder, searchTaps(lexicon, taps, rules), chance, rules.language);
  const least = taps.map((tap) => Math.min(...tapCosts(tap, lexicon.layout, rules)));
  const blurred = least.filter((cost) => cost > rules.clear).length;
  const over = least.reduce((sum, cost) => sum + Math.max(cost - rules.insertion, 0), 0);
  const score = -(rules.unknown + rules.letter * (taps.length - blurred) + rules.unclear * blurred + over);
  const start = startsSentence(context);
  const form = (/** @type {number} */ place) => written(wordOf(model, lexicon.ids[place]), model.facts.cased, start, shown);
  const literalRank = ranked.find(({ place }) => lexicon.spellings[place] === literal);
  const words = forms(ranked, form, k);
  let best = shown;
  if (literal !== lower(shown)) best = shown; // a letter of a long press is meant
  else if (!blurred && isHidden(model, shown)) best = shown; // a blocked word is never suggested, but may be typed
  else if (literalRank && !blurred) best = form(literalRank.place);
  else if (words.length && (literalRank || words[0].score > score)) best = words[0].word;
  return { best, known: literalRank !== undefined, clear: !blurred, words };
}

/** Whether a word is in the model and hidden. @param {import("./compact.js").Compact} model @param {string} text */
function isHidden(model, text) {
  const ids = [text, lower(text)].map((form) => idOf(model, form));
  return ids.some((id) => id !== UNK && model.hidden[id] === 1);
}

/**
 * The words most likely meant by a trail, best first, perhaps none.
 * @param {Decoder} decoder
 * @param {(id: number) => number} chance
 * @param {string[]} context
 * @param {number[][]} trail
 * @param {boolean | null} [shift] whether it is on; null leaves it to the start of the sentence
 * @param {number} [k]
 * @returns {Meant[]}
 */
export function glide(decoder, chance, context, trail, shift = null, k = 3) {
  const { model, lexicon, parameters } = decoder;
  decoder.paths ??= pathsOf(lexicon);
  const candidates = searchPaths(lexicon, decoder.paths, trail, parameters.glide);
  const ranked = rank(decoder, candidates, chance, parameters.glide.language);
  const start = shift ?? startsSentence(context);
  return forms(ranked, (place) => written(wordOf(model, lexicon.ids[place]), model.facts.cased, start), k);
}
