// Fetches everything that the page needs; then forbids every further request.
//
// `models.json` lists the models of the server. Every model is fetched and checked before the first key can be pressed. A
// model that is missing, newer or damaged is left out and reported; the others work.

import { block, fold, open } from "./compact.js";
import { PLAIN } from "./locale.js";

/**
 * A model that can be switched to.
 * @typedef {{id: string, title: string, about: string, model: import("./compact.js").Compact}} Choice
 */
/**
 * @typedef {{choices: Choice[], problems: string[], blocked: Set<string>, layout: any, parameters: any,
 *   locale: import("./locale.js").Locale}} Loaded
 */

/**
 * Fetch everything. Never fails, but may report problems and return no model.
 * @returns {Promise<Loaded>}
 */
export async function load() {
  /** @type {string[]} */
  const problems = [];
  let manifest;
  try {
    manifest = JSON.parse(new TextDecoder().decode(await bytes("models.json")));
  } catch (error) {
    problems.push(`The list of models cannot be read (${reason(error)}). Start \`tacit serve\` again and reload.`);
    return { choices: [], problems, blocked: new Set(), layout: null, parameters: null, locale: PLAIN };
  }
  problems.push(...(manifest.problems ?? []));
  const blocked = new Set(/** @type {string[]} */ (manifest.blocked ?? []).map(fold));
  const opened = await Promise.all(
    (manifest.models ?? []).map(async (/** @type {any} */ entry) => {
      try {
        const model = open(await bytes(entry.file));
        block(model, blocked);
        return { id: entry.id, title: entry.title, about: entry.about, model };
      } catch (error) {
        problems.push(`The model “${entry.title}” cannot be used: ${reason(error)}.`);
        return null;
      }
    }),
  );
  const choices = opened.filter((choice) => choice !== null);
  if (!choices.length) problems.push("No model could be loaded, so no words are suggested; the keys still work.");
  return { choices, problems, blocked, layout: manifest.layout, parameters: manifest.parameters, locale: manifest.locale };
}

/** @param {string} name @returns {Promise<ArrayBuffer>} */
async function bytes(name) {
  const answer = await fetch(name, { cache: "no-store" });
  if (!answer.ok) throw new Error(`the server answered ${answer.status}`);
  return answer.arrayBuffer();
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
 * for this page, from any host, including its own server.
 */
export function shutTheDoor() {
  const policy = document.createElement("meta");
  policy.httpEquiv = "Content-Security-Policy";
  policy.content = "default-src 'none'; form-action 'none'";
  document.head.append(policy);
}
