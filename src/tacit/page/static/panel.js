// The side panel: the model's candidates, their context, and the figures. It only draws.

import { BETA, contents, HALF_TRUST, weightOf } from "./cache.js";

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
function element(tag, name, text) {
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
 * @param {(id: string) => void} choose
 */
export function showModels(choices, choose) {
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
}

/**
 * Show the model's candidates and their context.
 * @param {import("./compact.js").Compact} model
 * @param {{context: string[], typed: string}} place
 * @param {import("./predict.js").Guess[]} guesses
 * @param {{word: string, logP: number}[]} near other words that the taps may have meant
 */
export function showThoughts(model, { context, typed }, guesses, near) {
  const reach = model.order - 1;
  const deepest = guesses.reduce((most, g) => Math.max(most, g.depth), 0);
  const recent = context.filter((w) => w !== "").slice(-Math.max(reach + 2, 4));
  const chips = recent.map((word, i) => element("span", recent.length - i <= deepest ? "used" : "", word));
  if (context.length < reach + 1) {
    chips.unshift(element("span", deepest > context.length ? "used" : "", "start"));
  }
  if (typed) chips.push(element("span", "typed", `${typed}…`));
  byId("context").replaceChildren(...chips);

  const lines = guesses.map(({ word, p, depth, cached }) => {
    const gram = depth < 0 ? "" : `${depth + 1}-gram`;
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
  say("depth", guesses.length ? contextUsed(guesses[0].depth, most) : "No word of this model starts like this.");
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

/** Fill the list of kept words; only when it is open. @param {import("./cache.js").Cache} cache */
export function showContents(cache) {
  const { words: single, pairs } = contents(cache);
  const line = ([text, count] = /** @type {[string, number]} */ (["", 0])) => {
    const row = element("p", "", text.replace(/^<s> /, "start · "));
    row.append(element("b", "", String(count)));
    return row;
  };
  const rows = (/** @type {[string, number][]} */ all, /** @type {string} */ what) => {
    const more = all.length - ROWS;
    const rest = more > 0 ? [element("p", "soft", `… and ${counted.format(more)} more ${what}; Export has all`)] : [];
    return [...all.slice(0, ROWS).map(line), ...rest];
  };
  byId("contents").replaceChildren(...rows(single, "words"), ...rows(pairs, "pairs"));
}
