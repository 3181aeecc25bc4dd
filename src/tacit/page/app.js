// The page: it holds what is typed and with which model, and passes keys to the text and the text to the model.
//
// Nothing is fetched after `load`: then the page adds a policy to itself that forbids every request (load.js).

import { endsInAddress, lessonsOf } from "./addresses.js";
import { alert, withdraw } from "./alerts.js";
import { choices, offers, showOffers } from "./bar.js";
import { capitalise } from "./capitals.js";
import { backspace, endWord, glided, pick, put, restOf, savings } from "./edit.js";
import { listen, LONGEST_MESSAGE } from "./hardware.js";
import { makeHistory } from "./history.js";
import { makeKeyboard } from "./keyboard.js";
import { layoutOf, middleOf } from "./lexicon.js";
import { countRequests, load, shutTheDoor } from "./load.js";
import { drawnBy, makeDecoders, meantBy } from "./meaning.js";
import { follow, untold } from "./memory.js";
import { makeOwn } from "./own.js";
import { byId, say, showModels, showThoughts, size } from "./panel.js";
import { predict } from "./predict.js";
import { capital, OFF, pressed, raisesMarks, settled } from "./shift.js";
import { scrollToCaret } from "./sight.js";
import { themeSwitch } from "./theme.js";
import { placeOf } from "./tokens.js";
import { makeTrail } from "./trail.js";

const THOUGHTS = 6; // candidates in the side panel
const TOO_LONG = `A message holds ${LONGEST_MESSAGE.toLocaleString("en")} characters: what comes after them is left out.`;
const ENDS = /^[\s.,!?;:…)\]}”"]$/; // characters that end a word and so correct it

const message = /** @type {HTMLTextAreaElement} */ (byId("message"));
const buttons = /** @type {HTMLButtonElement[]} */ ([...byId("bar").querySelectorAll("button")]);
const own = makeOwn(
  () => {
    line = { ...line, words: line.words.map(({ token }) => ({ token, learnt: false })) };
    [finished, held] = [null, null];
    refresh(null);
  },
  () => refresh(null),
);

/** @type {import("./load.js").Loaded} */
let loaded = { choices: [], problems: [], blocked: new Set(), layout: null, parameters: null };
/** @type {import("./lexicon.js").Layout | null} */
let layout = null;
/** @type {import("./load.js").Choice | null} */
let choice = null;
/** The decoder of a model; none without a layout. @type {ReturnType<typeof makeDecoders> | null} */
let decoderOf = null;

/** @type {import("./edit.js").Last} */
let last = null;
/** Where the taps of the word being typed fell. @type {[number, number][]} */
let taps = [];
/** The word that was finished last and its taps: backspace may bring it back. */
let tapped = { word: "", taps };
/**
 * Corrections in the piece at the caret, which may turn out to be an address.
 * @type {{at: number, typed: string, put: string}[]}
 */
let mended = [];
let shift = OFF;
/** What space would write instead of the word being typed. @type {string | null} */
let correction = null;
/** The words of the bar. @type {import("./bar.js").Offer[]} */
let shown = [];
/** What a glide may have meant, until the next key. @type {string[]} */
let drawn = [];
const kept = new Set(); // words that were corrected wrongly, in lower case
let line = untold(0, []);
/** The line that Enter ended, while backspace may bring it back. @type {import("./memory.js").Line | null} */
let finished = null;
/**
 * While words are selected that were just typed: the line with them, and where it ends.
 * @type {{line: import("./memory.js").Line, end: number} | null}
 */
let held = null;
let keys = 0;
let pasted = 0; // characters that no key has typed
let caret = 0; // where our own last edit left it

const history = makeHistory();

const before = () => message.value.slice(0, message.selectionStart);
const after = () => message.value.slice(message.selectionEnd);

/**
 * Carry out a change at the caret; not if the message would grow too long. Returns whether it did.
 * @param {import("./edit.js").Change} change
 */
function apply({ remove, insert, after = 0 }) {
  const [from, to] = [message.selectionStart - remove, message.selectionEnd + after];
  if (insert.length > to - from && message.textLength - (to - from) + insert.length > LONGEST_MESSAGE) {
    alert(TOO_LONG);
    return false;
  }
  if (held) line = held.line; // what is selected goes, and is unlearnt
  message.setRangeText(insert, from, to, "end");
  settle();
  return true;
}

/** The text has changed: what is known of it follows. */
function settle() {
  caret = message.selectionStart;
  held = null;
  pasted = Math.min(pasted, message.textLength); // what was pasted may be deleted again, key by key
  history.note({ text: message.value, caret, pasted });
  if (message.textLength < LONGEST_MESSAGE) withdraw(TOO_LONG);
  requestAnimationFrame(() => scrollToCaret(message)); // the suggestions need not wait for it
}

/** A character of a word. @param {string} character @param {[number, number] | null} at where the tap fell */
function letter(character, at) {
  const { typed } = placeOf(before());
  if (!typed) taps = [];
  const raised = shift.state === "off" ? character : capitalise(character);
  unmend(raised);
  if (!apply(put(before(), raised, last))) return;
  const fell = at ?? (layout && middleOf(character, layout));
  if (taps.length === typed.length && fell) taps.push(fell);
  last = null;
}

