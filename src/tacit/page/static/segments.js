// Words of scripts without spaces, with BudouX's table (google/budoux on GitHub, Apache 2.0), which the server
// sends. The rule is its own, in our words: `src/tacit/text/locale_segments.py` describes it, and a test compares the two.
//
// A place between two characters is judged by the one, two or three characters around it. Each has a score; with the
// base score, minus half the sum of the table, the sum is above 0 where a word ends.

/** From where to where the characters around a place are, by the table's names: UW of one, BW of two, TW of three. */
const AROUND = /** @type {[string, number, number][]} */ ([
  ["UW1", -3, -2], ["UW2", -2, -1], ["UW3", -1, 0], ["UW4", 0, 1], ["UW5", 1, 2], ["UW6", 2, 3],
  ["BW1", -2, 0], ["BW2", -1, 1], ["BW3", 0, 2],
  ["TW1", -3, 0], ["TW2", -2, 1], ["TW3", -1, 2], ["TW4", 0, 3],
]);

/**
 * The function that splits a token into words.
 * @param {{run: string, table: Record<string, Record<string, number>>}} segments
 * @returns {(text: string) => string[]}
 */
export function makeSegmenter({ run, table }) {
  const pieces = new RegExp(`[${run}]+|[^${run}]+`, "gu");
  const inside = new RegExp(`^[${run}]`, "u");
  const scores = AROUND.map(([name, from, to]) => /** @type {const} */ ([new Map(Object.entries(table[name] ?? {})), from, to]));
  let base = 0;
  for (const name in table) for (const part in table[name]) base -= table[name][part] / 2;

  /** @param {string} piece */
  function cut(piece) {
    const letters = [...piece];
    const words = letters.slice(0, 1);
    for (let i = 1; i < letters.length; i++) {
      let score = base;
      for (const [map, from, to] of scores) {
        if (i + from < 0 || i + to > letters.length) continue;
        score += map.get(letters.slice(i + from, i + to).join("")) ?? 0;
      }
      if (score > 0 && !/\p{M}/u.test(letters[i])) words.push(letters[i]);
      else words[words.length - 1] += letters[i];
    }
    return words;
  }

  return (text) => (text.match(pieces) ?? []).flatMap((piece) => (inside.test(piece) ? cut(piece) : [piece]));
}
