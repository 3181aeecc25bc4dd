// JavaScript and Python give the same answers.
import assert from "node:assert/strict";
import { test } from "node:test";

import { startsSentence, written } from "../../../src/tacit/page/static/capitals.js";
import { idOf, open, reading, SPECIALS, stateAfter, UNK, word } from "../../../src/tacit/page/static/compact.js";
import { among, correct, glide, joined, makeDecoder } from "../../../src/tacit/page/static/decode.js";
import { lists, openDictionary } from "../../../src/tacit/page/static/dictionary.js";
import { build, layoutOf } from "../../../src/tacit/page/static/lexicon.js";
import { chances, predict } from "../../../src/tacit/page/static/predict.js";
import { complete } from "../../../src/tacit/page/static/suggest.js";
import { search, tapCosts } from "../../../src/tacit/page/static/taps.js";
import { placeOf, tokenize } from "../../../src/tacit/page/static/tokens.js";
import { every, find } from "../../../src/tacit/page/static/words.js";
import { bytes, vectors } from "./vectors.mjs";

/** Ranked words are the same in the same order, equals too, with the same scores and costs. */
function sameRanking(got, ranked, what) {
  assert.deepEqual(got.map((meant) => meant.word), ranked.map(([word]) => word), what);
  ranked.forEach(([word, score, cost], i) => {
    near(got[i].score, score, `${what}: ${word}`);
    near(got[i].cost, cost, `${what}: ${word}`);
  });
}

const near = (a, b, what) => assert.ok(Math.abs(a - b) <= 1e-6, `${what}: ${a} and ${b}`);

const dictionary = openDictionary(bytes(vectors.dictionary.file));

test("the same words are in the dictionary, and a damaged one is refused", () => {
  const { asked, known, file } = vectors.dictionary;
  for (const [word, wanted] of asked) assert.equal(lists(dictionary, word, (one) => one === known), wanted, word);
  assert.ok(asked.filter(([, is]) => is).length > 60);
  const whole = bytes(file);
  for (const part of [whole.slice(0, 20), whole.slice(0, -9), whole.slice(0, 5000), whole.slice(1)]) {
    assert.throws(() => openDictionary(part), /dictionary/);
  }
});

