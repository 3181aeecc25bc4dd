// Random numbers and batches against Python's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { batches, bucket, orderOfWork } from "../../../../src/tacit/page/static/train/batches.js";
import { bits, foldIn, STREAMS, threefry, uniform } from "../../../../src/tacit/page/static/train/random.js";

const python = JSON.parse(readFileSync(`${process.env.TACIT_CASES}/random.json`, "utf8"));

test("counters of Python", () => {
  for (const [name, value] of Object.entries(python.streams)) assert.equal(STREAMS[name], BigInt(value));
  for (const [at, value] of python.bits) assert.equal(bits(at), BigInt(value));
  assert.equal(uniform([5, 6]), python.uniform);
});

test("keys and dropout of JAX", () => {
  const key = foldIn(foldIn([0, 7], 3), 2 ** 31 - 1);
  assert.deepEqual(key, python.key);
  const kept = python.kept.map((_, i) => {
    const [a, b] = threefry(...key, 0, i);
    return ((a ^ b) >>> 9) * 2 ** -23 < Math.fround(0.7);
  });
  assert.deepEqual(kept, python.kept);
});

test("the order of work", () => {
  assert.deepEqual(python.buckets, python.buckets.map((_, i) => bucket(i + 1)));
  for (const [size, client, seed, round, number, schedule, steps] of python.works)
    assert.deepEqual(orderOfWork(size, client, seed, round, number), { schedule, steps });
});

test("a batch holds every word once, and cells of a time continue those before", () => {
  const sentences = [[0, 5, 6, 1], [0, 1], [0, 7, 8, 9, 1], [0, 4, 1]];
  const [batch] = batches(sentences, [[2, 0, 3, 1]]);
  assert.equal(batch.cells, 10);
  assert.deepEqual([...batch.counts], [3, 3, 2, 2]); // rows of 4, 3 + 1 and 2 cells
  const follow = [];
  for (let row = 0; row < batch.counts[0]; row++) {
    for (let [t, c] = [0, 0]; t < batch.counts.length && batch.counts[t] > row; c += batch.counts[t++])
      follow.push([batch.tokens[c + row], batch.targets[c + row], batch.keep[c + row], batch.place[c + row]]);
  }
  assert.deepEqual(follow.map((cell) => cell.slice(0, 3)), [
    [0, 7, 0], [7, 8, 1], [8, 9, 1], [9, 1, 1], [0, 5, 0], [5, 6, 1], [6, 1, 1], [0, 1, 0], [0, 4, 0], [4, 1, 1],
  ]);
  assert.deepEqual(follow.map((cell) => cell[3]), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
});
