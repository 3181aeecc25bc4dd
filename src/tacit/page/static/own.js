// One's own model: the page's network, fine-tuned on one's own lines in this browser, and used only if it is better.
//
// Lines are kept with consent only (sentences.js). Tuning needs scripts and a Worker, and a page that has loaded may ask for
// nothing; so the button loads the page again as `/?own`, which fetches them before requests are forbidden. train/own.js
// tunes and decides, by the gate of paper 3. A model belongs to the file that it was tuned from: a newer file ends it.

import { idOf } from "./compact.js";
import { dense, isDense } from "./language.js";
import { lower } from "./locale.js";
import { paramsOf, withParams } from "./own_network.js";
import { byId, element, say } from "./panel.js";
import { agree, consented, eraseSentences, exportSentences, forgetOwn, keepOwn, keptOwn, mayHold, sentences } from "./sentences.js";
import { tokenize } from "./tokens.js";

const RATE = 1; // L, with which the most people gain (docs/personal.md)
const MARGIN = 0.01; // by which accuracy must be better
const LEAST = 10; // lines (train/own.js)
const WORKER = "own/worker.js";
const [BOS, EOS] = [0, 1];

/** @typedef {import("./load.js").Choice} Choice */
/** @typedef {{worker: Worker, code: ArrayBuffer | null}} Tuner */
/** What is kept. `params`: null if the shared model stays in use. @typedef {{mark: string, made: string,
 * params: Record<string, Float32Array> | null, gate: import("./train/own.js").Effect,
 * last: import("./train/own.js").Effect}} Kept */

/** What tuning needs, if this load is for tuning; to be called before requests are forbidden. @returns {Promise<Tuner | null>} */
export async function tunerOf() {
  if (!new URLSearchParams(location.search).has("own")) return null;
  history.replaceState(null, "", location.pathname); // loading once more does not tune once more
  try {
    const types = /** @type {any} */ (window).trustedTypes;
    const policy = types?.createPolicy("tacit-own", { createScriptURL: () => WORKER });
    const worker = new Worker(policy ? policy.createScriptURL(WORKER) : WORKER, { type: "module" });
    const ready = new Promise((yes, no) => {
      worker.onmessage = yes;
      worker.onerror = () => no(new Error("its script could not be loaded"));
    });
    const kernels = fetch("train/kernels.wasm").then((answer) => (answer.ok ? answer.arrayBuffer() : null), () => null);
    const [code] = await Promise.all([kernels, ready]);
    return { worker, code };
  } catch (error) {
    say("own-result", `No model can be tuned now: ${/** @type {Error} */ (error).message}.`);
    return null;
  }
}

/** Lines as the model reads them. @param {import("./language.js").Dense} model @param {string[]} lines */
function idsOf(model, lines) {
  const words = lines.map((line) => tokenize(model.facts.cased ? line : lower(line)));
  return words.filter((line) => line.length).map((line) => Int32Array.from([BOS, ...line.map((word) => idOf(model, word)), EOS]));
}

/** Shares before and after of an effect, in words. @param {import("./train/own.js").Effect} effect */
function shares({ words, before, won, lost }) {
  const share = (/** @type {number} */ right) => `${((100 * right) / words).toFixed(1)} %`;
  return `${share(before)} → ${share(before + won - lost)}`;
}

/** What tuning has found. @param {Kept} kept */
export function verdict({ params, gate, last }) {
  if (!params) {
    const why = gate.won > gate.lost ? `it is not better by ${100 * MARGIN} % or more` : "it is not better";
    return `Not used, because ${why}: ${shares(gate)} of ${gate.words} words of yours are the first guess.`;
  }
  if (last.won > last.lost) return `Yours is better: ${shares(last)} of your last ${last.words} words are the first guess. It is used from now on.`;
  return `Yours is better on the words that decide: ${shares(gate)} of ${gate.words} are the first guess (your last ${last.words}: ${shares(last)}). It is used from now on.`;
}

/**
 * The section “Your model”. Tunes, if this load is for it.
 * @param {Choice[]} choices
 * @param {Tuner | null} tuner
 * @param {(choices: Choice[]) => void} change called with the models to choose from, one's own first
 */
