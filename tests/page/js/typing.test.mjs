// What keys do to the text, what the bar holds, and what the personal cache learns.
import assert from "node:assert/strict";
import { test } from "node:test";

import { endsInAddress, lessonsOf } from "../../../src/tacit/page/static/addresses.js";
import { choices, offers } from "../../../src/tacit/page/static/bar.js";
import * as caches from "../../../src/tacit/page/static/cache.js";
import { fold, open, reading, idOf, UNK } from "../../../src/tacit/page/static/compact.js";
import { backspace, endWord, fullStop, glided, lastCharacter, pick, put, savings } from "../../../src/tacit/page/static/edit.js";
import { makeHistory } from "../../../src/tacit/page/static/history.js";
import { layersOf } from "../../../src/tacit/page/static/keys.js";
import { makeLessons } from "../../../src/tacit/page/static/lessons.js";
import { PLAIN } from "../../../src/tacit/page/static/locale.js";
import { follow, untold } from "../../../src/tacit/page/static/memory.js";
import { stateAfter as remembered } from "../../../src/tacit/page/static/language.js";
import { predict } from "../../../src/tacit/page/static/predict.js";
import { capital, OFF, pressed, raisesMarks, settled } from "../../../src/tacit/page/static/shift.js";
import { every } from "../../../src/tacit/page/static/words.js";
import { bytes, vectors } from "./vectors.mjs";

/** Carry out a change at the end of a text. */
const apply = (text, { remove, insert }) => text.slice(0, text.length - remove) + insert;

test("a correction is written on space and taken back by backspace, once", () => {
  const made = endWord("teh", " ", "the");
  const text = apply("see teh", made.change);
  assert.equal(text, "see the ");
  const undone = backspace(text, made.last);
  assert.equal(apply(text, undone.change), "see teh");
  assert.deepEqual(undone.last, { kind: "kept", word: "teh" });
  assert.equal(apply("see teh", backspace("see teh", undone.last).change), "see te");
  assert.equal(apply("see the x", backspace("see the x", made.last).change), "see the "); // too late
});

test("a word that is right gets its space only", () => {
  for (const correction of [null, "the"]) {
    assert.deepEqual(endWord("the", " ", correction), { change: { remove: 0, insert: " " }, last: null });
  }
});

test("a suggestion replaces what is typed; a mark leans on it", () => {
  const made = pick("see you tom", "tom", "tomorrow");
  const text = apply("see you tom", made.change);
  assert.equal(text, "see you tomorrow ");
  assert.equal(apply(text, put(text, ".", made.last)), "see you tomorrow.");
  assert.equal(apply(text, put(text, ".", null)), "see you tomorrow .");
  assert.equal(apply(text, put(text, "x", made.last)), "see you tomorrow x");
  assert.equal(apply(text, put(text, " ", made.last)), text); // it has its space
  assert.equal(apply(text, put(text, " ", null)), `${text} `);
  for (const [before, after] of [["yes.", "yes. you "], ["yes ", "yes you "], ["", "you "], ["(", "(you "]]) {
    assert.equal(apply(before, pick(before, "", "you").change), after); // no word is glued to a mark
  }
});

test("inside a word a suggestion takes the place of all of it", () => {
  const taken = (before, typed, after) => {
    const { change } = pick(before, typed, "word", after);
    return `${apply(before, change)}|${after.slice(change.after ?? 0)}`;
  };
  assert.equal(taken("a tomo", "tomo", "rrow"), "a word |");
  assert.equal(taken("a tomo", "tomo", "rrow is"), "a word |is");
  assert.equal(taken("a tomo", "tomo", "rrow, is"), "a word|, is");
  assert.equal(taken("a tomo", "tomo", "rrow\nis"), "a word |\nis");
  assert.equal(taken("do", "do", "n't go"), "word |go");
  assert.equal(taken("don", "don", "'t go"), "word |go");
  assert.equal(taken("a ", "", "rrow"), "a word |rrow"); // before a word: a word of its own
  assert.equal(taken("see", "see", " you"), "word |you"); // with the space that stands there
  assert.equal(taken("see ", "", " you"), "see word |you");
  const { change, last } = pick("see", "see", "word", " you");
  assert.deepEqual([change.after, put("word ", ",", last)], [1, { remove: 1, insert: ", " }]); // which stays there
});

