// ε, clipping and sentences as a tab computes them, for test_tab_numbers.py.
import { readFileSync } from "node:fs";

import { changes, clipped } from "../../src/tacit/page/static/part/clip.js";
import { epsilonOf, NOTHING, spend } from "../../src/tacit/page/static/part/epsilon.js";
import { setLocale } from "../../src/tacit/page/static/locale.js";
import { ownText, readWords } from "../../src/tacit/page/static/part/text.js";

const given = JSON.parse(readFileSync(0, "utf8"));
const words = readWords(new TextEncoder().encode(given.words));
const plain = (sentences) => sentences.map((one) => [...one]);
console.log(
  JSON.stringify({
    epsilons: given.rounds.map(([noises, delta]) => epsilonOf(noises.reduce((spent, noise) => spend(spent, { noise, delta, mechanism: "gaussian" }), NOTHING))),
    clipped: given.updates.map(([leaves, clip, weight]) => {
      const { update, norm, finite } = clipped(leaves.map((leaf) => Float32Array.from(leaf, (x) => x ?? NaN)), clip, weight);
      return [update.map((leaf) => [...leaf]), norm, finite];
    }),
    changes: given.changes.map(([kinds, before, after, privacy, weight, finite]) => {
      const arrays = (all) => all.map((leaf) => Float32Array.from(leaf, (x) => x ?? NaN));
      const found = changes(kinds, arrays(before), arrays(after), privacy, weight, finite);
      return Object.fromEntries(Object.entries(found).map(([name, all]) => [name, all.map((leaf) => [...leaf])]));
    }),
    texts: given.texts.map(([messages, settings]) => {
      setLocale(given.locales[settings.locale]);
      const { training, heldOut } = ownText(messages, settings, words);
      return [plain(training), plain(heldOut)];
    }),
  }),
);
