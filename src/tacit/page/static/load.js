// Fetches everything that the page needs; then forbids every further request.
//
// `models.json` lists the models of the server. Every model that is shown is fetched and checked before the first key can
// be pressed; those to compare with, only if the address ends in `?compare`. A model that is missing, newer or damaged is
// left out and reported; the others work.

import { block, fold, idOf, open, UNK } from "./compact.js";
import { EMPTY, openDictionary } from "./dictionary.js";
import { dense, isDense, mixture } from "./language.js";
import { PLAIN } from "./locale.js";
import { isNetwork, openNetwork } from "./network8.js";

/**
 * A model that can be switched to. `made`: the day on which it was trained, as YYYY-MM-DD.
 * @typedef {{id: string, title: string, about: string, made?: string, model: import("./language.js").Model}} Choice
 */
/**
 * `others`: models that were not loaded. `stored`: when the copy that this browser keeps was fetched, if the server did
 * not answer. `buffers`: what was fetched, by name.
 * @typedef {{choices: Choice[], problems: string[], blocked: Set<string>, layout: any, parameters: any,
 *   locale: import("./locale.js").Locale, dictionary: import("./dictionary.js").Dictionary, others: number,
 *   stored: Date | null, buffers: Map<string, ArrayBuffer>}} Loaded
 */

/** What a page without anything has. @type {Loaded} */
export const NOTHING = {
  choices: [], problems: [], blocked: new Set(), layout: null, parameters: null, locale: PLAIN, dictionary: EMPTY, others: 0,
  stored: null, buffers: new Map(),
};

/**
 * Fetch everything. Never fails, but may report problems and return no model.
 * @param {(page: {worker: string, files: string[]}) => void} [fresh] called if the server has answered, with the names of
 *   the page's own files
 * @returns {Promise<Loaded>}
 */
export async function load(fresh = () => {}) {
  /** @type {string[]} */
  const problems = [];
  let manifest;
  /** @type {Date | null} */
  let stored = null;
  /** @type {Map<string, ArrayBuffer>} */
  const buffers = new Map();
  try {
    const answer = await asked("models.json");
    if (answer.headers.get("x-tacit-stored")) stored = new Date(answer.headers.get("date") ?? 0);
    buffers.set("models.json", await answer.arrayBuffer());
    manifest = JSON.parse(new TextDecoder().decode(buffers.get("models.json")));
  } catch (error) {
    problems.push(`The list of models cannot be read (${reason(error)}). Start \`tacit serve\` again and reload.`);
    return { ...NOTHING, problems };
  }
  if (!stored && manifest.worker) fresh(manifest);
  problems.push(...(manifest.problems ?? []));
  const blocked = new Set(/** @type {string[]} */ (manifest.blocked ?? []).map(fold));
  const all = new URLSearchParams(location.search).has("compare");
  const listed = (manifest.models ?? []).filter((/** @type {any} */ entry) => all || !entry.compare);
  const words = dictionaryOf(manifest.dictionary, buffers, problems);
  const opened = await Promise.all(
    listed.map(async (/** @type {any} */ entry) => {
      try {
        if (entry.mix) return { ...entry, model: null };
        buffers.set(entry.file, await (await asked(entry.file)).arrayBuffer());
        const model = await opening(/** @type {ArrayBuffer} */ (buffers.get(entry.file)));
        block(model, blocked);
        if (!model.facts.cased) model.forms = formsOf(model, manifest.capitals ?? {});
        return { ...entry, model };
      } catch (error) {
        problems.push(`The model “${entry.title}” cannot be used: ${reason(error)}.`);
        return null;
      }
    }),
  );
  const choices = withMixtures(opened.filter((choice) => choice !== null));
  if (!choices.length) problems.push("No model could be loaded, so no words are suggested; the keys still work.");
  const { layout, parameters, locale } = manifest;
  const others = (manifest.models ?? []).length - listed.length;
  return { choices, problems, blocked, layout, parameters, locale, dictionary: await words, others, stored, buffers };
}

/**
 * The dictionary of the page's language; an empty one if there is none.
 * @param {string | undefined} name
 * @param {Map<string, ArrayBuffer>} buffers
 * @param {string[]} problems
 */
async function dictionaryOf(name, buffers, problems) {
  if (!name) return EMPTY;
  try {
    const buffer = await (await asked(name)).arrayBuffer();
    buffers.set(name, buffer);
    return openDictionary(buffer);
  } catch (error) {
    problems.push(`The dictionary cannot be used, so more rare words are corrected: ${reason(error)}.`);
    return EMPTY;
  }
}

/** A model of either kind. @param {ArrayBuffer} buffer @returns {Promise<import("./language.js").Model>} */
async function opening(buffer) {
  return isNetwork(buffer) ? dense(await openNetwork(buffer)) : open(buffer);
}

/**
 * The ids of words that are written with a capital, as names are.
 * @param {import("./language.js").Model} model
 * @param {Record<string, string>} capitals
 */
function formsOf(model, capitals) {
  const found = Object.entries(capitals).map(([text, form]) => /** @type {const} */ ([idOf(model, text), form]));
  return new Map(found.filter(([id]) => id !== UNK));
}

/** Makes the mixtures of opened models; one whose parts are missing is left out. @param {any[]} opened @returns {Choice[]} */
function withMixtures(opened) {
  const modelOf = (/** @type {string} */ id) => opened.find((choice) => choice.id === id)?.model;
  return opened.flatMap((choice) => {
    if (!choice.mix) return [choice];
    const [network, ngrams] = [modelOf(choice.mix.network), modelOf(choice.mix.ngrams)];
    const made = network && ngrams && isDense(network) && !isDense(ngrams) && mixture(network, ngrams, choice.mix.weight);
    return made ? [{ ...choice, model: made }] : [];
  });
}

/** @param {string} name @returns {Promise<Response>} */
async function asked(name) {
  const answer = await fetch(name, { cache: "no-store" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer;
}

/** @param {unknown} error */
function reason(error) {
  return error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
}

/**
 * Count requests from now on; calls `tell` at once and after each request.
 * @param {(count: number) => void} tell
 */
export function countRequests(tell) {
  const since = performance.now();
  let count = 0;
  tell(count);
  new PerformanceObserver((seen) => {
    count += seen.getEntries().filter((entry) => entry.startTime > since).length;
    tell(count);
  }).observe({ type: "resource" });
}

/**
 * Forbid every further request. An added policy cannot be removed: from here on the browser refuses to fetch anything
 * for this page, from any host, including its own server. The manifest of the installed app is no request: it lies in the
 * page (install.js).
 */
export function shutTheDoor() {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; manifest-src data:; form-action 'none'; trusted-types 'none'";
  document.head.append(policy);
}