test("undo and redo bring every state back, whatever was done in between", () => {
  const history = makeHistory();
  const states = [""];
  const note = (text, caret = text.length, pasted = 0) => history.note({ text, caret, pasted });
  const step = (text, caret, pasted) => (note(text, caret, pasted), states.push(text));
  step("aaa ", 4);
  step("aaa bb😀 pasted", 14, 13);
  step("aaXa bb😀 pasted", 3, 13);
  step("aaXa bb😁 pasted", 9, 13);
  step("", 0);
  note("x", 1);
  step("xy", 2); // letters are undone together
  assert.equal(history.redo(), null);
  for (const wanted of states.slice(0, -1).reverse()) assert.equal(history.undo().text, wanted);
  assert.equal(history.undo(), null);
  const again = states.slice(1).map((wanted) => [wanted, history.redo()]);
  for (const [wanted, { text }] of again) assert.equal(text, wanted);
  assert.deepEqual(again.map(([, { pasted }]) => pasted), [0, 13, 13, 13, 0, 0]);
  history.undo();
  note("other", 5);
  assert.equal(history.redo(), null); // what was undone is given up
  for (let i = 0; i < 2000; i++) note("ab ".repeat(i % 7), 0);
  let count = 0;
  while (history.undo()) count++;
  assert.equal(count, 500);
});

test("letters are undone up to a space, what is rubbed out all at once, and a caret comes where the change was", () => {
  const history = makeHistory();
  for (const text of ["h", "hi", "hi ", "hi y", "hi yo"]) history.note({ text, caret: text.length, pasted: 0 });
  for (const text of ["hi y", "hi ", "hi", "h"]) history.note({ text, caret: text.length, pasted: 0 });
  assert.deepEqual([history.undo(), history.undo(), history.undo()].map((s) => [s.text, s.caret]), [["hi yo", 5], ["hi ", 3], ["", 0]]);
  history.note({ text: "aaa", caret: 3, pasted: 3 });
  history.note({ text: "aaaa", caret: 1, pasted: 3 });
  assert.equal(history.undo().caret, 0);
});

test("an address is one token, which is no word, and is not corrected", () => {
  for (const address of ["http://x.org/teh", "Http://x", "www.x.org", "(WWW.x", "@jane", "jane@x.org", "jane@"]) {
    assert.deepEqual(lessonsOf(`see ${address} you `).context, ["see", "@", "you"], address);
    assert.deepEqual(lessonsOf(`a\nsee ${address}`), { context: ["see", "@"], typed: "" }, address);
    assert.ok(endsInAddress(`see ${address}`) && !endsInAddress(`${address} teh`));
  }
  assert.deepEqual(lessonsOf("and/or www x.org th"), { context: ["and", "/", "or", "www", "x", ".", "org"], typed: "th" });
  assert.equal(lessonsOf("a ".repeat(2000)).context[0], "");
});

test("a drawn word keeps apart from the one before; another choice takes its place; backspace takes all of it", () => {
  const first = glided("see", "you");
  const text = apply("see", first.change);
  assert.equal(text, "see you ");
  const other = glided(text, "your", first.last);
  assert.equal(apply(text, other.change), "see your ");
  assert.equal(apply("see your ", backspace("see your ", other.last).change), "see");
  assert.equal(apply("", glided("", "You").change), "You ");
  assert.equal(apply("(", glided("(", "you").change), "(you ");
});

test("inside a word a drawn word takes the place of all of it, with the space or before the mark that follows", () => {
  const made = glided("so he", "you", null, "he", "llo there");
  assert.deepEqual(made.change, { remove: 2, insert: "you ", after: 4 });
  const another = glided("so you ", "your", made.last);
  assert.deepEqual(backspace("so your ", another.last).change, { remove: 5, insert: "hello " }); // what was there is back
  const leaning = glided("so he", "you", null, "he", "llo, there");
  assert.deepEqual(leaning.change, { remove: 2, insert: "you", after: 3 });
  assert.deepEqual(glided("so you", "your", leaning.last).change, { remove: 3, insert: "your" }); // no space comes with it
  assert.deepEqual(glided("so hello", "you", null, "hello", "").change, { remove: 0, insert: " you ", after: 0 }); // at its end
  assert.deepEqual(glided("so ", "you", null, "", "hello").change, { remove: 0, insert: "you ", after: 0 }); // and its beginning
  const between = glided("so", "you", null, "so", " there");
  assert.deepEqual(between.change, { remove: 0, insert: " you ", after: 1 });
  assert.deepEqual(backspace("so you ", between.last).change, { remove: 5, insert: " " });
});

