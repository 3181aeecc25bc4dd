// Decodes taps: the cost of each word, given the taps. A port of `src/tacit/keyboard/taps.py`.
//
// D(i, j) is the least cost of the first i letters with the first j taps:
//
//     D(i, j) = min  D(i − 1, j) + omission(l_i)                single for the second of two equal letters
//                    D(i − 1, j − 1) + tap(t_j, l_i)            of the hand, or another letter written
//                    D(i, j − 1) + insertion(t_j)               double on the key of the tap before
//                    D(i − 2, j − 2) + transposition + tap(t_{j−1}, l_i) + tap(t_j, l_{i−1})
//                    D(i − 3, j − 3) + move + the three taps, with the first letter's last or the last letter's first
//
// less the least cost of the taps, Σ low. A column D(i, ·) depends on the first i letters alone, so the walk through the
// trie computes it once for all words with that prefix, and skips all words of a prefix that costs too much.

export const MOST = 48; // taps of a word; longer words are not decoded
const VOWELS = "aeiouy";
const REACH = 1.6; // key widths between the middles of neighbours
const WILD = 4.5; // a tap says no more than this about the spread of the others

/**
 * @typedef {{sigma_x: number, sigma_y: number, steady: number, usual: number, omission: number, single: number,
 *   apostrophe: number, insertion: number, double: number, edge: number, transposition: number, move: number, slip: number,
 *   vowel: number, wrong: number,
 *   space: number, gap: number, beam: number, unknown: number, letter: number, listed: number, spelt: number, stays: number, language: number}} Settings
 */
/** A tap in key widths. @typedef {[number, number]} Point */

/**
 * The cost of each key, given each tap: a row for each tap. Taps that fall near the middles of their keys show a steady
 * hand, and other keys then cost more; a neighbour of the nearest key costs at most `slip` more than that.
 * @param {Point[]} taps
 * @param {import("./lexicon.js").Layout} layout
 * @param {Settings} settings
 */
export function tapCosts(taps, layout, settings) {
  const costs = taps.map(([x, y]) =>
    Float64Array.from(layout.letters, (_, i) => {
      const dx = (x - layout.x[i]) / settings.sigma_x;
      const dy = (y - layout.y[i]) / settings.sigma_y;
      return 0.5 * (dx * dx + dy * dy);
    }),
  );
  const shown = costs.reduce((sum, row) => sum + Math.min(WILD, ...row), 0);
  const spread = (settings.steady + 2 * shown) / (settings.steady + settings.usual * taps.length);
  return costs.map((row) => {
    const least = Math.min(...row);
    const hit = row.indexOf(least);
    const near = (/** @type {number} */ i) => Math.hypot(layout.x[i] - layout.x[hit], layout.y[i] - layout.y[hit]) <= REACH;
    return row.map((cost, i) => (near(i) ? Math.min(cost / spread, least / spread + settings.slip) : cost / spread));
  });
}

/**
 * All words that cost at most `beam` more than Σ low: places in the lexicon, ascending, and costs above that sum.
 * @param {import("./lexicon.js").Lexicon} lexicon
 * @param {Point[]} taps
 * @param {Settings} settings
 * @returns {{place: number, cost: number}[]}
 */
