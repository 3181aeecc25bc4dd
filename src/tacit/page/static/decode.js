// Decodes noisy input with a language model into the likeliest intended word. A port of
// `src/tacit/keyboard/decode.py` and of `correct` and `glide` in `suggestions.py`.
//
//     score(w) = −cost(input | w) + λ log p(w | context)
//
// The literal is what was typed. If no word is spelt so, it may be a word that nobody knows, with the score
// −unknown + letter · log p(its letters), or with `listed` and `spelt` if the dictionary has it. Two words without a space
// between them cost `space`. If the literal is a word of the model or the dictionary, another one must be ahead by its
// cost again, at most by `stays`, unless it only adds an apostrophe. The word before and this one may be one word, if
// the space between them was hit by accident: that costs `gap` (`joined`).

import { startsSentence, written } from "./capitals.js";
import { idOf, UNK, word as wordOf } from "./compact.js";
import { EMPTY, lists } from "./dictionary.js";
import { pathsOf, search as searchPaths } from "./glide.js";
import { lexiconOf, placesOf, spell } from "./lexicon.js";
import { lower } from "./locale.js";
import { lettersLogP } from "./spelling.js";
import { search as searchTaps, tapCosts } from "./taps.js";

/**
 * A model with the lexicon of its words, and a dictionary of others; paths are computed when a glide first needs them.
 * @typedef {{model: import("./compact.js").Compact, lexicon: import("./lexicon.js").Lexicon,
 *   paths: import("./glide.js").Path[] | null, dictionary: import("./dictionary.js").Dictionary,
 *   parameters: {taps: import("./taps.js").Settings, glide: import("./glide.js").Settings}}} Decoder
 */
/**
 * A word that may have been meant; `joins`: it replaces the part before the space, too.
 * @typedef {{word: string, score: number, cost: number, logP: number, joins?: boolean}} Meant
 */
/**
 * A word that was typed, as decoded: the score of what is written, and whether the literal is a word of the model or of
 * the dictionary.
 * @typedef {{typed: string, taps: import("./taps.js").Point[], context: string[], score: number, isWord: boolean}} Part
 */

/**
 * @param {import("./compact.js").Compact} model
 * @param {import("./lexicon.js").Layout} layout
 * @param {Decoder["parameters"]} parameters
 * @param {import("./dictionary.js").Dictionary} [dictionary]
 * @returns {Decoder}
 */
export function makeDecoder(model, layout, parameters, dictionary = EMPTY) {
  return { model, lexicon: lexiconOf(model, layout), paths: null, parameters, dictionary };
}

/**
 * A candidate: words of the lexicon by their places, or a learnt word. @typedef {{places: number[], own?: string,
 * spelling: string, cost: number, logP: number, score: number}} Ranked
 */
/**
 * Learnt words that the model does not have: by spelling, each with its text and log p.
 * @typedef {{lexicon: import("./lexicon.js").Lexicon, texts: string[], logP: (text: string) => number}} OwnWords
 */

const rounded = (/** @type {{score: number}} */ { score }) => Math.round(score * 1e9);

/** Sorts by falling score. Rounding errors decide no tie, here or in Python. @type {(a: {score: number}, b: {score: number}) => number} */
const falling = (a, b) => rounded(b) - rounded(a);

/**
 * The candidates by score, without those of probability 0.
 * @param {import("./lexicon.js").Lexicon} lexicon
 * @param {{place: number, cost: number}[]} candidates
 * @param {(place: number) => number} chance
 * @param {number} language
 * @returns {Ranked[]}
 */
function rank(lexicon, candidates, chance, language) {
  return candidates
    .map(({ place, cost }) => {
      const logP = chance(place);
      return { places: [place], spelling: lexicon.spellings[place], cost, logP, score: -cost + language * logP };
    })
    .filter(({ logP }) => logP > -Infinity)
    .sort((a, b) => falling(a, b) || a.places[0] - b.places[0]);
}

/**
 * The best words as they are written, each form once.
 * @param {Ranked[]} ranked
 * @param {(candidate: Ranked) => string} form
 * @param {number} k
 * @returns {Meant[]}
 */
