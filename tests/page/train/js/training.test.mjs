// Local training against Python's, and the compiled kernels against the plain ones.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { compile, engine } from "../../../../src/tacit/page/static/train/engine.js";
import { trainLocally } from "../../../../src/tacit/page/static/train/local.js";
import { against, apart, bytes, read } from "./cases.mjs";

const module = await compile(bytes("src/tacit/page/static/train/kernels.wasm"));
const names = JSON.parse(readFileSync(`${process.env.TACIT_CASES}/names.json`, "utf8"));

for (const name of names)
  for (const [kind, code] of [["wasm", module], ["javascript", null]])
    test(`${name} by ${kind}`, () => {
      const { task, expected } = read(name);
      const seen = [];
      const answer = trainLocally(task, code, (step, steps) => seen.push([step, steps]));
      const far = against(answer, expected);
      assert.ok(far.largest > 1e-3, `the largest update is ${far.largest}`);
      assert.ok(far.update < 2e-6, `parameters differ by ${far.update}`);
      assert.ok(far.moments < 2e-6, `moments differ by ${far.moments}`);
      assert.equal(answer.facts.engine, kind);
      assert.equal(answer.weight, expected["reply/message/1"][0]);
      const { loss, norm, ...counts } = answer.report;
      for (const [field, value] of Object.entries(counts)) assert.equal(value, expected[`reply/report/${field}`][0], field);
      assert.ok(Math.abs(loss - expected["reply/report/loss"][0]) < 1e-4);
      assert.ok(Math.abs(norm - expected["reply/report/norm"][0]) < 1e-5);
      assert.equal(seen.length, answer.report.steps);
      for (const [leaf, update] of Object.entries(answer.update))
        assert.ok(apart(answer.params[leaf].map((x, i) => x - task.params[leaf][i]), update) < 1e-9);
    });

test("what cannot be trained is refused with a reason", () => {
  const { task } = read("gru-sgd");
  const refused = (change, reason, words) =>
    assert.throws(() => trainLocally({ ...task, ...change }, module), (error) => {
      assert.equal(error.reason, reason, error.message);
      assert.match(error.message, words);
      return true;
    });
  const config = (table, keys) => ({ config: { ...task.config, [table]: { ...task.config[table], ...keys } } });
  refused(config("client", { optimiser: "lion" }), "config", /lion/);
  refused(config("client", { optimiser: "constructor" }), "config", /constructor/);
  refused(config("client", { carry: "v" }), "config", /does not keep 'v'/);
  refused(config("model", { precision: "bfloat16" }), "config", /bfloat16/);
  refused(config("aggregation", { noise: 0.1 }), "config", /noise/);
  refused({ sentences: [] }, "training", /no sentences/);
  refused({ sentences: [[0, 40, 1]] }, "schema", /sentence 1/);
  refused({ sentences: [[0, 1], [0]] }, "schema", /sentence 2/);
  refused({ params: { ...task.params, output_bias: new Float32Array(39) } }, "schema", /'output_bias' must be 40/);
  refused({ params: {} }, "schema", /0 arrays/);
  refused({ carried: [new Float32Array(1)] }, "schema", /carried/);
  refused({ lr: NaN }, "training", /finite/);
  refused({ params: { ...task.params, output_bias: new Float32Array(40).fill(NaN) } }, "training", /finite/);
});

test("every compiled kernel computes what the plain one does", () => {
  let state = 1; // a small generator of numbers in −2 … 2, of the same sequence for both
  const next = () => ((state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 30) - 2;
  // kernel, sizes, its arrays (numbers each), and what follows them; P marks a place, N a size
  const [m, n] = [5, 13];
  const cases = {
    nn: (p) => [m, n, 300, p(m * 300), 300, p(300 * n), n, p(m * n), n, 1],
    tn: (p) => [m + 2, n, 300, p(300 * 7), 7, p(300 * n), n, p(7 * n), n],
    nt: (p) => [m, n, 31, p(m * 31), 31, p(n * 31), 31, p(m * n), n, 0],
    add_row: (p) => [m, n, p(m * n), p(n)],
    add_rows: (p) => [m, n, p(m * n), p(n)],
    gru_forward: (p) => [m, n, p(3 * m * n), p(3 * m * n), p(m * n), p(m * n)],
    gru_backward: (p) => [m, n, p(3 * m * n), p(3 * m * n), p(m * n), p(m * n), p(m * n)],
    printed_gates: (p) => [m, n, p(3 * m * n), p(m * n), p(m * n)],
    printed_forward: (p) => [m, n, p(3 * m * n), p(m * n), p(m * n)],
    printed_backward: (p) => [m, n, p(3 * m * n), p(m * n), p(m * n), p(m * n)],
    printed_reset: (p) => [m, n, p(3 * m * n), p(m * n), p(m * n), p(m * n)],
    lstm_forward: (p) => [m, n, 4, p(4 * m * n), p(m * n), p(m * n)],
    lstm_out: (p) => [m, n, 3, p(3 * m * n), p(m * n), p(m * n)],
    lstm_out_backward: (p) => [m, n, 3, p(3 * m * n), p(m * n), p(m * n), p(m * n)],
    lstm_backward: (p) => [m, n, 4, p(4 * m * n), p(m * n), p(m * n), p(m * n)],
    norm_forward: (p) => [m * 3, n, 3, p(3 * m * n), p(3 * n), p(3 * n), p(3 * m), p(3 * m * n)],
    norm_backward: (p) => [m * 3, n, 3, p(3 * m * n), p(3 * n), p(3 * m), p(3 * m * n), p(3 * m * n), p(3 * n), p(3 * n)],
    pull: (p) => [n, p(n), p(n), p(n), 0.3],
    squares: (p) => [n, p(n)],
    sgd: (p) => [n, p(n), p(n), p(n), 0.7, 0.9, 0.1, 0.01],
  };
  for (const [name, make] of Object.entries(cases)) {
    const results = [module, null].map((code) => {
      const memory = engine(code);
      const arrays = [];
      const args = make((count) => (arrays.push([memory.take(count), count]), arrays.at(-1)[0]));
      const k = memory.open();
      state = 1;
      for (const [at, count] of arrays) k.put(at, Float32Array.from({ length: count }, next));
      const value = k[name](...args) ?? 0;
      return [value, ...arrays.flatMap(([at, count]) => [...k.get(at, count)])];
    });
    const far = results[0].reduce((most, x, i) => Math.max(most, Math.abs(x - results[1][i]) / (1 + Math.abs(x))), 0);
    assert.ok(far < 1e-5, `${name}: ${far}`);
  }
});

test("a long sum keeps its digits", () => {
  const [m, n, k] = [6, 11, 10_000]; // a gradient is a sum over the words of the vocabulary
  for (const name of ["nn", "tn"]) {
    const [found, wanted] = [module, null].map((code) => {
      const memory = engine(code);
      const [a, b, c] = [m * k, k * n, m * n].map(memory.take);
      const kernels = memory.open();
      let state = 7; // positive numbers: what is lost is lost of the sum
      const next = () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
      kernels.put(a, Float32Array.from({ length: m * k }, next));
      kernels.put(b, Float32Array.from({ length: k * n }, next));
      kernels.fill(m * n, c, 0);
      kernels[name](m, n, k, a, name === "nn" ? k : m, b, n, c, n, 1);
      return [...kernels.get(c, m * n)];
    });
    const far = Math.max(...found.map((x, i) => Math.abs(x / wanted[i] - 1)));
    assert.ok(far < 1.5e-6, `${name}: ${far}`);
  }
});
