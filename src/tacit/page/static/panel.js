// The side panel: the model's candidates, their context, and the figures. It only draws.

import { BETA, contents, HALF_TRUST, weightOf } from "./cache.js";
import { isDense } from "./language.js";

const CHIPS = 8; // words of context that are shown for a network
const counted = new Intl.NumberFormat("en");

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`the page has no element "${id}"`);
  return node;
}

/** Change a text if it differs, so that an unchanged one is not laid out again. @param {string} id @param {string} text */
export function say(id, text) {
  const target = byId(id);
  if (target.textContent !== text) target.textContent = text;
}

/** An element with a class and a text. @param {string} tag @param {string} name @param {string} text */
export function element(tag, name, text) {
  const node = document.createElement(tag);
  if (name) node.className = name;
  node.textContent = text;
  return node;
}

/** A number of bytes in readable form. @param {number} bytes */
export function size(bytes) {
  return bytes < 1e6 ? `${Math.round(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

/** A share in readable form. @param {number} p */
export function percent(p) {
  if (p >= 0.1) return `${(100 * p).toFixed(1)} %`;
  return p >= 0.0001 ? `${(100 * p).toFixed(2)} %` : "< 0.01 %";
}

/**
 * The models to choose from.
 * @param {import("./load.js").Choice[]} choices
 * @param {number} others models that were not loaded
 * @param {(id: string) => void} choose
 */
export function showModels(choices, others, choose) {
  const rows = choices.map((choice, i) => {
    const row = element("label", "model", "");
    const input = document.createElement("input");
    input.type = "radio";
    input.name = "model";
    input.value = choice.id;
    input.checked = i === 0;
    input.addEventListener("change", () => choose(choice.id));
    row.append(input, element("span", "title", choice.title), element("span", "size", size(choice.model.bytes)));
    row.append(element("span", "about", choice.about));
    return row;
  });
  const field = byId("models");
  const legend = field.querySelector("legend");
  field.replaceChildren(...(legend ? [legend] : []), ...rows);
  if (!rows.length) field.append(element("p", "soft", "none"));
  const link = byId("compare");
  link.textContent = others === 1 ? "Load one more to compare with" : `Load ${others} more to compare with`;
  byId("others").hidden = !others;
}

/**
 * Show the model's candidates and their context.
 * @param {import("./language.js").Model} model
 * @param {{context: string[], typed: string}} place
 * @param {import("./predict.js").Guess[]} guesses
 * @param {{word: string, logP: number}[]} near other words that the taps may have meant
 */
export function showThoughts(model, { context, typed }, guesses, near) {
  const reach = isDense(model) ? model.longest : model.order - 1;
  const deepest = guesses.reduce((most, g) => Math.max(most, g.depth), 0);
  const shown = isDense(model) ? CHIPS : Math.max(reach + 2, 4);
  const recent = context.filter((w) => w !== "").slice(-shown);
  const chips = recent.map((word, i) => element("span", recent.length - i <= deepest ? "used" : "", word));
  if (context.length <= Math.min(reach, shown)) {
    chips.unshift(element("span", isDense(model) || deepest > context.length ? "used" : "", "start"));
  } else if (isDense(model)) {
    chips.unshift(element("span", "used", "…"));
  }
  if (typed) chips.push(element("span", "typed", `${typed}…`));
  byId("context").replaceChildren(...chips);

  const lines = guesses.map(({ word, p, depth, cached }) => {
    const gram = depth < 0 || isDense(model) ? "" : `${depth + 1}-gram`;
    return { word, p, from: cached ? ["yours", gram].filter(Boolean).join(" + ") : gram };
  });
  lines.push(...near.map(({ word, logP }) => ({ word, p: Math.exp(logP), from: "near the keys" })));
  const top = Math.max(...lines.map(({ p }) => p), 1e-12);
  const rows = lines.map(({ word, p, from }) => {
    const row = document.createElement("li");
    const fill = document.createElement("i");
    fill.style.width = `${((100 * p) / top).toFixed(1)}%`;
    row.append(fill, element("span", "", word), element("span", "from", from), element("span", "p", percent(p)));
    return row;
  });
  byId("thoughts").replaceChildren(...rows);
  const most = Math.min(reach, context.length + 1); // the start of a message counts as a word
  const used = isDense(model) ? contextRead(context.length, reach) : contextUsed(guesses[0]?.depth ?? 0, most);
  say("depth", guesses.length ? used : "No word of this model starts like this.");
}

/** How much context a network reads, as a sentence. @param {number} words @param {number} most */
function contextRead(words, most) {
  if (words > most) return `The network reads the last ${most} words.`;
  return words ? "The network reads the whole message." : "The network expects the first word of a message.";
}

/**
 * How much context the first guess uses, as a sentence.
 * @param {number} depth
 * @param {number} most words of context that the model could use here
 */
function contextUsed(depth, most) {
  if (depth < 0) return "The first comes from your words alone.";
  if (most === 0) return "This model has single words only and uses no context.";
  const steps = most - depth;
  const backoff = steps > 0 ? `${steps} ${steps === 1 ? "step" : "steps"} of backoff` : "no backoff";
  return `The first uses ${depth} of ${most} possible ${most === 1 ? "word" : "words"} of context: ${backoff}.`;
}

/**
 * Describe the personal cache.
 * @param {import("./cache.js").Cache} cache
 * @param {boolean} kept whether the browser could store it
 */
export function showMemory(cache, kept) {
  const n = cache.entries.length;
  const weight = percent(weightOf(cache));
  const summary = n
    ? `${counted.format(n)} words, mixed with the model at weight ${weight} (half of its maximum, ${percent(BETA)}, at ` +
      `${HALF_TRUST} words). They stay in this browser${kept ? "" : ", and only until the page is closed, because it does not allow storage"}.`
    : "Nothing yet. Words and pairs of words that you type are kept in this browser, and make what you often write more likely.";
  say("memory", summary);
}

const ROWS = 200; // of words, and of pairs: the list is redrawn with every word

/**
 * Fill the list of kept words; only when it is open. Each word has a button that forgets it.
 * @param {import("./cache.js").Cache} cache
 * @param {(word: string) => void} forget
 */
export function showContents(cache, forget) {
  const { words: single, pairs } = contents(cache);
  const line = ([text, count] = /** @type {[string, number]} */ (["", 0])) => {
    const row = element("p", "", text.replace(/^<s> /, "start · "));
    row.append(element("b", "", String(count)));
    return row;
  };
  const word = ([text, count] = /** @type {[string, number]} */ (["", 0])) => {
    const row = line([text, count]);
    const button = /** @type {HTMLButtonElement} */ (element("button", "forget", ""));
    button.type = "button";
    button.setAttribute("aria-label", `Forget ${text}`);
    button.addEventListener("click", () => forget(text));
    row.append(button);
    return row;
  };
  const rows = (/** @type {[string, number][]} */ all, /** @type {string} */ what, /** @type {typeof line} */ row) => {
    const more = all.length - ROWS;
    const rest = more > 0 ? [element("p", "soft", `… and ${counted.format(more)} more ${what}; Export has all`)] : [];
    return [...all.slice(0, ROWS).map(row), ...rest];
  };
  byId("contents").replaceChildren(...rows(single, "words", word), ...rows(pairs, "pairs", line));
}
