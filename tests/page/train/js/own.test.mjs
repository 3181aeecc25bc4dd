// One's own model and scores against Python's.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { compile } from "../../../../src/tacit/page/static/train/engine.js";
import { cuts, mcnemar, passes, tuneOwn } from "../../../../src/tacit/page/static/train/own.js";
import { scores } from "../../../../src/tacit/page/static/train/scores.js";
import { apart, bytes, read } from "./cases.mjs";

const module = await compile(bytes("src/tacit/page/static/train/kernels.wasm"));
const python = JSON.parse(readFileSync(`${process.env.TACIT_CASES}/own-facts.json`, "utf8"));
const { task, expected } = read("own");
const own = { ...task, model: task.config.model, ...python.task, margin: 0 };

for (const [kind, code] of [["wasm", module], ["javascript", null]])
  test(`one's own model by ${kind}`, () => {
    assert.deepEqual(cuts(task.sentences), python.cuts);
    const found = tuneOwn(own, code);
    const { significantlyWorse, ...last } = found.last;
    assert.deepEqual({ gate: found.gate, last }, { gate: python.gate, last: python.last });
    assert.equal(significantlyWorse, false);
    for (const [name, values] of Object.entries(found.params)) {
      const update = values.map((x, i) => x - task.params[name][i]);
      assert.ok(apart(update, expected[`reply/message/0/${name}`]) < 2e-6, name);
    }
    const sums = scores({ ...own }, code);
    for (const [name, value] of Object.entries(python.scores))
      assert.ok(Math.abs(sums[name] - value) < 1e-3, `${name}: ${sums[name]} and ${value}`);
  });

test("the gate decides", () => {
  for (const [margin, passed] of python.passes) {
    assert.equal(passes(python.gate, margin), passed);
    const found = tuneOwn({ ...own, margin }, module);
    assert.equal(found.used, passed);
    assert.equal(found.params !== null, passed);
  }
  assert.deepEqual([...new Set(python.passes.map(([, passed]) => passed))], [true, false]);
  for (const [lost, won, p] of python.mcnemar) assert.ok(Math.abs(mcnemar(lost, won) - p) < 1e-5);
  assert.equal(tuneOwn({ ...own, rate: 1e30 }, module).used, false);
});

test("too little text has no model of its own", () => {
  const few = (sentences, words) =>
    assert.throws(() => tuneOwn({ ...own, sentences }, module), (error) => {
      assert.equal(error.reason, "conditions");
      assert.match(error.message, words);
      return true;
    });
  few([], /0 messages/);
  few(task.sentences.slice(0, 12), /words, and 100/);
  few(task.sentences.map((s, i) => (i < 55 ? s : [0, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 1])), /no known word/);
});
