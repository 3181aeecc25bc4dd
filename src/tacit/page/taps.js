// What was meant by taps: words and what it costs to have typed them so. A port of `src/tacit/keyboard/taps.py`.
//
// D(i, j) is the least cost of the first i letters with the first j taps:
//
//     D(i, j) = min  D(i − 1, j) + omission(l_i)
//                    D(i − 1, j − 1) + tap(t_j, l_i)
//                    D(i, j − 1) + insertion
//                    D(i − 2, j − 2) + transposition + tap(t_{j−1}, l_i) + tap(t_j, l_{i−1})
//
// less what the taps cost at least, Σ low. A column D(i, ·) depends on the first i letters alone: the words come in the
// order of their keys, so columns of shared beginnings are kept, and a beginning that is too dear is passed over whole.

export const MOST = 48; // taps of a word; more are not looked up

/**
 * @typedef {{sigma_x: number, sigma_y: number, omission: number, apostrophe: number, insertion: number,
 *   transposition: number, beam: number, clear: number, unknown: number, letter: number, unclear: number,
 *   language: number}} Settings
 */
/** A tap in key widths. @typedef {[number, number]} Point */

/**
 * What it costs to have meant each key by a tap.
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
 * All words that cost at most `beam` more than Σ low: places in the lexicon and costs above that sum.
 * @param {import("./lexicon.js").Lexicon} lexicon
 * @param {Point[]} taps
 * @param {Settings} settings
 * @returns {{place: number, cost: number}[]}
 */
export function search(lexicon, taps, settings) {
  const m = taps.length;
  if (m < 1 || m > MOST || !lexicon.ids.length) return [];
  const { layout, keys, lengths } = lexicon;
  const costs = taps.map((tap) => tapCosts(tap, layout, settings));
  const low = costs.map((row) => Math.min(settings.insertion, ...row));
  costs.forEach((row, j) => row.forEach((_, key) => (row[key] -= low[j])));
  const extra = low.map((least) => settings.insertion - least);
  const omit = layout.letters.map((c) => (c === "'" ? settings.apostrophe : settings.omission));
  const columns = [new Float64Array(m + 1)]; // columns[i] is D(i, ·) of the word at hand
  for (let j = 1; j <= m; j++) columns[0][j] = columns[0][j - 1] + extra[j - 1];
  const least = [0];
  const found = [];
  let known = 0; // letters of the word at hand whose columns are filled
  /** @type {Uint8Array} */
  let last = new Uint8Array(0);
  // words that need too many omissions or extra taps are not worth a look
  const longest = m + settings.beam / settings.omission;
  const shortest = m - settings.beam / Math.min(...extra);
  for (let place = 0; place < keys.length; place++) {
    if (lengths[place] > longest || keys[place].length < shortest) continue;
    const word = keys[place];
    let shared = 0;
    while (shared < known && shared < word.length && last[shared] === word[shared]) shared++;
    last = word;
    known = shared;
    let dead = Infinity; // so many letters are too dear already
    for (; known < word.length && dead === Infinity; known++) {
      const i = known + 1;
      const letter = word[known];
      const column = (columns[i] ??= new Float64Array(m + 1));
      const above = columns[i - 1];
      column[0] = above[0] + omit[letter];
      let smallest = column[0];
      for (let j = 1; j <= m; j++) {
        let value = Math.min(above[j] + omit[letter], above[j - 1] + costs[j - 1][letter], column[j - 1] + extra[j - 1]);
        if (i > 1 && j > 1) {
          const swapped = costs[j - 2][letter] + costs[j - 1][word[known - 1]];
          value = Math.min(value, columns[i - 2][j - 2] + settings.transposition + swapped);
        }
        column[j] = value;
        if (value < smallest) smallest = value;
      }
      least[i] = smallest;
      // a beginning may be needed for a transposition that begins one letter earlier
      if (Math.min(smallest, least[i - 1] + settings.transposition) > settings.beam) dead = i;
    }
    if (dead < Infinity) place = endOf(keys, place, dead) - 1;
    else if (columns[word.length][m] <= settings.beam) found.push({ place, cost: columns[word.length][m] });
  }
  return found;
}

/**
 * The first word after those that begin with the same letters as the one at `place`: by longer and longer steps, then
 * halves.
 * @param {Uint8Array[]} keys
 * @param {number} place
 * @param {number} letters how many
 */
function endOf(keys, place, letters) {
  const word = keys[place];
  const alike = (/** @type {number} */ at) => {
    const other = keys[at];
    if (other.length < letters) return false;
    for (let i = letters - 1; i >= 0; i--) if (other[i] !== word[i]) return false;
    return true;
  };
  let step = 1;
  while (place + step < keys.length && alike(place + step)) step *= 2;
  let low = place + (step >> 1); // alike
  let high = Math.min(place + step, keys.length); // not alike
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (alike(middle)) low = middle;
    else high = middle;
  }
  return high;
}
