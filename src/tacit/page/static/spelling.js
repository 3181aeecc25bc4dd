// The prior of a word that nobody knows: a trigram model of the letters of the lexicon's spellings. A port of
// `src/tacit/keyboard/spelling.py`.
//
//     p(c)       = (n(c) + 1) / (n + K)
//     p(c | b)   = (n(bc) + κ p(c)) / (n(b) + κ)
//     p(c | ab)  = (n(abc) + κ p(c | b)) / (n(ab) + κ)
//
// Code 0 is the boundary of a word, i + 1 the letter i.

const SMOOTHING = 3; // κ

/**
 * Counts of letters, with K − 1 letters: triples [K, K, K], pairs that begin them [K, K], a letter and the next [K, K],
 * pairs with a first letter [K], letters [K], and how many there are.
 * @typedef {{letters: string[], triples: Uint32Array, pairs: Uint32Array, after: Uint32Array, firsts: Uint32Array,
 *   singles: Uint32Array, total: number}} Letters
 */

/**
 * The letters of sorted spellings, each counted once.
 * @param {string[]} spellings
 * @param {string[]} letters
 * @returns {Letters}
 */
export function countLetters(spellings, letters) {
  const k = letters.length + 1;
  const number = new Map(letters.map((letter, i) => [letter, i + 1]));
  const [triples, pairs, after] = [new Uint32Array(k ** 3), new Uint32Array(k ** 2), new Uint32Array(k ** 2)];
  const [firsts, singles] = [new Uint32Array(k), new Uint32Array(k)];
  let total = 0;
  spellings.forEach((spelling, i) => {
    if (spelling === spellings[i - 1]) return;
    let a = 0;
    let b = 0;
    for (let at = 0; at <= spelling.length; at++) {
      const c = at < spelling.length ? (number.get(spelling[at]) ?? 0) : 0;
      triples[(a * k + b) * k + c]++;
      pairs[a * k + b]++;
      after[b * k + c]++;
      firsts[b]++;
      singles[c]++;
      total++;
      [a, b] = [b, c];
    }
  });
  return { letters, triples, pairs, after, firsts, singles, total };
}

/**
 * The natural log p of a spelling; characters without a key are left out.
 * @param {Letters} counts
 * @param {string} spelling
 */
export function lettersLogP({ letters, triples, pairs, after, firsts, singles, total }, spelling) {
  const k = letters.length + 1;
  const codes = [...spelling].map((c) => letters.indexOf(c) + 1).filter((code) => code > 0);
  let a = 0;
  let b = 0;
  let sum = 0;
  for (const c of [...codes, 0]) {
    const one = (singles[c] + 1) / (total + k);
    const two = (after[b * k + c] + SMOOTHING * one) / (firsts[b] + SMOOTHING);
    sum += Math.log((triples[(a * k + b) * k + c] + SMOOTHING * two) / (pairs[a * k + b] + SMOOTHING));
    [a, b] = [b, c];
  }
  return sum;
}