/** A character that ends a word, or stands alone. Returns whether it was written. @param {string} character */
function finish(character) {
  unmend(character);
  const { typed } = placeOf(before());
  if (typed && ENDS.test(character)) {
    const made = endWord(typed, character, endsInAddress(before() + character) ? null : correction);
    if (!apply(made.change)) return false;
    last = made.last;
    if (last?.kind === "corrected") {
      mended.push({ at: caret - last.put.length, typed, put: last.put.slice(0, -character.length) });
      byId("said").textContent = `${last.typed} became ${correction}; backspace brings it back`;
    }
  } else {
    if (!apply(put(before(), character, last))) return false;
    last = null;
  }
  tapped = { word: typed, taps };
  taps = [];
  if (/\s/.test(character)) mended = [];
  return true;
}

/**
 * What was corrected in a piece comes back with the character that makes it an address: `jane.` is a word, `jane.x@` not.
 * @param {string} character that is about to be written, so that both are undone together
 */
function unmend(character) {
  if (!mended.length || !endsInAddress(before() + character)) return;
  for (const { at, typed, put } of mended.reverse()) {
    if (message.value.startsWith(put, at)) message.setRangeText(typed, at, at + put.length, "preserve");
  }
  mended = [];
}

function newLine() {
  if (!finish("\n")) return;
  const end = before().length - 1;
  const now = follow(line, own.all(), lessonsOf(`${message.value.slice(0, end)} `), own.learning()); // it is finished
  own.become(now.cache);
  finished = now.line;
  line = untold(end + 1, []);
}

function rubOut() {
  if (message.selectionStart !== message.selectionEnd) {
    apply({ remove: 0, insert: "" });
    last = null;
  } else {
    const made = backspace(before(), last);
    if (made.last?.kind === "kept") {
      kept.add(made.last.word.toLowerCase());
      mended.pop();
    }
    apply(made.change);
    last = made.last;
    resume();
  }
  const { typed } = placeOf(before());
  taps = (typed === tapped.word ? tapped.taps : taps).slice(0, typed.length);
}

/** Where the caret is back in the line that Enter ended, what that line taught is known, and can be unlearnt. */
function resume() {
  const start = before().lastIndexOf("\n") + 1;
  const empty = !line.words.some((word) => word.learnt); // the cache unlearns its latest words only
  if (start !== line.start && start === finished?.start && empty) line = finished;
}

/** The line at the caret, none of which is to be learnt: it stood there before. @param {string} text before the caret */
function lineAt(text) {
  const { context, typed } = lessonsOf(text);
  return untold(text.lastIndexOf("\n") + 1, context, typed !== "");
}

/** Whether the caret stands inside a word, where nothing is corrected. */
const inside = () => restOf(after()) !== "";

/** A word as the locked shift key wants it. @param {string} word */
const locked = (word) => (shift.state === "locked" ? word.toUpperCase() : word);

/**
 * After every change: learn, ask the model, draw.
 * @param {Event | null} event the key, for the clock
 * @param {boolean} [learning] whether what is new was typed
 */
function refresh(event, learning = own.learning()) {
  const text = before();
  const place = placeOf(text);
  if (text.lastIndexOf("\n") + 1 !== line.start) line = lineAt(text); // the caret is in another line
  const now = follow(line, own.all(), lessonsOf(text), learning);
  line = now.line;
  own.become(now.cache);
  shift = settled(shift, place, text);
  keyboard.shift(shift.state, raisesMarks(shift));
  suggest(place);
  say("note", "");
  byId("latency").textContent = event ? `${Math.max(0, performance.now() - event.timeStamp).toFixed(1)} ms` : "–";
  figures();
}

/** @param {{context: string[], typed: string}} place */
function suggest(place) {
  if (!choice) return showOffers(buttons, (shown = []));
  const { model } = choice;
  const guesses = predict(model, own.used(), { ...place, shift: capital(shift) }, THOUGHTS, loaded.blocked);
  const byKeys = place.typed !== "" && taps.length === place.typed.length; // not pasted, nor what stood there before
  const plain = byKeys && !inside() && !endsInAddress(before()); // a word that may be corrected
  const meant = plain && decoderOf ? meantBy(decoderOf(choice), own.used(), place, taps, kept) : null;
  correction = meant && meant.best !== place.typed ? meant.best : null;
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
  if (key.kind === "layer") {
    keyboard.show(key.value === "123" ? "123" : "abc");
    return keyboard.shift(shift.state, raisesMarks(shift)); // the new keys are as shift was
  }
  moved();
  keys++;
  if (key.kind === "shift") {
    shift = pressed(shift);
    keyboard.shift(shift.state, raisesMarks(shift));
    suggest(placeOf(before()));
    return figures();
  }
  if (key.kind === "letter") letter(key.value, at);
  else if (key.kind === "back") rubOut();
  else if (key.kind === "enter") newLine();
  else if (key.value === "'") letter("'", at);
  else finish(key.shifted && raisesMarks(shift) ? key.shifted : key.value);
  refresh(event);
}