export function search({ layout, trie }, taps, settings) {
  const m = taps.length;
  const nodes = trie.letters.length;
  if (m < 1 || m > MOST || !nodes) return [];
  const { beam, transposition, move, single, edge } = settings;
  const { hand, mind, extra, omit } = tables(layout, taps, settings);
  // bounds the letters of a prefix beyond its taps: each costs at least the cheapest omission
  const deepest = m + Math.floor(beam / Math.min(single, ...omit)) + 2;
  const wide = m + 1;
  const columns = new Float64Array((deepest + 1) * wide); // row i is D(i, ·) of the prefix at hand
  for (let j = 1; j <= m; j++) columns[j] = columns[j - 1] + extra[j - 1] + (j > 1 ? 0 : edge);
  const least = new Float64Array(deepest + 1); // of each row
  const path = new Uint8Array(deepest + 1); // the letters of the prefix
  const reached = [];
  for (let node = 0; node < nodes; ) {
    const i = trie.depths[node];
    const letter = (path[i] = trie.letters[node]);
    const here = i * wide;
    const above = here - wide;
    const offset = letter * m; // where the costs of this letter begin
    const before = path[i - 1] * m;
    const tap = i > 1 ? mind : hand;
    const lacking = i === 1 ? omit[letter] + edge : letter === path[i - 1] ? Math.min(omit[letter], single) : omit[letter];
    let value = columns[above] + lacking;
    let smallest = (columns[here] = value);
    let whole = Infinity; // so far, with the last tap for the last letter
    for (let j = 1; j <= m; j++) {
      const inserted = value + extra[j - 1];
      const hit = columns[above + j - 1] + tap[offset + j - 1];
      value = hit;
      if (i > 1 && j > 1) {
        const swapped = hand[offset + j - 2] + hand[before + j - 1];
        const crossed = columns[above - wide + j - 2] + transposition + swapped;
        if (crossed < value) value = crossed;
      }
      if (i > 2 && j > 2) {
        const first = path[i - 2] * m;
        const late = hand[before + j - 3] + hand[offset + j - 2] + hand[first + j - 1];
        const early = hand[offset + j - 3] + hand[first + j - 2] + hand[before + j - 1];
        const moved = columns[above - 2 * wide + j - 3] + move + Math.min(late, early);
        if (moved < value) value = moved;
      }
      whole = value;
      value = Math.min(value, columns[above + j] + lacking, inserted);
      columns[here + j] = value;
      if (value < smallest) smallest = value;
    }
    least[i] = smallest;
    // a prefix may be needed for letters in the wrong order that begin one or two letters earlier
    const begun = Math.min(least[i - 1] + Math.min(transposition, move), i > 1 ? least[i - 2] + move : Infinity);
    if (Math.min(smallest, begun) > beam) {
      node = trie.after[node];
      continue;
    }
    const cost = Math.min(whole, value + edge);
    if (cost <= beam) {
      for (let place = trie.words[node]; place < trie.words[node + 1]; place++) reached.push({ place, cost });
    }
    node++;
  }
  return reached;
}

/**
 * Costs, less the least cost of each tap: a tap for a letter, by the hand alone, and with another letter in mind, both
 * [keys, taps]; a tap without a letter [taps]; a letter without a tap [keys].
 * @param {import("./lexicon.js").Layout} layout
 * @param {Point[]} taps
 * @param {Settings} settings
 */
function tables(layout, taps, settings) {
  const m = taps.length;
  const hand = new Float64Array(layout.letters.length * m);
  const mind = new Float64Array(layout.letters.length * m);
  const extra = new Float64Array(m);
  const isVowel = layout.letters.map((c) => VOWELS.includes(c));
  let previous = -1; // the key nearest to the tap before
  tapCosts(taps, layout, settings).forEach((costs, j) => {
    const least = Math.min(...costs);
    const nearest = costs.indexOf(least);
    const alone = nearest === previous ? Math.min(settings.insertion, settings.double) : settings.insertion;
    const low = Math.min(least, alone);
    const vowel = Math.min(...costs.filter((_, key) => isVowel[key])) + settings.vowel;
    costs.forEach((cost, key) => {
      hand[key * m + j] = cost - low;
      mind[key * m + j] = Math.min(cost, least + settings.wrong, isVowel[key] ? vowel : Infinity) - low;
    });
    extra[j] = alone - low;
    previous = nearest;
  });
  const omit = Float64Array.from(layout.letters, (c) => (c === "'" ? settings.apostrophe : settings.omission));
  return { hand, mind, extra, omit };
}
