// A client's batches of a round, as src/tacit/federated/batching.py (`order_of_work`) and text/packed.py make them.
//
// Python lays a batch out as rows of equal length, in which several sentences follow one another, with empty cells at
// their ends. Training here skips the empty cells: a batch is a list of cells in the order of time, and within a time
// in the order of the rows, the longest first. So the cells of one time are neighbours, the first of them continue the
// cells of the time before, and a place in Python's rows is kept only for the random numbers of dropout.

import { bits, STREAMS, uniform } from "./random.js";

export const BOS = 0; // `<s>`, at which a model's state begins anew

/**
 * What a client does with its text: of the table [client] of a configuration.
 * @typedef {{epochs: number, batch: number, max_examples?: number, stragglers?: number}} Work
 */
/**
 * A batch of `cells` cells.
 * @typedef {object} Batch
 * @property {number} cells
 * @property {Int32Array} counts cells of each time
 * @property {Int32Array} tokens what is read
 * @property {Int32Array} targets the next word
 * @property {Float32Array} keep 0 where a sentence begins, else 1
 * @property {Int32Array} place row · time + column in Python's rows
 */

/** 1, 2, 3, 4, 6, 8, 12, 16, 24, …: the sizes to which Python rounds rows up. @param {number} n */
export function bucket(n) {
  let power = 1;
  while (power < n) power *= 2;
  return power >= 4 && n <= (power * 3) / 4 ? (power * 3) / 4 : power;
}

/** The order that sorts values, ties as they are. @param {number[]} values */
function order(values) {
  return values.map((_, i) => i).sort((a, b) => values[a] - values[b] || a - b);
}

/**
 * The numbers of the sentences of every step, and how many steps are made.
 * @param {number} size sentences held
 * @param {Work} client
 * @param {number} seed @param {number} round @param {number} number the client's
 * @returns {{schedule: number[][], steps: number}}
 */
export function orderOfWork(size, client, seed, round, number) {
  const draws = (/** @type {number} */ epoch) => {
    const state = bits([seed, STREAMS["local shuffle"], round, epoch, number]);
    return Array.from({ length: size }, (_, i) => uniform([i], state));
  };
  const used = client.max_examples ? Math.min(size, client.max_examples) : size;
  const usable = new Uint8Array(size).fill(client.max_examples ? 0 : 1);
  if (client.max_examples) for (const i of order(draws(client.epochs)).slice(0, used)) usable[i] = 1;
  const batch = client.batch || Math.max(1, used);
  const schedule = [];
  for (let epoch = 0; epoch < client.epochs; epoch++) {
    const visit = order(draws(epoch).map((draw, i) => (usable[i] ? draw : 2)));
    for (let i = 0; i < used; i += batch) schedule.push(visit.slice(i, Math.min(used, i + batch)));
  }
  let steps = schedule.length;
  if (client.stragglers) {
    const state = bits([seed, STREAMS.stragglers, round]);
    if (uniform([0, number], state) < client.stragglers) steps = Math.ceil(uniform([1, number], state) * steps);
  }
  return { schedule, steps };
}

/**
 * Rows and columns of sentences, longest first, each in the first row with room.
 * @param {number[]} lengths
 * @param {number} time
 */
function place(lengths, time) {
  /** @type {number[]} */
  const fill = [];
  const at = lengths.map(() => [0, 0]);
  for (const i of order(lengths.map((n) => -n))) {
    let row = fill.findIndex((filled) => filled + lengths[i] <= time);
    if (row < 0) row = fill.push(0) - 1;
    at[i] = [row, fill[row]];
    fill[row] += lengths[i];
  }
  return { at, fill };
}

/**
 * The batches of a schedule. Each sentence is `<s> … </s>`.
 * @param {ArrayLike<number>[]} sentences
 * @param {number[][]} schedule
 * @returns {Batch[]}
 */
export function batches(sentences, schedule) {
  const time = bucket(schedule.flat().reduce((most, i) => Math.max(most, sentences[i].length - 1), 1));
  return schedule.map((numbers) => {
    const lengths = numbers.map((i) => sentences[i].length - 1);
    const { at, fill } = place(lengths, time);
    const rank = new Int32Array(fill.length); // of a row among the rows by length
    order(fill.map((n) => -n)).forEach((row, i) => (rank[row] = i));
    const longest = Math.max(...fill);
    const counts = Int32Array.from({ length: longest }, (_, t) => fill.filter((n) => n > t).length);
    const first = new Int32Array(longest); // cell of each time
    for (let t = 1; t < longest; t++) first[t] = first[t - 1] + counts[t - 1];
    const cells = lengths.reduce((a, b) => a + b, 0);
    const made = {
      cells,
      counts,
      tokens: new Int32Array(cells),
      targets: new Int32Array(cells),
      keep: new Float32Array(cells).fill(1),
      place: new Int32Array(cells),
    };
    numbers.forEach((number, i) => {
      const [row, column] = at[i];
      const sentence = sentences[number];
      for (let j = 0; j < lengths[i]; j++) {
        const cell = first[column + j] + rank[row];
        made.tokens[cell] = sentence[j];
        made.targets[cell] = sentence[j + 1];
        if (sentence[j] === BOS) made.keep[cell] = 0;
        made.place[cell] = row * time + column + j;
      }
    });
    return made;
  });
}
