// The page: it holds what is typed and with which model, and passes keys to the text and the text to the model.
//
// Nothing is fetched after `load`: then the page adds a policy to itself that forbids every request (load.js).

import { choices, offers, showOffers } from "./bar.js";
import { isOwn } from "./cache.js";
import { startsSentence } from "./capitals.js";
import { fold } from "./compact.js";
import { correct, glide, makeDecoder } from "./decode.js";
import { backspace, endWord, glided, pick, put, savings } from "./edit.js";
import { listen, LONGEST } from "./hardware.js";
import { makeKeyboard } from "./keyboard.js";
import { layoutOf, spell } from "./lexicon.js";
import { load, shutTheDoor } from "./load.js";
import { follow, untold } from "./memory.js";
import { makeOwn } from "./own.js";
import { byId, say, showModels, showThoughts, size } from "./panel.js";
import { chances, predict } from "./predict.js";
import { themeSwitch } from "./theme.js";
import { placeOf } from "./tokens.js";
import { makeTrail } from "./trail.js";

const THOUGHTS = 6; // candidates in the side panel
const ENDS = /^[\s.,!?;:…)\]}”"]$/; // characters that end a word and so correct it

const message = /** @type {HTMLTextAreaElement} */ (byId("message"));
const buttons = /** @type {HTMLButtonElement[]} */ ([...byId("bar").querySelectorAll("button")]);
const own = makeOwn(() => {
  line = untold(line.start, line.words.map((word) => word.token));
  refresh(null);
});

/** @type {import("./load.js").Loaded} */
let loaded = { choices: [], problems: [], blocked: new Set(), layout: null, parameters: null };
/** @type {import("./lexicon.js").Layout | null} */
let layout = null;
/** @type {import("./load.js").Choice | null} */
let choice = null;
/** Decoders by model, made once each. @type {Map<string, import("./decode.js").Decoder>} */
const decoders = new Map();

/** @type {import("./edit.js").Last} */
let last = null;
/** Where the taps of the word being typed fell. @type {[number, number][]} */
let taps = [];
/** @type {"off" | "once" | "locked"} */
let shift = "off";
let byHand = false; // somebody pressed shift; otherwise it is on because a sentence starts
/** What space would write instead of the word being typed. @type {string | null} */
let correction = null;
/** The words of the bar. @type {import("./bar.js").Offer[]} */
let shown = [];
/** What a glide may have meant, until the next key. @type {string[]} */
let drawn = [];
const kept = new Set(); // words that were corrected wrongly, in lower case
let line = untold(0, []);
let keys = 0;
let pasted = 0; // characters that no key has typed
let caret = 0; // where our own last edit left it

/** Say what is wrong, once; the page goes on. @param {string} text */
function alert(text) {
  if ([...byId("alerts").children].some((said) => said.textContent === text)) return;
  const said = document.createElement("p");
  said.textContent = text;
  byId("alerts").append(said);
}

const before = () => message.value.slice(0, message.selectionStart);

/** Carry out a change at the caret. @param {import("./edit.js").Change} change */
function apply({ remove, insert }) {
  const { selectionStart, selectionEnd } = message;
  message.setRangeText(insert, selectionStart - remove, selectionEnd, "end");
  caret = message.selectionStart;
  if (message.textLength === caret) requestAnimationFrame(() => (message.scrollTop = message.scrollHeight));
}

/** A character of a word. @param {string} character @param {[number, number] | null} at where the tap fell */
function letter(character, at) {
  const { typed } = placeOf(before());
  if (!typed) taps = [];
  const raised = shift === "off" ? character : character.toUpperCase();
  apply(put(before(), raised, last));
  const middle = middleOf(character);
  if (taps.length === typed.length && (at ?? middle)) taps.push(at ?? /** @type {[number, number]} */ (middle));
  last = null;
}

/** The middle of a letter's key, if it has one. @param {string} character @returns {[number, number] | null} */
function middleOf(character) {
  const i = layout?.letters.indexOf(spell(character, layout.letters)) ?? -1;
  return layout && i >= 0 ? [layout.x[i], layout.y[i]] : null;
}

/** A character that ends a word, or stands alone. @param {string} character */
function finish(character) {
  const { typed } = placeOf(before());
  if (typed && ENDS.test(character)) {
    const made = endWord(typed, character, correction);
    apply(made.change);
    last = made.last;
    if (last?.kind === "corrected") {
      byId("said").textContent = `${last.typed} became ${correction}; backspace brings it back`;
    }
  } else {
    apply(put(before(), character, last));
    last = null;
  }
  taps = [];
}