for (const name of ["small", "cased"]) {
  const model = open(bytes(vectors[name].file));

  test(`${name}: the same three words with the same probabilities from the same file`, () => {
    assert.equal(vectors[name].suggested.length, name === "small" ? 10_000 : 1000);
    for (const [context, prefix, wanted] of vectors[name].suggested) {
      const got = complete(model, context, prefix, 3);
      assert.deepEqual(got.map((c) => c.word), wanted.map((w) => w[0]), `${context} | ${prefix}`);
      got.forEach((c, i) => near(c.p, wanted[i][1], c.word));
    }
  });

  test(`${name}: the same through the one interface, with capitals`, () => {
    for (const [context, typed, wanted] of vectors[name].completed) {
      const got = predict(model, null, { context, typed }, 3);
      assert.deepEqual(got.map((c) => c.word), wanted.map((w) => w[0]), `${context} | ${typed}`);
      got.forEach((c, i) => near(c.p, wanted[i][1], c.word));
    }
  });

  const decoder = makeDecoder(model, layoutOf(vectors.layout), vectors.parameters, dictionary);

  test(`${name}: taps are understood alike`, () => {
    let corrected = 0;
    for (const [context, taps, typed, best, known, ranked] of vectors[name].taps) {
      const got = correct(decoder, chances(model, null, context), context, taps, typed, 3);
      assert.deepEqual([got.best, got.known], [best, known], `${context} | ${typed}`);
      sameRanking(got.words, ranked, `${context} | ${typed}`);
      corrected += best.toLowerCase() !== typed.toLowerCase();
    }
    assert.ok(corrected > 30, `only ${corrected} words were corrected: these vectors say little`);
  });

  test(`${name}: a space inside a word is understood alike`, () => {
    let [together, apart, offered] = [0, 0, 0];
    for (const [context, taps, typed, at, best, joins, ranked] of vectors[name].parts) {
      const what = `${context} | ${typed.slice(0, at)} ${typed.slice(at)}`;
      const before = chances(model, null, context);
      const first = correct(decoder, before, context, taps.slice(0, at), typed.slice(0, at));
      const next = [...context, ...tokenize(first.best)];
      const second = correct(decoder, chances(model, null, next), next, taps.slice(at), typed.slice(at));
      const part = { typed: typed.slice(0, at), taps: taps.slice(0, at), context, ...first };
      const single = !first.best.includes(" ");
      const one = single ? joined(decoder, before, part, { ...second, typed: typed.slice(at), taps: taps.slice(at) }) : null;
      assert.deepEqual([one?.wins ? one.word : second.best, one?.wins ?? false], [best, joins], what);
      const words = one ? among(second.words, one) : second.words;
      sameRanking(words, ranked, what);
      assert.deepEqual(words.map((meant) => meant.joins ?? false), ranked.map((row) => row[3]), what);
      together += joins;
      apart += !joins;
      offered += !joins && ranked.some((row) => row[3]);
    }
    assert.ok(together > 30 && apart > 30 && offered > 5, `${together}, ${apart} and ${offered}: these vectors say little`);
  });

  test(`${name}: a blocked word that is typed stays, unless another is far likelier`, () => {
    const layout = decoder.lexicon.layout;
    const at = [..."pizza"].map((c) => layout.letters.indexOf(c)).map((i) => [layout.x[i], layout.y[i]]);
    const likely = () => 0; // whatever else is near is certain
    assert.equal(correct(decoder, likely, ["a"], at, "pizza").best, "pizza");
    assert.equal(correct(decoder, likely, ["a"], at, "Pizza").best, "Pizza");
    const rare = (id) => (model.hidden[id] ? -60 : 0);
    assert.notEqual(correct(decoder, rare, ["a"], at, "pizza").best, "pizza");
  });

  test(`${name}: shift decides the capital of a glide, and where it does not the sentence does`, () => {
    const [, trail] = vectors[name].glides.find(([context, , ranked]) => context.length > 3 && ranked.length);
    const first = (context, shift) => glide(decoder, () => 0, context, trail, shift, 1)[0].word;
    const isUpper = (word) => word[0] !== word[0].toLowerCase();
    assert.deepEqual([true, null].map((shift) => isUpper(first([], shift))), [true, true]);
    assert.equal(first([], false), first(["so"], null)); // turned off at the start
  });

  test(`${name}: glides are understood alike`, () => {
    let found = 0;
    for (const [context, trail, ranked] of vectors[name].glides) {
      const got = glide(decoder, chances(model, null, context), context, trail, null, 3);
      sameRanking(got, ranked, `${context}`);
      found += ranked.length > 0;
    }
    assert.ok(found > 150, `only ${found} trails have a word`);
  });

  test(`${name}: every word is found again, and all probabilities sum to one`, () => {
    const words = every(model.words);
    assert.equal(words.length, model.words.count);
    words.forEach((w, i) => {
      assert.equal(find(model.words, w), i);
      assert.equal(word(model, i + SPECIALS.length), w);
    });
    assert.equal(idOf(model, "no such word"), UNK);
    for (const context of [[], ["i"], ["see", "you"], ["qqzzy"]]) {
      const state = stateAfter(model, context);
      let sum = 0;
      for (let id = 1; id < model.p.length; id++) sum += Math.exp(reading(model, state, id).logP);
      assert.ok(Math.abs(sum - 1) < 0.01, `${context}: ${sum}`); // backoff weights are rounded to a byte
    }
  });
}