test("backspace takes one character as a person sees it", () => {
  for (const last of ["a", "é", "e\u0301", "👍🏽", "👩‍👩‍👧‍👦", "🇬🇧", "ש", "日"]) {
    assert.equal(lastCharacter(`ab ${last}`), last.length, last);
  }
  assert.equal(lastCharacter(""), 0);
});

test("shift: once, locked, off; by itself at the start of a sentence, unless it is turned off", () => {
  const start = settled(OFF, { context: [], typed: "" }, "");
  assert.deepEqual([start, capital(start), raisesMarks(start)], [{ state: "once", byHand: false }, true, false]);
  const lowered = pressed(start);
  assert.deepEqual([lowered.state, capital(lowered), raisesMarks(lowered)], ["off", false, false]);
  const once = pressed(lowered);
  assert.deepEqual([once.state, pressed(once).state, pressed(pressed(once)).state], ["once", "locked", "off"]);
  assert.ok(raisesMarks(once));
  assert.equal(settled(once, { context: ["a"], typed: "B" }, "a B").state, "off");
  assert.equal(settled(pressed(once), { context: ["a"], typed: "B" }, "a B").state, "locked");
  assert.equal(capital(settled(OFF, { context: ["yes", "."], typed: "" }, "yes.")), null); // no space: as the sentence has it
});

test("shift pressed twice quickly is locked, whatever it was", () => {
  const start = settled(OFF, { context: [], typed: "" }, "");
  for (const before of [OFF, start, pressed(OFF)]) assert.equal(pressed(before, true).state, "locked");
  assert.equal(pressed(pressed(OFF, true), true).state, "off");
});

test("two spaces after a word are a full stop, which backspace turns back", () => {
  for (const before of ["ok ", "see (you) ", "7 ", "été ", "it’s "]) {
    assert.equal(apply(before, fullStop(before)), `${before.trimEnd()}. `);
  }
  for (const before of ["", " ", "ok", "ok. ", "ok, ", "ok  ", "👍 ", "- "]) assert.equal(fullStop(before), null, before);
  const undone = backspace("ok. ", { kind: "stopped" });
  assert.deepEqual([apply("ok. ", undone.change), undone.last], ["ok  ", null]);
  assert.equal(apply("ok. ", backspace("ok. ", null).change), "ok.");
});

test("a word is forgotten alone, with its pairs", () => {
  let cache = caches.makeCache();
  for (const [before, w] of [[null, "my"], ["my", "secret"], ["secret", "is"], [null, "secret"], ["is", "my"]]) cache = caches.learn(cache, before, w);
  const left = caches.without(cache, "secret");
  assert.deepEqual(left.entries, [["<s>", "my"], ["", "is"], ["is", "my"]]);
  assert.ok(!caches.toJson(left).includes("secret"));
});

test("keys saved: 1 − keys/characters", () => {
  assert.equal(savings(3, 10), 0.7);
  assert.equal(savings(12, 10), 1 - 1.2);
  assert.equal(savings(0, 0), null);
});

test("the bar: next words, completions, a correction with what was typed, choices of a glide", () => {
  const labels = (found) => found.map((o) => o.label + (o.chosen ? "*" : ""));
  assert.deepEqual(labels(offers("", ["a", "b", "c", "d"], null)), ["a", "b", "c"]);
  assert.deepEqual(labels(offers("the", ["the", "then", "there", "them"], { best: "the", known: true, words: ["the", "he"] })), ["then", "there", "them"]);
  assert.deepEqual(labels(offers("thx", ["thxa", "thxb", "thxc"], { best: "thx", known: false, words: ["the"] })), ["thxa", "thxb", "the"]);
  assert.deepEqual(labels(offers("teh", [], { best: "the", known: false, words: ["the", "tea"] })), ["“teh”", "the*", "tea"]);
  assert.deepEqual(labels(offers("zq", [], { best: "zq", known: false, words: [] })), []);
  assert.deepEqual(labels(choices(["you", "your"])), ["you*", "your"]);
  const [typed, mended, next] = offers("morrow", ["morrows"], { best: "tomorrow", known: false, words: [], joins: true }, { part: "to", word: null });
  assert.deepEqual(labels([typed, mended, next]), ["“to morrow”", "tomorrow*", "morrows"]);
  assert.deepEqual([typed.joins, mended.joins, next.joins], [undefined, true, undefined]);
  const apart = offers("day", ["days", "daily", "today"], { best: "day", known: true, words: [] }, { part: "to", word: "today" });
  assert.deepEqual(apart.map((o) => [o.word, o.joins ?? false]), [["days", false], ["daily", false], ["today", true]]);
  const slip = offers("dya", ["dyad"], { best: "day", known: false, words: [] }, { part: "to", word: "today" });
  assert.deepEqual(labels(slip), ["“dya”", "day*", "today"]);
});