function newLine() {
  finish("\n");
  const end = before().length - 1;
  const { context } = placeOf(`${message.value.slice(0, end)} `); // the line that was finished
  own.become(follow(line, own.all(), context, own.learning()).cache);
  line = untold(end + 1, []);
}

function rubOut() {
  if (message.selectionStart !== message.selectionEnd) {
    apply({ remove: 0, insert: "" });
    last = null;
  } else {
    const made = backspace(before(), last);
    if (made.last?.kind === "kept") kept.add(made.last.word.toLowerCase());
    apply(made.change);
    last = made.last;
  }
  taps = taps.slice(0, placeOf(before()).typed.length);
}

/**
 * What the taps of a word probably meant; null where nothing is to be corrected.
 * @param {{context: string[], typed: string}} place
 */
function meantBy({ context, typed }) {
  const decoder = choice && decoderOf(choice);
  const lower = typed.toLowerCase();
  const meantSo = kept.has(lower) || loaded.blocked.has(fold(typed)) || isOwn(own.used(), lower);
  const inside = /^[\p{L}\p{N}]/u.test(message.value.slice(message.selectionEnd, message.selectionEnd + 2));
  if (!decoder || !layout || meantSo || inside) return null;
  const spelling = spell(typed, layout.letters);
  if (!spelling || [...spelling].length !== [...typed].length) return null;
  const points = taps.length === typed.length ? taps : [...spelling].map((c) => middleOf(c) ?? [0, 0]);
  const chance = chances(decoder.model, own.used(), context);
  const { best, words } = correct(decoder, chance, context, /** @type {[number, number][]} */ (points), typed);
  const onlyCase = typed !== lower && best.toLowerCase() === lower; // capitals that were typed are meant
  return { best: onlyCase ? typed : best, words };
}

/** @param {import("./load.js").Choice} wanted */
function decoderOf(wanted) {
  let found = decoders.get(wanted.id);
  if (!found && layout) {
    found = makeDecoder(wanted.model, layout, loaded.parameters);
    decoders.set(wanted.id, found);
  }
  return found;
}

/** After every change: learn, ask the model, draw. @param {Event | null} event the key, for the clock */
function refresh(event) {
  const text = before();
  const place = placeOf(text);
  const start = text.lastIndexOf("\n") + 1;
  if (start !== line.start) line = untold(start, place.context); // the caret is in another line
  const now = follow(line, own.all(), place.context, own.learning());
  line = now.line;
  own.become(now.cache);
  if (shift !== "locked") {
    shift = !place.typed && /(?:^|\s)$/.test(text) && startsSentence(place.context) ? "once" : "off";
    byHand = false;
  }
  keyboard.shift(shift, byHand);
  suggest(place);
  byId("latency").textContent = event ? `${Math.max(0, performance.now() - event.timeStamp).toFixed(1)} ms` : "–";
  figures();
}

/** @param {{context: string[], typed: string}} place */
function suggest(place) {
  const model = choice?.model;
  if (!model) return showOffers(buttons, (shown = []));
  const guesses = predict(model, own.used(), { ...place, shift: shift !== "off" }, THOUGHTS, loaded.blocked);
  const meant = place.typed ? meantBy(place) : null;
  correction = meant && meant.best !== place.typed ? meant.best : null;
  const locked = (/** @type {string} */ word) => (shift === "locked" ? word.toUpperCase() : word);
  const words = guesses.map((guess) => locked(guess.word));
  const near = (meant?.words ?? []).filter(({ word }) => !words.includes(word));
  const also = meant && { best: meant.best, words: near.map(({ word }) => word) };
  shown = last?.kind === "glided" && drawn.length ? choices(drawn) : offers(place.typed, words, also);
  showOffers(buttons, shown);
  showThoughts(model, place, guesses, near.slice(0, THOUGHTS - guesses.length));
}

function figures() {
  const saved = savings(keys, message.value.length - pasted);
  say("saved", saved === null ? "–" : `${Math.round(100 * saved)} %`);
  own.show();
}

/** A key of the page. @param {import("./keys.js").Key} key @param {[number, number]} at @param {Event} event */
function press(key, at, event) {
  if (key.kind === "layer") return keyboard.show(key.value === "123" ? "123" : "abc");
  keys++;
  if (key.kind === "shift") {
    shift = shift === "off" ? "once" : shift === "once" && byHand ? "locked" : "off";
    byHand = shift !== "off";
    keyboard.shift(shift, byHand);
    suggest(placeOf(before()));
    return figures();
  }
  if (key.kind === "letter") letter(key.value, at);
  else if (key.kind === "back") rubOut();
  else if (key.kind === "enter") newLine();
  else if (key.value === "'") letter("'", at);
  else finish(key.shifted && byHand ? key.shifted : key.value);
  refresh(event);
}

