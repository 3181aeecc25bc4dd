// For each locale, JavaScript and Python give the same answers (tests/page/locale_vectors.py).
import assert from "node:assert/strict";
import { test } from "node:test";

import { withEmoji } from "../../../src/tacit/page/static/bar.js";
import { startsSentence, written } from "../../../src/tacit/page/static/capitals.js";
import { glided, pick } from "../../../src/tacit/page/static/edit.js";
import { layersOf } from "../../../src/tacit/page/static/keys.js";
import { layoutOf, spell } from "../../../src/tacit/page/static/lexicon.js";
import { capitalise, emojiOf, keyCapital, lower, PLAIN, setLocale, upper } from "../../../src/tacit/page/static/locale.js";
import { placeOf, tokenize } from "../../../src/tacit/page/static/tokens.js";
import { vectors } from "./vectors.mjs";

for (const [code, asked] of Object.entries(vectors)) {
  const use = () => setLocale(asked.locale);

  test(`${code}: the same tokens`, () => {
    use();
    for (const [text, tokens] of asked.tokens) assert.deepEqual(tokenize(text), tokens, text);
  });

  test(`${code}: the same capitals`, () => {
    use();
    for (const [form, small, large, capital] of asked.case) {
      assert.deepEqual([lower(form), upper(form), capitalise(form)], [small, large, capital]);
    }
    for (const [word, cased, start, typed, form] of asked.written) {
      assert.equal(written(word, cased, start, typed), form, `${word} | ${typed}`);
    }
    for (const [context, start] of asked.starts) assert.equal(startsSentence(context), start, context.join(" "));
  });

  test(`${code}: the same keys for words`, () => {
    use();
    const layout = layoutOf(asked.layout);
    let some = 0;
    for (const [form, keys] of asked.spelt) {
      assert.equal(spell(form, layout), keys, form);
      some += keys !== "";
    }
    assert.ok(some > 10 || code === "zh");
  });

  test(`${code}: keys lie where the decoders have them, every row as wide as the others`, () => {
    use();
    const { wide, letters, marks } = layersOf(asked.locale);
    assert.equal(wide, 2 * asked.layout.width);
    assert.deepEqual([letters.length, marks.length], [asked.layout.height / 1.5, letters.length]);
    const places = new Map();
    letters.forEach((row, i) => {
      let at = 0;
      for (const key of row) {
        at = key.start ? key.start - 1 : at;
        places.set(key.value, [(at + key.width / 2) / 2, 1.5 * i + 0.75]);
        at += key.width;
      }
      assert.ok(at <= wide && (i < letters.length - 2 || at === wide), `row ${i}`);
    });
    for (const { letter, x, y } of asked.layout.keys) assert.deepEqual(places.get(letter), [x, y], letter);
  });
}

test("a page without a server has the English keys", () => {
  const { rows, comma, stop, always } = vectors.en.locale;
  assert.deepEqual({ rows, comma, stop, always }, { rows: PLAIN.rows, comma: PLAIN.comma, stop: PLAIN.stop, always: PLAIN.always });
});

test("an elided word is before the word in progress, and takes no space after it", () => {
  setLocale(vectors.fr.locale);
  assert.deepEqual(placeOf("il voit l'"), { context: ["il", "voit", "l'"], typed: "" });
  assert.deepEqual(placeOf("il voit L’ea"), { context: ["il", "voit", "L'"], typed: "ea" });
  assert.deepEqual(placeOf("aujourd'h"), { context: [], typed: "aujourd'h" });
  assert.equal(pick("il voit ", "l", "l'").change.insert, "l'");
  assert.equal(pick("il voit l'", "", "eau").change.insert, "eau ");
  assert.equal(glided("il voit l'", "eau").change.insert, "eau ");
  setLocale(vectors.en.locale);
  assert.deepEqual(placeOf("see l'ea"), { context: ["see"], typed: "l'ea" });
  assert.equal(pick("see l'", "", "eau").change.insert, " eau ");
});

test("a script without spaces: the last word is in progress, until it was chosen", () => {
  setLocale(vectors.zh.locale);
  assert.deepEqual(placeOf("今天天气"), { context: ["今天"], typed: "天气" });
  assert.deepEqual(placeOf("今天天气", true), { context: ["今天", "天气"], typed: "" });
  assert.equal(pick("今天", "", "很").change.insert, "很");
  setLocale(vectors.en.locale);
  assert.deepEqual(placeOf("see you", true), { context: ["see"], typed: "you" });
});

test("capitals of keys, and emoji", () => {
  setLocale(vectors.de.locale);
  assert.deepEqual(["ß", "ä", "'"].map(keyCapital), ["ẞ", "Ä", "'"]);
  assert.deepEqual([emojiOf("Danke"), emojiOf("toString"), emojiOf("")], ["🙏", "", ""]);
  setLocale(vectors.tr.locale);
  assert.deepEqual(["i", "ı"].map(keyCapital), ["İ", "I"]);
  const plain = (word) => ({ word, label: word, chosen: false });
  assert.deepEqual(withEmoji(["a", "b", "c"].map(plain), "ev", "🏠", true).map((o) => [o.word, o.label]), [["a", "a"], ["b", "b"], ["ev 🏠", "🏠"]]);
  assert.equal(withEmoji([], "家", "🏠", false)[0].word, "家🏠");
});
