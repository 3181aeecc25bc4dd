// The three suggestions of the bar.
//
// Between words: the three likeliest next words. Within a word that will be corrected on space: the typed letters in
// quotation marks, the correction, and the likeliest completion. Within any other word: completions, and if they do not
// fill the bar, words that the taps may have meant; of three letters or more that are no word, at least one of these. A
// word that joins the letters before and after the last space comes third, unless space would write it. Right after a
// glide: its alternatives.

import { lower } from "./locale.js";

/**
 * One suggestion. `chosen`: space would write it, or the glide has written it. `joins`: it replaces the part before the
 * last space, too.
 * @typedef {{word: string, label: string, chosen: boolean, joins?: boolean}} Offer
 */

/**
 * @param {string} typed the word as it stands, "" between words
 * @param {string[]} completions by falling probability
 * @param {{best: string, known: boolean, words: string[], joins?: boolean} | null} meant the words that the taps probably meant
 * @param {{part: string, word: string | null}} [join] what stands before the last space, and the joined word to offer
 * @returns {Offer[]}
 */
export function offers(typed, completions, meant, join = { part: "", word: null }) {
  const plain = (/** @type {string} */ word) => ({ word, label: word, chosen: false });
  const last = join.word === null ? [] : [{ ...plain(join.word), joins: true }];
  if (!typed) return completions.slice(0, 3).map(plain);
  const others = [...new Set([...completions, ...(meant?.words ?? [])])].filter((word) => word !== typed && word !== join.word);
  if (meant && (meant.joins || meant.best !== typed)) {
    const rest = others.filter((word) => (meant.joins ? lower(word) !== lower(meant.best) : word !== meant.best));
    return [
      { word: typed, label: `“${meant.joins ? `${join.part} ` : ""}${typed}”`, chosen: false },
      { word: meant.best, label: meant.best, chosen: true, ...(meant.joins ? { joins: true } : {}) },
      ...[...last, ...rest.map(plain)].slice(0, 1),
    ];
  }
  const slip = meant && !meant.known && typed.length > 2 ? meant.words[0] : undefined;
  if (slip !== undefined && !others.slice(0, 3).includes(slip)) others.splice(2, 0, slip);
  return [...others.slice(0, 3 - last.length).map(plain), ...last];
}

/**
 * A word that stands for an emoji offers it last: the word stays before it.
 * @param {Offer[]} list
 * @param {string} typed
 * @param {string} emoji "" if the word stands for none
 * @param {boolean} spaces whether spaces stand between words
 * @returns {Offer[]}
 */
export function withEmoji(list, typed, emoji, spaces) {
  if (!emoji) return list;
  return [...list.slice(0, 2), { word: `${typed}${spaces ? " " : ""}${emoji}`, label: emoji, chosen: false }];
}

/**
 * After a glide: its candidates, first the one that was written.
 * @param {string[]} words
 * @returns {Offer[]}
 */
export function choices(words) {
  return words.slice(0, 3).map((word, i) => ({ word, label: word, chosen: i === 0 }));
}

/**
 * Draw them. The buttons are reused, so that a finger or a screen reader on one keeps its place.
 * @param {HTMLButtonElement[]} buttons
 * @param {Offer[]} list
 */
export function showOffers(buttons, list) {
  buttons.forEach((button, i) => {
    const offer = list[i];
    const label = offer?.label ?? "";
    if (button.textContent !== label) button.textContent = label;
    button.disabled = !offer;
    if (offer) button.removeAttribute("aria-label");
    else button.setAttribute("aria-label", "No suggestion"); // a button always has a name
    button.classList.toggle("chosen", offer?.chosen ?? false);
  });
}
