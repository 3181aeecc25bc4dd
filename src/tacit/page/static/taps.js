// Decodes taps: the cost of each word, given the taps. A port of `src/tacit/keyboard/taps.py`.
//
// D(i, j) is the least cost of the first i letters with the first j taps:
//
//     D(i, j) = min  D(i − 1, j) + omission(l_i)
//                    D(i − 1, j − 1) + tap(t_j, l_i)
//                    D(i, j − 1) + insertion
//                    D(i − 2, j − 2) + transposition + tap(t_{j−1}, l_i) + tap(t_j, l_{i−1})
//
// less the least cost of the taps, Σ low. A column D(i, ·) depends on the first i letters alone, so the walk through the
// trie computes it once for all words with that prefix, and skips all words of a prefix that costs too much.

export const MOST = 48; // taps of a word; longer words are not decoded

/**
 * @typedef {{sigma_x: number, sigma_y: number, omission: number, apostrophe: number, insertion: number,
 *   transposition: number, beam: number, clear: number, unknown: number, letter: number, unclear: number,
 *   language: number}} Settings
 */
/** A tap in key widths. @typedef {[number, number]} Point */

/**
 * The cost of each key, given a tap.
 * @param {Point} tap
 * @param {import("./lexicon.js").Layout} layout
 * @param {Settings} settings
 */
export function tapCosts([x, y], layout, settings) {
  return Float64Array.from(layout.letters, (_, i) => {
    const dx = (x - layout.x[i]) / settings.sigma_x;
    const dy = (y - layout.y[i]) / settings.sigma_y;
    return 0.5 * (dx * dx + dy * dy);
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
  const { beam, transposition } = settings;
  const { tap, extra, omit } = tables(layout, taps, settings);
  // bounds the letters of a prefix beyond its taps: each costs at least the cheapest omission
  const deepest = m + Math.floor(beam / Math.min(...omit)) + 2;
  const wide = m + 1;
  const columns = new Float64Array((deepest + 1) * wide); // row i is D(i, ·) of the prefix at hand
  for (let j = 1; j <= m; j++) columns[j] = columns[j - 1] + extra[j - 1];
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
    let value = columns[above] + omit[letter];
    let smallest = (columns[here] = value);
    for (let j = 1; j <= m; j++) {
      const inserted = value + extra[j - 1];
      const hit = columns[above + j - 1] + tap[offset + j - 1];
      value = columns[above + j] + omit[letter];
      if (hit < value) value = hit;
      if (inserted < value) value = inserted;
      if (i > 1 && j > 1) {
        const swapped = tap[offset + j - 2] + tap[before + j - 1];
        const crossed = columns[above - wide + j - 2] + transposition + swapped;
        if (crossed < value) value = crossed;
      }
      columns[here + j] = value;
      if (value < smallest) smallest = value;
    }
    least[i] = smallest;
    // a prefix may be needed for a transposition that begins one letter earlier
    if (Math.min(smallest, least[i - 1] + transposition) > beam) {
      node = trie.after[node];
      continue;
    }
    if (value <= beam) {
      for (let place = trie.words[node]; place < trie.words[node + 1]; place++) reached.push({ place, cost: value });
    }
    node++;
  }
  return reached;
}

/**
 * Costs, less the least cost of each tap: a tap for a letter [keys, taps], an extra tap [taps], a letter without a tap
 * [keys].
 * @param {import("./lexicon.js").Layout} layout
 * @param {Point[]} taps
 * @param {Settings} settings
 */
function tables(layout, taps, settings) {
  const m = taps.length;
  const tap = new Float64Array(layout.letters.length * m);
  const extra = new Float64Array(m);
  taps.forEach((at, j) => {
    const costs = tapCosts(at, layout, settings);
    const low = Math.min(settings.insertion, ...costs);
    costs.forEach((cost, key) => (tap[key * m + j] = cost - low));
    extra[j] = settings.insertion - low;
  });
  const omit = Float64Array.from(layout.letters, (c) => (c === "'" ? settings.apostrophe : settings.omission));
  return { tap, extra, omit };
}
