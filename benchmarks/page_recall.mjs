// The share of words that stand in the bar of the page before they are typed, with the page's own scripts in node.
//
// Reads JSON from standard input: models by name, capitals, and messages as words; prints the shares. A word counts in
// any capitals; a word that no model knows counts as missed.
import { readFileSync } from "node:fs";

import { idOf, open, UNK } from "../src/tacit/page/static/compact.js";
import { expectedEmoji, withExpected } from "../src/tacit/page/static/emoji.js";
import { dense } from "../src/tacit/page/static/language.js";
import { isNetwork, openNetwork } from "../src/tacit/page/static/network8.js";
import { predict } from "../src/tacit/page/static/predict.js";

const { models, capitals, messages } = JSON.parse(readFileSync(0, "utf8"));
const shares = {};
for (const [name, path] of Object.entries(models)) {
  const data = readFileSync(path);
  const buffer = data.buffer.slice(data.byteOffset, data.byteOffset + data.length);
  const model = isNetwork(buffer) ? dense(await openNetwork(buffer)) : open(buffer);
  model.forms = new Map(Object.entries(capitals).map(([text, form]) => [idOf(model, text), form]));
  model.forms.delete(UNK);
  let [words, found] = [0, 0];
  for (const message of messages) {
    message.forEach((word, i) => {
      const context = message.slice(0, i);
      const guesses = predict(model, null, { context, typed: "" }, 6).map((guess) => guess.word);
      const bar = withExpected(guesses, expectedEmoji(model, context)).slice(0, 3);
      words++;
      found += bar.some((offer) => offer.toLowerCase() === word);
    });
  }
  shares[name] = { words, top3: found / words };
}
console.log(JSON.stringify(shares));