function forms(ranked, form, k) {
  /** @type {Map<string, Meant>} */
  const best = new Map();
  for (const candidate of ranked) {
    const { score, cost, logP } = candidate;
    const word = form(candidate);
    if (!best.has(word)) best.set(word, { word, score, cost, logP });
    if (best.size === k) break;
  }
  return [...best.values()];
}

/**
 * Pairs of known words that give the literal without the space between them.
 * @param {import("./lexicon.js").Lexicon} lexicon
 * @param {string} literal
 * @param {(id: number) => number} chance
 * @param {import("./taps.js").Settings} rules
 * @returns {Ranked[]}
 */
function pairsOf(lexicon, literal, chance, { space, language }) {
  /** @type {Ranked[]} */
  const pairs = [];
  for (let at = 1; at < literal.length; at++) {
    const [first, end] = placesOf(lexicon, literal.slice(0, at));
    if (first === end) continue;
    const [second, last] = placesOf(lexicon, literal.slice(at));
    for (let one = first; one < end; one++) {
      for (let other = second; other < last; other++) {
        const logP = chance(lexicon.ids[one]) + chance(lexicon.ids[other]);
        if (logP === -Infinity) continue;
        pairs.push({ places: [one, other], spelling: "", cost: space, logP, score: -space + language * logP });
      }
    }
  }
  return pairs.sort(falling);
}

/**
 * The words near taps, the model's and the learnt ones, by score.
 * @param {Decoder} decoder
 * @param {(id: number) => number} chance
 * @param {import("./taps.js").Point[]} taps
 * @param {OwnWords | null} own
 */
function nearby({ lexicon, parameters }, chance, taps, own) {
  const rules = parameters.taps;
  const ranked = rank(lexicon, searchTaps(lexicon, taps, rules), (place) => chance(lexicon.ids[place]), rules.language);
  if (!own?.texts.length) return ranked;
  const near = rank(own.lexicon, searchTaps(own.lexicon, taps, rules), (i) => own.logP(textAt(own, i)), rules.language);
  return [...ranked, ...near.map((one) => ({ ...one, own: textAt(own, one.places[0]), places: [] }))].sort(falling);
}

/**
 * How candidates are written.
 * @param {Decoder} decoder
 * @param {string[]} context
 * @param {string} shown the typed letters
 */
function formIn({ model, lexicon }, context, shown) {
  const start = startsSentence(context);
  const { cased } = model.facts;
  return (/** @type {Ranked} */ { places, own }) =>
    own !== undefined
      ? written(own, cased, start, shown)
      : places.map((place, i) => written(wordOf(model, lexicon.ids[place]), cased, !i && start, i ? "" : shown)).join(" ");
}

/**
 * The words that taps may have meant; `typed` is the word as shown, `best` the word to write, `score` that of `best`.
 * @param {Decoder} decoder
 * @param {(id: number) => number} chance log p after the context
 * @param {string[]} context
 * @param {import("./taps.js").Point[]} taps
 * @param {string} typed
 * @param {number} [k]
 * @param {OwnWords | null} [own]
 * @param {boolean} [meant] whether the literal is a learnt word: no apostrophe is missing in it
 * @returns {{best: string, known: boolean, words: Meant[], score: number, isWord: boolean}}
 */