test("every row of keys is twenty halves wide, every letter is there once", () => {
  const { letters, marks, symbols, emojiLayer } = layersOf(PLAIN);
  for (const layer of [letters, marks, symbols, emojiLayer(Array(30).fill("🙂"))]) {
    for (const row of layer) {
      const used = row.reduce((sum, key) => sum + key.width, 0);
      assert.ok(used + (row[0].start ? row[0].start - 1 : 0) <= 20 && used >= 17, JSON.stringify(row.map((k) => k.value)));
    }
  }
  const every = letters.flat().filter((k) => k.kind === "letter").map((k) => k.value).sort().join("");
  assert.equal(every, "abcdefghijklmnopqrstuvwxyz");
});

test("the cache follows its formula, counted one by one", () => {
  const typed = ["see", "you", "soon", "see", "you", "later", "see", "them"];
  let cache = caches.makeCache();
  typed.forEach((w, i) => (cache = caches.learn(cache, i ? typed[i - 1] : null, w)));
  const weight = (i) => 2 ** (-(typed.length - 1 - i) / caches.HALF_LIFE);
  const sum = (test) => typed.reduce((s, w, i) => s + (test(i ? typed[i - 1] : "<s>", w) ? weight(i) : 0), 0);
  for (const before of ["see", "you", "nobody", null]) {
    const v = before ?? "<s>";
    const seen = sum((b) => b === v);
    const trust = seen / (seen + caches.KAPPA);
    const share = caches.cacheProbability(cache, before);
    let total = 0;
    for (const w of new Set([...typed, "never"])) {
      const pair = seen ? sum((b, x) => b === v && x === w) / seen : 0;
      const wanted = trust * pair + (1 - trust) * (sum((_, x) => x === w) / sum(() => true));
      assert.ok(Math.abs(share(w) - wanted) < 1e-12, `${before} ${w}`);
      total += share(w);
    }
    assert.ok(Math.abs(total - 1) < 1e-12);
  }
  assert.ok(Math.abs(caches.weightOf(cache) - (0.3 * 8) / 58) < 1e-12);
});

test("the cache keeps words and nothing else, no more than it may, and comes back from its text", () => {
  for (const token of ["1234", "pin1234", "a@b.org", "http://x.y", "🙂", "", ".", "x".repeat(31)]) assert.ok(!caches.keeps(token), token);
  for (const token of ["see", "don't", "well-known", "été", "שלום", "日本"]) assert.ok(caches.keeps(token), token);
  let cache = caches.makeCache();
  for (let i = 0; i < caches.MOST + 1000; i++) cache = caches.learn(cache, "a", `w${"xyz"[i % 3]}`);
  assert.ok(cache.entries.length <= 1.1 * caches.MOST);
  const again = caches.fromJson(caches.toJson(cache));
  assert.equal(again.entries.length, caches.MOST);
  for (const bad of ["", "{", "[]", '{"format":"tacit personal cache 2","entries":[["a","b"]]}', null, '{"format":"tacit personal cache 1","entries":[["a"],[1,2],["a","b c"]]}']) {
    assert.equal(caches.fromJson(bad).entries.length, 0, String(bad));
  }
});