export async function makeOwn(choices, tuner, change) {
  const shared = choices.find(({ model }) => isDense(model) && !model.mixed && model.network);
  const model = /** @type {import("./language.js").Dense} */ (shared?.model);
  const network = /** @type {import("./network8.js").Network} */ (model?.network);

  const inside = /** @type {HTMLDetailsElement} */ (byId("lines-inside"));

  /** Whatever a button asks for; the browser may keep nothing. @param {() => Promise<any> | void} work */
  const attempt = async (work) => {
    try {
      await work();
      await show();
    } catch (error) {
      say("own-result", /** @type {Error} */ (error).message);
    }
  };

  async function show() {
    const agreed = consented();
    const [every, kept] = mayHold() || keptOwn.likely() ? [await sentences(), await keptOwn()] : [[], null];
    const lines = every.length;
    /** @type {HTMLInputElement} */ (byId("lines")).checked = agreed;
    const few = lines < LEAST ? ` A model needs at least ${LEAST}.` : "";
    say("lines-kept", agreed || lines ? `${lines} ${lines === 1 ? "line" : "lines"}, in this browser only.${few}` : "Nothing is kept.");
    byId("own-make").disabled = !model || lines < LEAST;
    byId("own-make").title = model ? "The page is loaded again, and the message is lost" : "Only a network can be tuned";
    byId("lines-erase").disabled = byId("lines-export").disabled = !lines;
    byId("lines-list").replaceChildren(...(inside.open ? every.toReversed() : []).map((line) => element("li", "", line)));
    byId("own-forget").hidden = !kept;
    if (kept && kept.mark !== network?.mark) say("own-result", "The shared model has changed since yours was tuned, so yours is not used. Tune it again.");
    else if (kept) say("own-result", verdict(kept));
  }

  /** Offer one's own model first, or not at all. @param {Kept | null} kept */
  function offer(kept) {
    const fits = kept?.params && network && kept.mark === network.mark;
    const tuned = fits ? withParams(network, /** @type {any} */ (kept).params) : null;
    const forms = model?.forms ? { forms: model.forms } : {};
    const own = tuned ? [{ id: "own", title: "Yours", about: "tuned on your lines, in this browser", made: kept?.made, model: { ...dense(tuned), ...forms } }] : [];
    change([...own, ...choices]);
  }

  /** @param {Tuner} given */
  async function tune({ worker, code }) {
    const bar = /** @type {HTMLProgressElement} */ (byId("own-progress"));
    bar.hidden = false;
    say("own-result", "Tuning on your lines …");
    const task = {
      model: network.architecture, vocabulary: network.words.count + 3, params: paramsOf(network),
      sentences: idsOf(model, await sentences()), rate: RATE, margin: MARGIN, maxWords: network.longest,
    };
    try {
      const found = await new Promise((yes, no) => {
        worker.onmessage = ({ data }) => {
          if (data.progress) bar.value = data.progress[0] / data.progress[1];
          else if (data.answer) yes(data.answer);
          else no(new Error(data.error.reason === "conditions" ? `No model yet: ${data.error.message}.` : `Tuning failed: ${data.error.message}.`));
        };
        worker.onerror = () => no(new Error("Tuning failed."));
        worker.postMessage({ task, code });
      });
      const { significantlyWorse, ...last } = found.last;
      /** @type {Kept} */
      const kept = { mark: network.mark, made: new Date().toISOString().slice(0, 10), params: found.params, gate: found.gate, last };
      await keepOwn(kept);
      offer(kept);
    } finally {
      worker.terminate();
      bar.hidden = true;
    }
  }

  byId("lines").addEventListener("change", () => attempt(() => agree(/** @type {HTMLInputElement} */ (byId("lines")).checked)));
  inside.addEventListener("toggle", () => attempt(() => {}));
  byId("lines-export").addEventListener("click", () => attempt(exportSentences));
  byId("lines-erase").addEventListener("click", () => attempt(eraseSentences));
  byId("own-make").addEventListener("click", () => location.assign("?own"));
  byId("own-forget").addEventListener("click", () =>
    attempt(async () => {
      await forgetOwn();
      say("own-result", "Your model is forgotten; the shared one is used.");
      offer(null);
    }),
  );
  addEventListener("focus", () => attempt(() => {})); // another tab may have changed something
  if (keptOwn.likely()) await attempt(async () => offer(await keptOwn()));
  if (tuner && network) await attempt(() => tune(tuner));
  else {
    tuner?.worker.terminate();
    await attempt(() => {});
  }
  return { show: () => attempt(() => {}) };
}
