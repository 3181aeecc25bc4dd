// Checks that no probability of a compact file is above one, as `src/tacit/ngram/compact/checks.py` does in Python.
//
// A backoff weight above one is legal: what it gives is judged. With q′ the history q less its first word and L[q] the
// words that q has n-grams for, the largest probability that q takes from q′ is backoff(q) · r(q),
//
//     r(q) = max( max_{x∈L[q′]∖L[q]} p(x | q′),  backoff(q′) · r(q′) )
//
// Upper bounds over the last word of a history come first; in most files they suffice.

const TOLERANCE = 1e-4; // of a log: the same number as in `src/tacit/ngram/above_one.py`

/**
 * The histories of so many words: where their n-grams are, their weights, their last words (places among the common
 * words), and the histories less their first words (numbers among those, −1 for the empty one).
 * @typedef {{first: number[], last: number[], weight: number[], word: number[], shorter: number[]}} Histories
 */
/** @typedef {import("./compact.js").Compact} Compact */

/** Whether a bit is set. @param {Uint8Array} bits @param {number} i */
const bit = (bits, i) => ((bits[i >> 3] >> (i & 7)) & 1) === 1;

/** Throws an Error if a probability is above one, or no number. @param {Compact} model */
export function checkProbabilities(model) {
  const { table, backoffTable, levels } = model;
  [table, ...levels.map((level) => level.table)].forEach((values, i) => {
    if (!values.every((x) => x <= TOLERANCE)) throw new Error(`'tp${i + 1}' has NaN or a probability above one`);
  });
  [backoffTable, ...levels.slice(0, -1).map((level) => level.backoffTable)].forEach((values, i) => {
    if (!values.every((x) => x < Infinity)) throw new Error(`'tb${i + 1}' has NaN or infinite numbers`);
  });
  const all = histories(model);
  if (suspicious(model, all)) checkExactly(model, all);
}

/** The histories of one word, of two words, …; without `shorter`. @param {Compact} model @returns {Histories[]} */
function histories({ common, starts, backoff, backoffTable, levels }) {
  /** @type {Histories} */
  const single = { first: [], last: [], weight: [], word: [], shorter: [] };
  for (let c = 0; c < common.length && levels.length; c++) {
    single.first.push(starts[c]);
    single.last.push(starts[c + 1]);
    single.weight.push(backoffTable[backoff[c]]);
    single.word.push(c);
    single.shorter.push(-1);
  }
  const all = levels.length ? [single] : [];
  levels.slice(0, -1).forEach((level, i) => {
    /** @type {Histories} */
    const longer = { first: [], last: [], weight: [], word: [], shorter: [] };
    level.labels.forEach((label, row) => {
      if (bit(level.deep, row)) longer.word.push(label);
    });
    const after = levels[i + 1].labels.length;
    for (let row = 0; row < after; row++) if (bit(level.head, row)) longer.first.push(row);
    longer.last = [...longer.first.slice(1), after];
    longer.weight = longer.first.map((_, j) => level.backoffTable[level.backoff[j]]);
    all.push(longer);
  });
  return all;
}

/** The largest log p of a word that is not `<s>`. @param {Compact} model */
const unigramMost = ({ p, table }) => p.reduce((most, code, id) => (id ? Math.max(most, table[code]) : most), -Infinity);

/**
 * Whether a weight could give a probability above one, by upper bounds over the last word of a history.
 * @param {Compact} model
 * @param {Histories[]} all
 */
function suspicious(model, all) {
  let bound = new Float64Array(model.common.length).fill(unigramMost(model));
  for (let i = 0; i < all.length; i++) {
    const { first, last, weight, word } = all[i];
    const { p, table } = model.levels[i];
    const higher = bound.slice();
    for (let j = 0; j < first.length; j++) {
      if (first[j] === last[j]) continue; // a word with no bigram is no history
      const taken = weight[j] + bound[word[j]];
      if (!(taken <= TOLERANCE)) return true;
      let most = taken;
      for (let row = first[j]; row < last[j]; row++) most = Math.max(most, table[p[row]]);
      higher[word[j]] = Math.max(higher[word[j]], most);
    }
    bound = higher;
  }
  return false;
}

/**
 * Computes what every weight above one gives.
 * @param {Compact} model
 * @param {Histories[]} all
 */
function checkExactly(model, all) {
  close(model, all);
  const ids = Array.from(model.p.keys()).slice(1);
  ids.sort((a, b) => model.table[model.p[b]] - model.table[model.p[a]]); // likeliest first
  const places = new Map(Array.from(model.common, (id, place) => [id, place]));
  /** @param {number} i @param {number} j @returns {number} log r of history j of i + 1 words */
  const left = (i, j) => {
    const { first, last, shorter } = all[i];
    const { labels } = model.levels[i];
    if (i === 0) {
      const listed = new Set(labels.subarray(first[j], last[j]));
      const id = ids.find((x) => !listed.has(places.get(x) ?? -1));
      return id === undefined ? -Infinity : model.table[model.p[id]];
    }
    const [back, level, at] = [all[i - 1], model.levels[i - 1], shorter[j]];
    let most = back.weight[at] + left(i - 1, at);
    let mine = first[j];
    for (let row = back.first[at]; row < back.last[at]; row++) {
      while (mine < last[j] && labels[mine] < level.labels[row]) mine++;
      if (mine < last[j] && labels[mine] === level.labels[row]) continue;
      most = Math.max(most, level.table[level.p[row]]);
    }
    return most;
  };
  all.forEach(({ first, last, weight }, i) => {
    for (let j = 0; j < first.length; j++) {
      if (first[j] === last[j] || weight[j] <= 0) continue;
      const most = weight[j] + left(i, j);
      if (!(most <= TOLERANCE)) throw new Error(`a word has log p = ${most.toPrecision(6)}, above 0`);
    }
  });
}

/**
 * Finds every history less its first word; throws an Error unless every n-gram less its first word is there.
 * @param {Compact} model
 * @param {Histories[]} all
 */
function close({ levels }, all) {
  let [lowerNumbers, suffix] = [new Int32Array(0), new Int32Array(0)];
  for (let i = 1; i < levels.length; i++) {
    const [below, level, parents, back] = [levels[i - 1], levels[i], all[i], all[i - 1]];
    const numbers = new Int32Array(below.labels.length).fill(-1); // the number of each n-gram that is a history
    for (let row = 0, count = 0; row < numbers.length; row++) if (bit(below.deep, row)) numbers[row] = count++;
    numbers.forEach((j, row) => {
      if (j >= 0) parents.shorter[j] = i === 1 ? below.labels[row] : lowerNumbers[suffix[row]];
    });
    const endings = new Int32Array(level.labels.length); // the n-gram of the order below that ends each n-gram
    parents.shorter.forEach((at, j) => {
      const [begin, end] = at < 0 ? [0, 0] : [back.first[at], back.last[at]];
      let mine = begin;
      for (let row = parents.first[j]; row < parents.last[j]; row++) {
        while (mine < end && below.labels[mine] < level.labels[row]) mine++;
        if (mine >= end || below.labels[mine] !== level.labels[row]) {
          throw new Error(`an n-gram of order ${i + 2} lacks the one without its first word`);
        }
        endings[row] = mine;
      }
    });
    [lowerNumbers, suffix] = [numbers, endings];
  }
}