test("mixed with the cache, the best words are those of brute force over all words", () => {
  const model = open(bytes(vectors.small.file));
  const all = every(model.words);
  let cache = caches.makeCache();
  const typed = [all[900], "grzmblf", all[1200], all[5], "grzmblf", all[1700]].filter((w) => caches.keeps(w));
  for (let r = 0; r < 9; r++) typed.forEach((w, i) => (cache = caches.learn(cache, i ? typed[i - 1] : null, w)));
  const beta = caches.weightOf(cache);
  for (const context of [[], ["see", "you"], [typed[0]], ["the"], ["grzmblf"]]) {
    for (const prefix of ["", "t", "g", typed[0].slice(0, 1)]) {
      const state = remembered(model, context);
      const share = caches.cacheProbability(cache, context.length ? context[context.length - 1] : null);
      const wanted = [...new Set([...all, ...typed])]
        .filter((w) => w.startsWith(prefix))
        .map((w) => {
          const id = idOf(model, w);
          const own = id === UNK || model.hidden[id] ? 0 : Math.exp(reading(model, state, id).logP);
          return (1 - beta) * own + beta * share(w);
        })
        .sort((a, b) => b - a)
        .slice(0, 5);
      const got = predict(model, cache, { context, typed: prefix }, 5).map((g) => g.p);
      assert.equal(got.length, Math.min(5, wanted.length));
      got.forEach((p, i) => assert.ok(Math.abs(p - wanted[i]) < 1e-12, `${context} ${prefix}: ${p} ${wanted[i]}`));
    }
  }
  const blocked = predict(model, cache, { context: [], typed: "g" }, 9, new Set(["grzmblf"]));
  assert.ok(blocked.every((g) => g.word.toLowerCase() !== "grzmblf"));
  for (let i = 0; i < 4; i++) cache = caches.learn(cache, null, i % 2 ? "Straße" : "pizza"); // the model hides pizza
  const offered = (typed, list) => predict(model, cache, { context: [], typed }, 9, list).map((g) => g.word.toLowerCase());
  assert.ok(offered("stra", new Set()).includes("straße"));
  assert.ok(!offered("stra", new Set([fold("STRASSE")])).includes("straße"));
  assert.ok(idOf(model, "pizza") !== UNK && !offered("piz", new Set()).includes("pizza"));
});

test("a word that no model knows is offered when it was typed twice", () => {
  const model = open(bytes(vectors.small.file));
  let cache = caches.learn(caches.makeCache(), null, "grzmblf");
  const offered = () => predict(model, cache, { context: ["the"], typed: "grz" }, 3).map((g) => g.word);
  assert.deepEqual([offered(), caches.isOwn(cache, "grzmblf"), caches.isOwn(null, "grzmblf")], [[], false, false]);
  cache = caches.learn(cache, "the", "Grzmblf");
  assert.deepEqual([offered(), caches.isOwn(cache, "grzmblf")], [["grzmblf"], true]);
});

test("the cache follows the text: learnt when finished, forgotten when changed", () => {
  let state = { line: untold(0, []), cache: caches.makeCache() };
  const step = (context, learning = true, typed = "") =>
    (state = follow(state.line, state.cache, { context, typed }, learning));
  const words = () => state.cache.entries.map((e) => e[1]).join(" ");
  step(["See"]);
  step(["See", "the"]);
  assert.equal(words(), "see the");
  step(["See"]); // backspace took the correction back
  assert.equal(words(), "see");
  step(["See", "teh"]);
  assert.equal(words(), "see teh");
  assert.deepEqual(state.cache.entries, [["<s>", "see"], ["see", "teh"]]);
  step(["See", "teh", "1234"]);
  step(["See", "teh", "1234", "x"], false);
  assert.equal(words(), "see teh");
  step([]);
  assert.equal(words(), "");
  state = { line: untold(0, ["pasted", "text"]), cache: caches.makeCache() };
  step(["pasted", "text", "mine"]);
  assert.equal(words(), "mine");
  state = { line: untold(0, ["pasted"], true), cache: caches.makeCache() }; // a pasted word that has no space yet
  step(["pasted"], true, "secret");
  step(["pasted", "secret"]);
  step(["pasted", "secret", "mine"]);
  assert.equal(words(), "mine");
  step(["", "text", "mine", "too"]); // longer than a message is
  assert.equal(words(), "mine");
  step(["pasted", "secret", "mine", "too"]); // and no longer
  step(["pasted", "secret", "mine", "too", "yes"]);
  assert.equal(words(), "mine yes");
});