/** @param {[number, number][]} trail @param {Event} event */
function swipe(trail, event) {
  const decoder = choice && decoderOf(choice);
  if (!decoder) return;
  keys++;
  const text = before();
  const { context, typed } = placeOf(text);
  const all = typed ? [...context, typed] : context;
  const found = glide(decoder, chances(decoder.model, own.used(), all), all, trail, shift !== "off");
  if (!found.length) {
    byId("said").textContent = "no word of this model fits that trail";
    return;
  }
  drawn = found.map(({ word }) => (shift === "locked" ? word.toUpperCase() : word));
  const made = glided(text, drawn[0]);
  apply(made.change);
  last = made.last;
  taps = [];
  byId("said").textContent = drawn[0];
  refresh(event);
}

/** A place of the bar was pressed. @param {number} i @param {Event} event */
function choose(i, event) {
  const offer = shown[i];
  if (!offer) return;
  keys++;
  const { typed } = placeOf(before());
  if (last?.kind === "glided") {
    const made = glided(before(), offer.word, last);
    drawn = [offer.word, ...drawn.filter((word) => word !== offer.word)];
    apply(made.change);
    last = made.last;
  } else {
    if (offer.word === typed) kept.add(typed.toLowerCase());
    const made = pick(typed, offer.word);
    apply(made.change);
    last = made.last;
  }
  taps = [];
  refresh(event);
}

/** Text that did not come from our keys: a paste, an input method, a dictation. @param {number} more characters */
function foreign(more) {
  if (more <= 0) keys++; // something was deleted; what no key has typed is counted neither as keys nor as characters
  last = null;
  taps = [];
  pasted = Math.max(0, Math.min(pasted + more, message.value.length));
  const text = before();
  line = untold(text.lastIndexOf("\n") + 1, placeOf(text).context);
  caret = message.selectionStart;
  refresh(null);
}

const keyboard = makeKeyboard(byId("board"), byId("keys"), {
  press,
  glide: swipe,
  trail: makeTrail(/** @type {HTMLCanvasElement} */ (byId("trail"))),
});

listen(message, {
  letter: (character, event) => typed(character, () => letter(character, null), event),
  finish: (character, event) => typed(character, () => finish(character), event),
  enter: (event) => typed("\n", newLine, event),
  back: (event) => typed("back", rubOut, event),
  foreign,
  tooLong: () => alert(`A message holds ${LONGEST.toLocaleString("en")} characters: what came after them was cut off.`),
  moved() {
    if (message.selectionStart === caret) return; // it is where our own edit left it
    caret = message.selectionStart;
    [last, taps] = [null, []];
    refresh(null);
  },
  choose,
});

/** A key of a real keyboard. @param {string} key @param {() => void} does @param {Event} event */
function typed(key, does, event) {
  keys++;
  keyboard.flash(key);
  does();
  refresh(event);
}

buttons.forEach((button, i) => {
  button.addEventListener("pointerdown", (event) => event.preventDefault());
  button.addEventListener("click", (event) => choose(i, event));
});

byId("clear").addEventListener("click", () => {
  message.value = "";
  [keys, pasted, caret, last, taps, line] = [0, 0, 0, null, [], untold(0, [])];
  message.focus();
  refresh(null);
});
byId("learn").addEventListener("change", () => refresh(null));
addEventListener("error", (event) => alert(`Something went wrong: ${event.message}. What you typed is still there.`));
addEventListener("unhandledrejection", (event) => alert(`Something went wrong: ${event.reason}.`));
themeSwitch(/** @type {HTMLButtonElement} */ (byId("theme")));

loaded = await load();
shutTheDoor();
const shut = performance.now();
let requests = 0;
byId("requests").textContent = "0";
new PerformanceObserver((seen) => {
  requests += seen.getEntries().filter((entry) => entry.startTime > shut).length;
  byId("requests").textContent = String(requests);
}).observe({ type: "resource" });

if (loaded.layout) layout = layoutOf(loaded.layout);
loaded.problems.forEach(alert);
const use = (/** @type {string} */ id) => {
  choice = loaded.choices.find((c) => c.id === id) ?? loaded.choices[0] ?? null;
  byId("size").textContent = choice ? size(choice.model.bytes) : "–";
  refresh(null);
  setTimeout(() => choice && decoderOf(choice)); // the first word need not wait for it
};
showModels(loaded.choices, use);
use("");
message.focus();
document.documentElement.dataset.ready = "true";
performance.mark("tacit-ready");