export function correct(decoder, chance, context, taps, typed, k = 3, own = null, meant = false) {
  const { model, lexicon, parameters } = decoder;
  const rules = parameters.taps;
  const shown = typed.replaceAll("’", "'");
  const literal = spell(shown, lexicon.layout) || shown;
  const ranked = nearby(decoder, chance, taps, own);
  const isMeant = isOfLongPress(decoder, typed);
  const form = formIn(decoder, context, shown);
  const over = tapCosts(taps, lexicon.layout, rules).reduce((sum, row) => sum + Math.max(Math.min(...row) - rules.insertion, 0), 0);
  const kept = hiddenLogP(model, shown, chance);
  const same = ranked.find(({ spelling }) => spelling === literal);
  if (same || kept > -Infinity) {
    const score = Math.max(rules.language * kept - over, same?.score ?? -Infinity);
    let [best, lead] = [same, score];
    for (const candidate of ranked) {
      if (candidate.spelling === literal) continue;
      const close = !meant && candidate.spelling.replaceAll("'", "") === literal;
      const ahead = candidate.score - (close ? 0 : Math.min(candidate.cost, rules.stays));
      if (ahead > lead) [best, lead] = [candidate, ahead];
    }
    const mended = best && !isMeant ? form(best) : shown;
    return { best: mended, known: same !== undefined, words: forms(ranked, form, k), score: best?.score ?? score, isWord: true };
  }
  const isWord = lists(decoder.dictionary, literal, (spelling) => isKnown(lexicon, spelling));
  const [fixed, weight] = isWord ? [rules.listed, rules.spelt] : [rules.unknown, rules.letter];
  const every = [...ranked, ...pairsOf(lexicon, literal, chance, rules)].sort(falling);
  /** @type {Ranked | null} */
  let best = null;
  const stands = -(fixed - weight * lettersLogP(lexicon.counts, literal) + over);
  let lead = stands;
  for (const candidate of every) {
    const stays = isWord && candidate.spelling.replaceAll("'", "") !== literal;
    const ahead = candidate.score - (stays ? Math.min(candidate.cost, rules.stays) : 0);
    if (ahead > lead) [best, lead] = [candidate, ahead];
  }
  const mended = best && !isMeant ? form(best) : shown;
  return { best: mended, known: false, words: forms(every, form, k), score: best?.score ?? stands, isWord };
}

/** Whether a word has a letter of a long press, which is meant. @param {Decoder} decoder @param {string} typed */
export function isOfLongPress({ lexicon }, typed) {
  const shown = typed.replaceAll("’", "'");
  return (spell(shown, lexicon.layout) || shown) !== lower(shown);
}

/**
 * Two parts, with the space between them, as the likeliest known word near the taps of both; null if there is none. Its
 * score compares with those of the second part. If both parts are words, it must be ahead by its cost again, at most by
 * `stays`.
 * @param {Decoder} decoder
 * @param {(id: number) => number} chance log p before the first part
 * @param {Part} first
 * @param {Omit<Part, "context">} second
 * @param {OwnWords | null} [own] likewise before the first part
 * @returns {Meant & {wins: boolean} | null}
 */
export function joined(decoder, chance, first, second, own = null) {
  const { gap, stays } = decoder.parameters.taps;
  const [top] = nearby(decoder, chance, [...first.taps, ...second.taps], own);
  if (!top) return null;
  const cost = gap + top.cost;
  const score = top.score - gap - first.score;
  const ahead = score - (first.isWord && second.isWord ? Math.min(cost, stays) : 0);
  const word = formIn(decoder, first.context, first.typed + second.typed)(top);
  return { word, score, cost, logP: top.logP, joins: true, wins: ahead > second.score };
}

/** The best candidates with one more. @param {Meant[]} words @param {Meant} one @param {number} [k] */
export const among = (words, one, k = 3) => [...words, one].sort(falling).slice(0, k);

/** Whether a lexicon has a spelling. @param {import("./lexicon.js").Lexicon} lexicon @param {string} spelling */
function isKnown(lexicon, spelling) {
  const [first, end] = placesOf(lexicon, spelling);
  return first < end;
}

/** @param {OwnWords} own @param {number} place */
const textAt = (own, place) => own.texts[own.lexicon.ids[place]];

/**
 * log p of a word that the model has and never suggests; −∞ for any other.
 * @param {import("./compact.js").Compact} model
 * @param {string} text
 * @param {(id: number) => number} chance
 */
function hiddenLogP(model, text, chance) {
  const ids = [text, lower(text)].map((form) => idOf(model, form));
  return Math.max(-Infinity, ...ids.filter((id) => id !== UNK && model.hidden[id] === 1).map(chance));
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
  const ranked = rank(lexicon, candidates, (place) => chance(lexicon.ids[place]), parameters.glide.language);
  if (ranked.length && ranked[0].score < -parameters.glide.nothing) return []; // no word fits the trail well
  const start = shift ?? startsSentence(context);
  return forms(ranked, ({ places }) => written(wordOf(model, lexicon.ids[places[0]]), model.facts.cased, start), k);
}
