// The network in the page says what Python's says, refuses what Python refuses, and remembers what it has computed.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { ModelError, open, reading, stateAfter, word } from "../../../src/tacit/page/static/compact.js";
import { expectedEmoji, withExpected } from "../../../src/tacit/page/static/emoji.js";
import { following, logProbs, step } from "../../../src/tacit/page/static/forward.js";
import { best, dense, everyWord, isDense, mixture, stateAfter as after } from "../../../src/tacit/page/static/language.js";
import { isNetwork, openNetwork } from "../../../src/tacit/page/static/network8.js";
import { paramsOf, withParams } from "../../../src/tacit/page/static/own_network.js";
import { predict } from "../../../src/tacit/page/static/predict.js";
import { scores } from "../../../src/tacit/page/static/train/scores.js";
import { every } from "../../../src/tacit/page/static/words.js";

/** The bytes of a file as an ArrayBuffer of its own. */
function bytes(path) {
  const data = readFileSync(path);
  return data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
}

const { kinds, changes, plain, mixed } = JSON.parse(readFileSync(process.env.TACIT_NETWORKS ?? "/missing", "utf8"));

for (const { name, file, words, answers, longest } of kinds) {
  test(`${name}: log p of every word is Python's`, async () => {
    const network = await openNetwork(bytes(file));
    assert.ok(isNetwork(bytes(file)));
    assert.deepEqual([every(network.words), network.longest], [words, longest]);
    const model = dense(network);
    let worst = 0;
    for (const [context, logP] of answers) {
      const got = after(model, context).logP;
      assert.equal(got.length, logP.length);
      logP.forEach((wanted, id) => (worst = Math.max(worst, Math.abs(got[id] - wanted))));
      const top = best(model, after(model, context), 3, 3, got.length).map(({ id }) => id);
      const ids = [...got.keys()].slice(3).sort((a, b) => got[b] - got[a] || a - b);
      assert.deepEqual(top, ids.slice(0, 3));
    }
    assert.ok(worst < 1e-4, `${worst}`);
    assert.ok(answers.length >= 20);
  });
}

for (const { name, file, answers, words, longest } of kinds) {
  test(`${name}: training has the weights of the page's network`, async () => {
    const network = await openNetwork(bytes(file));
    const params = paramsOf(network);
    const again = dense(withParams(network, params));
    const sentences = answers.map(([context]) => [0, ...context.map((word) => (word === "<s>" ? 2 : Math.max(2, words.indexOf(word) + 3))), 1]);
    for (const before of sentences.map((ids) => ids.slice(1, -1))) {
      const [wanted, got] = [dense(network).after(before), again.after(before)];
      assert.ok(wanted.every((logP, id) => Math.abs(logP - got[id]) < 1e-5));
    }
    // what training's own network says of the whole text, on these weights
    const task = { model: network.architecture, vocabulary: words.length + 3, params, sentences };
    const model = dense({ ...network, longest: 1000 });
    let nll = 0;
    for (const ids of sentences)
      ids.slice(1).forEach((id, i) => (nll -= model.after(ids.slice(1, i + 1))[id]));
    assert.ok(Math.abs(scores(task, null).nll / nll - 1) < 1e-4 && nll > 100, `${scores(task, null).nll} ${nll}`);
    assert.ok(longest > 0);
  });
}

test("a damaged network is refused exactly where Python refuses it", async () => {
  const good = new Uint8Array(bytes(plain));
  const verdicts = { refused: 0, read: 0 };
  for (const [changed, told] of changes) {
    const data = good.slice();
    for (const [at, byte] of changed) data[at] = byte;
    const refused = await openNetwork(data.buffer).then(() => "", (error) => {
      assert.ok(error instanceof ModelError, String(error));
      return error.message;
    });
    assert.equal(refused !== "", told !== "", `${JSON.stringify(changed)}: Python “${told}”, the page “${refused}”`);
    verdicts[refused ? "refused" : "read"]++;
  }
  assert.ok(verdicts.refused > 60 && verdicts.read > 60, JSON.stringify(verdicts));
});