test("the search of taps finds what every alignment of every word gives", () => {
  const layout = layoutOf(vectors.layout);
  const rules = vectors.parameters.taps;
  const words = every(open(bytes(vectors.small.file)).words).filter((_, i) => i % 3 === 0);
  const lexicon = build(words.concat("don't", "o'clock", "a").map((text, id) => ({ text, id })), layout);
  let found = 0;
  for (const [, taps] of vectors.small.taps.slice(0, 25)) {
    const cost = tapCosts(taps, layout, rules);
    const m = taps.length;
    const nearest = cost.map((row) => row.indexOf(Math.min(...row)));
    const alone = nearest.map((key, j) => (j && key === nearest[j - 1] ? Math.min(rules.double, rules.insertion) : rules.insertion));
    const low = alone.reduce((sum, extra, j) => sum + Math.min(extra, ...cost[j]), 0);
    const isVowel = layout.letters.map((c) => "aeiouy".includes(c));
    const wanted = new Map();
    lexicon.spellings.forEach((spelling, place) => {
      const n = spelling.length;
      const key = [...spelling].map((c) => layout.letters.indexOf(c));
      const tap = (i, j) => {
        const ways = [cost[j][key[i]]];
        if (i) ways.push(Math.min(...cost[j]) + rules.wrong);
        if (i && isVowel[key[i]]) ways.push(Math.min(...cost[j].filter((_, k) => isVowel[k])) + rules.vowel);
        return Math.min(...ways);
      };
      const omit = (i) => {
        const plain = spelling[i] === "'" ? rules.apostrophe : rules.omission;
        return i && spelling[i] === spelling[i - 1] ? Math.min(plain, rules.single) : plain;
      };
      // backwards: the cost of the rest after i letters and j taps
      const d = Array.from({ length: n + 1 }, () => new Float64Array(m + 1));
      for (let i = n; i >= 0; i--) {
        for (let j = m; j >= 0; j--) {
          if (i === n && j === m) continue;
          const ends = (a, b) => (a === n && b === m ? rules.edge : 0);
          d[i][j] = Math.min(
            i < n ? d[i + 1][j] + omit(i) + (i ? 0 : rules.edge) + ends(i + 1, j) : Infinity,
            j < m ? d[i][j + 1] + alone[j] + (i || j ? 0 : rules.edge) + ends(i, j + 1) : Infinity,
            i < n && j < m ? d[i + 1][j + 1] + tap(i, j) : Infinity,
            i + 1 < n && j + 1 < m
              ? d[i + 2][j + 2] + rules.transposition + cost[j][key[i + 1]] + cost[j + 1][key[i]]
              : Infinity,
            ...[[1, 2, 0], [2, 0, 1]].map((order) =>
              i + 2 < n && j + 2 < m
                ? order.reduce((sum, o, k) => sum + cost[j + k][key[i + o]], d[i + 3][j + 3] + rules.move)
                : Infinity,
            ),
          );
        }
      }
      const total = d[0][0] - low;
      if (total <= rules.beam) wanted.set(place, total);
    });
    const got = new Map(search(lexicon, taps, rules).map(({ place, cost: c }) => [place, c]));
    assert.deepEqual([...got.keys()].sort(), [...wanted.keys()].sort());
    for (const [place, total] of wanted) near(got.get(place), total, lexicon.spellings[place]);
    found += wanted.size;
  }
  assert.ok(found > 500);
});

test("words of the same keys and words of the same path come in Python's order", () => {
  const layout = layoutOf(vectors.layout);
  const texts = ["pool", "pol", "don't", "dont", "bole", "boole", "a", "to", "too"];
  const lexicon = build(texts.map((text, id) => ({ text, id })), layout);
  assert.deepEqual(lexicon.spellings, [...texts].sort()); // as in lexicon.py, not by the places of the keys
});

test("the search of taps keeps to its beam, however long a word of the file is", () => {
  const layout = layoutOf(vectors.layout);
  const long = "'".repeat(70_000);
  const lexicon = build([long, "a", "ab", "b".repeat(300)].map((text, id) => ({ text, id })), layout);
  const places = search(lexicon, [[1, 2.25]], vectors.parameters.taps).map(({ place }) => lexicon.spellings[place]);
  assert.deepEqual(places, ["a", "ab"]);
});

test("text is cut into the same tokens", () => {
  for (const [text, wanted] of vectors.tokens) assert.deepEqual(tokenize(text), wanted, JSON.stringify(text));
});

test("sentences start at the same places, words get the same capitals", () => {
  const [starts, forms] = vectors.capitals;
  for (const [context, wanted] of starts) assert.equal(startsSentence(context), wanted, JSON.stringify(context));
  for (const [w, cased, start, typed, wanted] of forms) assert.equal(written(w, cased, start, typed), wanted, `${w} ${typed}`);
});

test("the place of a caret is the message's tokens and the word in progress", () => {
  assert.deepEqual(placeOf("See you, tom"), { context: ["See", "you", ","], typed: "tom" });
  assert.deepEqual(placeOf("one two\nthree "), { context: ["three"], typed: "" });
  assert.deepEqual(placeOf("don'"), { context: [], typed: "don'" });
  assert.deepEqual(placeOf("it’s"), { context: [], typed: "it’s" });
  assert.deepEqual(placeOf(""), { context: [], typed: "" });
  assert.equal(placeOf(`${"a".repeat(60)}`).typed, "");
  const long = placeOf("word ".repeat(10_000) + "th");
  assert.equal(long.typed, "th");
  assert.ok(long.context.length < 500 && long.context[0] === "");
  for (const text of ["😀".repeat(3000), "ש".repeat(3000), " ".repeat(1_000_000), "x".repeat(1_000_000)]) {
    assert.ok(placeOf(text).context.length <= 2001);
  }
});