test("a word that was not learnt is not kept as the first of a pair either", () => {
  let state = { line: untold(0, ["correct", "swordfish"]), cache: caches.makeCache() }; // pasted
  const step = (context, learning = true) =>
    (state = follow(state.line, state.cache, { context, typed: "" }, learning));
  step(["correct", "swordfish", "mine"]);
  step(["correct", "swordfish", "mine", "too"]);
  assert.deepEqual(state.cache.entries, [["", "mine"], ["mine", "too"]]);
  state = { line: untold(0, []), cache: caches.makeCache() };
  step(["secret"], false); // the switch is off
  step(["secret", "mine"]);
  assert.deepEqual(state.cache.entries, [["", "mine"]]);
});

test("a word that was not learnt is not learnt when it is in progress again, however it is split then", () => {
  let state = { line: untold(0, ["see", "john", "."]), cache: caches.makeCache() };
  const step = (context, typed = "") => (state = follow(state.line, state.cache, { context, typed }, true));
  const words = () => state.cache.entries.map((e) => e[1]).join(" ");
  step(["see"], "john"); // back into it
  step(["see"], "johns");
  step(["see", "johns", "mine"]);
  assert.equal(words(), ""); // the two were finished together
  step(["see", "johns", "mine", "too"]);
  assert.equal(words(), "too");
  step(["see", "johns", "mine"], "too"); // this was learnt: it is again
  step(["see", "johns", "mine", "tool"]);
  assert.equal(words(), "tool");
  step(["see", "johns", "mine", "tool", "("]);
  step(["see", "johns", "mine", "tool"]); // a mark is gone, no word is in progress
  step(["see", "johns", "mine", "tool", "box"]);
  assert.equal(words(), "tool box");
  state = { line: untold(0, ["@"]), cache: caches.makeCache() }; // an address that was pasted, and is none any more
  step(["john", "."], "smith");
  step(["john", ".", "smith"]);
  assert.equal(words(), "");
  state = { line: untold(0, ["see"], true), cache: caches.makeCache() }; // see secret
  step(["see"]); // rubbed out
  step(["see", "mine"]);
  assert.equal(words(), "mine");
});

/** Lessons with a cache of their own, and the words that it has learnt. */
function lessonsOfNobody() {
  let cache = caches.makeCache();
  const own = { all: () => cache, learning: () => true, become: (next) => (cache = next) };
  return { lessons: makeLessons(own), learnt: () => cache.entries.map(([, word]) => word) };
}

test("a line that Enter ended is known as long as backspace can bring it back, and no longer", () => {
  for (const [elsewhere, left] of [[false, ["see"]], [true, ["see", "you"]]]) {
    const { lessons, learnt } = lessonsOfNobody();
    lessons.follow("see you", true);
    lessons.end("see you\n");
    lessons.follow("see you\n", true);
    assert.deepEqual(learnt(), ["see", "you"]); // Enter finishes the last word
    if (elsewhere) lessons.moved({ from: 3, to: 3, was: 8, text: "see you\n" });
    lessons.resume("see you");
    lessons.follow("see yo", true);
    assert.deepEqual(learnt(), left); // what stood there before is not unlearnt
  }
});

test("words that were just typed are unlearnt when they are selected and replaced, not when they are looked at", () => {
  for (const replaced of [true, false]) {
    const { lessons, learnt } = lessonsOfNobody();
    lessons.follow("see you ", true);
    lessons.moved({ from: 4, to: 8, was: 8, text: "see you " });
    lessons.follow("see ", true); // the caret is at the start of what is selected
    assert.deepEqual(learnt(), ["see", "you"]);
    if (replaced) lessons.drop();
    else lessons.letGo();
    lessons.follow("see ", true);
    assert.deepEqual(learnt(), replaced ? ["see"] : ["see", "you"]);
  }
});

test("a pasted word is not learnt when it is finished, and another cache has learnt nothing of the line", () => {
  const { lessons, learnt } = lessonsOfNobody();
  lessons.follow("see ", true);
  lessons.changed("see you");
  lessons.follow("see you", false);
  lessons.inProgressIsForeign("see you");
  lessons.follow("see you ", true);
  assert.deepEqual(learnt(), ["see"]);
  lessons.unknown();
  lessons.follow("", true);
  assert.deepEqual(learnt(), ["see"]); // it is not the line's to take away
});