test("an empty, a foreign, a short, a newer and a cut file are told apart", async () => {
  const good = bytes(plain);
  const newer = good.slice(0);
  new DataView(newer).setUint32(8, 2, true);
  for (const [buffer, what] of [
    [new ArrayBuffer(0), /empty/],
    [bytes(mixed.file), /not an 8-bit network/],
    [good.slice(0, 9), /cut short/],
    [good.slice(0, 900), /900 bytes, but \d+ were written/],
    [newer, /format version 2, but this page reads version 1/],
  ]) {
    await assert.rejects(openNetwork(buffer), (error) => error instanceof ModelError && what.test(error.message));
  }
});

test("a further word costs one step, and a word taken back none", async () => {
  const network = await openNetwork(bytes(plain));
  let steps = 0;
  const { codes } = network.matrices.embedding;
  const watched = new Proxy(codes, {
    get: (target, name) => {
      if (name === "subarray") steps++; // a step reads the row of its word
      const value = Reflect.get(target, name);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  network.matrices.embedding = { ...network.matrices.embedding, codes: watched };
  const ask = following(network);
  const costs = (ids) => {
    const before = steps;
    ask(ids);
    return steps - before;
  };
  assert.deepEqual([[], [5], [5, 6], [5, 6], [5], [5, 7], [5, 7, 8, 9], [5, 7]].map(costs), [1, 1, 1, 0, 0, 1, 2, 0]);
  let state = step(network, null, 0);
  for (const id of [5, 7, 8]) state = step(network, state, id);
  assert.deepEqual([...ask([5, 7, 8])], [...logProbs(network, state)]);
  assert.deepEqual([...ask([4, 0])], [...logProbs(network, step(network, null, 0))]); // `<s>` begins anew
});

test("a mixture is the weighted mean of its parts, over the same words only", async () => {
  const [network, ngrams] = [dense(await openNetwork(bytes(plain))), open(bytes(mixed.file))];
  const both = mixture(network, ngrams, 0.3);
  assert.ok(both && isDense(both));
  const all = every(ngrams.words);
  for (const context of [[], [all[3]], [all[3], all[1], "no such word"], [all[2], all[2], all[4], all[0]]]) {
    const state = stateAfter(ngrams, context);
    const [p, q] = [after(network, context).logP, after(both, context).logP];
    const grams = everyWord(ngrams, context.map((w) => (all.indexOf(w) < 0 ? 2 : all.indexOf(w) + 3)));
    for (let id = 1; id < p.length; id++) {
      const { logP } = reading(ngrams, state, id);
      assert.ok(Math.abs(logP - grams[id]) < 1e-5);
      assert.ok(Math.abs(Math.exp(q[id]) - (0.7 * Math.exp(p[id]) + 0.3 * Math.exp(logP))) < 1e-6);
    }
  }
  assert.equal(mixture(network, open(bytes(mixed.other)), 0.3), null);
});

test("names have their capitals, blocked words are not suggested, and emoji come where they are expected", async () => {
  const model = dense(await openNetwork(bytes(plain)));
  const asked = (typed) => predict(model, null, { context: [], typed, shift: false }, 20).map((guess) => guess.word);
  const zoo = every(model.words).indexOf("zoo") + 3;
  assert.ok(asked("zo").includes("zoo"));
  model.forms = new Map([[zoo, "Zoo"]]);
  assert.equal(word(model, zoo), "Zoo");
  assert.ok(asked("zo").includes("Zoo") && !asked("zo").includes("zoo"));
  model.hidden[zoo] = 1;
  assert.ok(!asked("zo").includes("Zoo"));
  const expected = expectedEmoji(model, []);
  assert.deepEqual(expected.emoji, ["🙂"]);
  assert.ok(Math.abs(expected.p - Math.exp(after(model, []).logP[every(model.words).indexOf("🙂") + 3])) < 1e-6);
  assert.deepEqual(withExpected(["a", "b", "c", "d"], { p: 0.5, emoji: ["🙂", "🎉"] }), ["a", "b", "🙂", "c", "d"]);
  assert.deepEqual(withExpected(["a", "b", "c"], { p: 0.01, emoji: ["🙂"] }), ["a", "b", "c"]);
  assert.deepEqual(withExpected(["a", "🎉", "c"], { p: 0.9, emoji: ["🙂"] }), ["a", "🎉", "c"]);
});