/** @param {[number, number][]} trail @param {Event} event */
function swipe(trail, event) {
  if (!choice || !decoderOf) return;
  moved();
  keys++;
  const text = before();
  const place = placeOf(text);
  const instead = inside() ? { ...place, typed: "" } : place; // inside a word it is drawn in the place of it
  const found = drawnBy(decoderOf(choice), own.used(), instead, trail, capital(shift));
  if (!found.length) {
    byId("said").textContent = "no word of this model fits that trail";
    return say("note", "No word fits that trail");
  }
  drawn = found.map(locked);
  const made = glided(text, drawn[0], null, place.typed, after());
  if (!apply(made.change)) return;
  last = made.last;
  taps = [];
  byId("said").textContent = drawn[0];
  refresh(event);
}

/** A place of the bar was pressed. @param {number} i @param {Event} event */
function choose(i, event) {
  moved();
  const offer = shown[i];
  if (!offer) return;
  keys++;
  const { typed } = placeOf(before());
  if (last?.kind === "glided") {
    const made = glided(before(), offer.word, last);
    if (!apply(made.change)) return;
    drawn = [offer.word, ...drawn.filter((word) => word !== offer.word)];
    last = made.last;
  } else {
    if (offer.word === typed) kept.add(typed.toLowerCase());
    const made = pick(before(), typed, offer.word, after());
    if (!apply(made.change)) return;
    last = made.last;
  }
  taps = [];
  refresh(event);
}

/** Another text, or another place in it: what the last keys did says nothing about it. */
function forget() {
  [last, taps, tapped, mended] = [null, [], { word: "", taps: [] }, []];
}

/** The caret may be elsewhere. The browser tells it late, perhaps after the next key: so every key asks, too. */
function moved() {
  const { selectionStart: from, selectionEnd: to, value } = message;
  if (from === to) held = null;
  if (from === caret) return; // it is where our own edit left it
  const all = held ?? { line, end: caret };
  held = from < to && from >= all.line.start && !value.slice(to, all.end).trim() ? all : null;
  caret = from;
  forget();
  [line, finished] = [lineAt(before()), null];
  refresh(null);
}

/**
 * A change that did not come from our keys: a paste, an input method, a dictation, a deleted word. What it brings is not
 * learnt; what it takes away is unlearnt, where it was the latest.
 * @param {number} more characters
 * @param {boolean} deleted whether it brought nothing
 */
function foreign(more, deleted) {
  if (more <= 0) keys++; // something was deleted; what no key has typed is counted neither as keys nor as characters
  forget();
  pasted = Math.max(0, pasted + more);
  if (held) line = held.line;
  resume();
  finished = null;
  settle();
  refresh(null, false);
  if (!deleted) inProgressIsForeign();
}

/** The word in progress may have been pasted, and is not to be learnt. */
function inProgressIsForeign() {
  line = { ...line, foreign: lessonsOf(before()).typed ? line.words.length : -1 };
}

/** Take the last change back, or bring it again. Words that go are unlearnt; none is learnt. @param {boolean} again */
function undo(again) {
  const state = again ? history.redo() : history.undo();
  if (!state) return;
  if (!again && last?.kind === "corrected") kept.add(last.typed.toLowerCase()); // as backspace would
  keys++;
  message.value = state.text;
  message.setSelectionRange(state.caret, state.caret);
  pasted = state.pasted;
  forget();
  resume();
  finished = null;
  settle();
  refresh(null, false);
  inProgressIsForeign(); // it came back, and is no news
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
  tooLong: () => alert(TOO_LONG),
  moved,
  choose,
  undo,
});

/** A key of a real keyboard. @param {string} key @param {() => void} does @param {Event} event */
function typed(key, does, event) {
  moved();
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
  forget();
  [keys, pasted, line, finished] = [0, 0, untold(0, []), null];
  settle();
  message.focus();
  refresh(null);
});
addEventListener("error", (event) => alert(`Something went wrong: ${event.message}. What you typed is still there.`));
addEventListener("unhandledrejection", (event) => alert(`Something went wrong: ${event.reason}.`));
themeSwitch(/** @type {HTMLButtonElement} */ (byId("theme")));

loaded = await load();
shutTheDoor();
byId("phone").inert = false; // not before: nothing is typed while a request could be made
countRequests((count) => say("requests", String(count)));

if (loaded.layout) {
  layout = layoutOf(loaded.layout);
  decoderOf = makeDecoders(layout, loaded.parameters);
}
loaded.problems.forEach(alert);
const use = (/** @type {string} */ id) => {
  choice = loaded.choices.find((c) => c.id === id) ?? loaded.choices[0] ?? null;
  byId("size").textContent = choice ? size(choice.model.bytes) : "–";
  refresh(null);
  setTimeout(() => choice && decoderOf?.(choice)); // the first word need not wait for it
};
showModels(loaded.choices, use);
use("");
message.focus();
document.documentElement.dataset.ready = "true";
performance.mark("tacit-ready");
