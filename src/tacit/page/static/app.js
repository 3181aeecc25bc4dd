// The page: passes keys to the text (field.js), and the text to the model and to the personal cache (lessons.js).
//
// Nothing is fetched after `load`: the page then adds a policy to itself that forbids every request (load.js).

import { endsInAddress } from "./addresses.js";
import { alert } from "./alerts.js";
import { choices, offers, showOffers, withEmoji } from "./bar.js";
import { makeCorrections } from "./corrections.js";
import { backspace, endWord, fullStop, glided, pick, put, savings } from "./edit.js";
import { emojiToShow, expectedEmoji, withExpected } from "./emoji.js";
import { makeField, tooLong } from "./field.js";
import { listen } from "./hardware.js";
import { age, describe, keep } from "./install.js";
import { makeKeyboard } from "./keyboard.js";
import { makeLessons } from "./lessons.js";
import { layoutOf, middleOf } from "./lexicon.js";
import { countRequests, load, NOTHING, shutTheDoor } from "./load.js";
import { emojiOf, hasSpaces, keyCapital, setLocale, upper } from "./locale.js";
import { drawnBy, joinToOffer, makeDecoders, meantBy } from "./meaning.js";
import { makeOwn, tunerOf } from "./own.js";
import { byId, say, showModels, showThoughts, size } from "./panel.js";
import { makePersonalCache } from "./personal_cache.js";
import { predict } from "./predict.js";
import { keepLine } from "./sentences.js";
import { capital, OFF, pressed, QUICK, raisesMarks, settled } from "./shift.js";
import { themeSwitch } from "./theme.js";
import { placeOf } from "./tokens.js";
import { makeTrail } from "./trail.js";

const THOUGHTS = 6; // candidates in the side panel
const ENDS = /^[\s.,!?;:…)\]}”"]$/; // characters that end a word and so correct it

const message = /** @type {HTMLTextAreaElement} */ (byId("message"));
const buttons = /** @type {HTMLButtonElement[]} */ ([...byId("bar").querySelectorAll("button")]);
const field = makeField(message);
const { before, after, inside } = field;
const personal = makePersonalCache(
  () => {
    lessons.unknown();
    refresh(null);
  },
  () => refresh(null),
);
const lessons = makeLessons(personal);
const corrections = makeCorrections(field);

/** @type {import("./load.js").Loaded} */
let loaded = NOTHING;
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
/** The last finished word and its taps: backspace may bring it back. */
let tapped = { word: "", taps };
/** The word before the last space, as it was typed and as it stands: the space may be inside a word. @type {import("./decode.js").Part & {put: string} | null} */
let part = null;
/** What the word in progress probably means. @type {ReturnType<typeof meantBy>} */
let meant = null;
let shift = OFF;
let shiftAt = -Infinity; // when it was pressed last
let spaced = false; // whether the last key was a space after a word
/** The correction that space would make. @type {string | null} */
let correction = null;
/** The words of the bar. @type {import("./bar.js").Offer[]} */
let shown = [];
/** The candidates of the last glide, until the next key. @type {string[]} */
let drawn = [];
let keys = 0;

/** Apply a change at the caret. Returns whether there was room for it. @param {import("./edit.js").Change} change */
function apply(change) {
  if (!field.apply(change)) return false;
  lessons.drop();
  return true;
}

/** The place at the caret. A word that was chosen or glided is finished, though no space may say so. */
const here = () => placeOf(before(), last?.kind === "picked" || last?.kind === "glided");

/** A character of a word. @param {string} character @param {[number, number] | null} at where the tap fell */
function letter(character, at) {
  spaced = false;
  const { typed } = here();
  if (!typed) taps = [];
  const raised = shift.state === "off" ? character : keyCapital(character);
  corrections.restoreInAddress(raised);
  if (!apply(put(before(), raised, last))) return;
  const fell = at ?? (layout && middleOf(character, layout));
  if (taps.length === typed.length && fell) taps.push(fell);
  last = fell || hasSpaces() ? null : { kind: "picked" }; // a character without a key comes from an input method
}

/** A character that ends a word, or stands alone. Returns whether it was written. @param {string} character */
function finish(character) {
  const stop = character === " " && spaced && !field.selected() ? fullStop(before()) : null;
  spaced = false;
  if (stop) {
    if (!apply(stop)) return false;
    last = { kind: "stopped" };
    return true;
  }
  corrections.restoreInAddress(character);
  const { context, typed } = placeOf(before());
  const joins = meant?.joins && part;
  if (typed && ENDS.test(character)) {
    const whole = joins ? `${joins.put} ${typed}` : typed;
    const edit = endWord(whole, character, endsInAddress(before() + character) ? null : correction);
    if (!apply(edit.change)) return false;
    last = edit.last;
    if (last?.kind === "corrected") {
      corrections.note(whole, last.put.slice(0, -character.length), character);
      byId("said").textContent = `${last.typed} became ${correction}; backspace brings it back`;
    }
  } else {
    if (!apply(put(before(), character, last))) return false;
    last = null;
  }
  spaced = character === " " && typed !== "";
  tapped = { word: typed, taps };
  const stands = last?.kind === "corrected" ? last.put.slice(0, -1) : typed;
  const single = spaced && meant && !joins && !stands.includes(" ");
  part = single ? { typed, put: stands, taps, context, score: meant.score, isWord: meant.isWord } : null;
  taps = [];
  if (/\s/.test(character)) corrections.forget();
  return true;
}

function newLine() {
  spaced = false;
  if (!finish("\n")) return;
  lessons.end(before());
  keepLine(before()).then((kept) => kept && own.then(({ show }) => show()));
}

function rubOut() {
  spaced = false;
  if (field.selected()) {
    apply({ remove: 0, insert: "" });
    last = null;
  } else {
    const edit = backspace(before(), last);
    if (edit.last?.kind === "kept") {
      corrections.leave(edit.last.word);
      corrections.undone();
    }
    apply(edit.change);
    last = edit.last;
    lessons.resume(before());
  }
  const { typed } = placeOf(before());
  taps = (typed === tapped.word ? tapped.taps : taps).slice(0, typed.length);
}

/** A word in capitals if shift is locked. @param {string} word */
const locked = (word) => (shift.state === "locked" ? upper(word) : word);

/**
 * After every change: learn, predict, draw.
 * @param {Event | null} event the key, for the clock
 * @param {boolean} [learning] whether the new text was typed
 */
function refresh(event, learning = personal.learning()) {
  const text = before();
  const place = here();
  lessons.follow(text, learning);
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
  const guesses = predict(model, personal.used(), { ...place, shift: capital(shift) }, THOUGHTS, loaded.blocked);
  const byKeys = place.typed !== "" && taps.length === place.typed.length; // neither pasted nor earlier text
  const plain = byKeys && !inside() && !endsInAddress(before()); // a word that may be corrected
  const { leftAlone } = corrections;
  const one = part && before().endsWith(`${part.put} ${place.typed}`) ? part : null;
  const decoder = plain && decoderOf ? decoderOf(choice) : null;
  meant = decoder && meantBy(decoder, personal.used(), place, taps, leftAlone, loaded.blocked, one);
  correction = meant && (meant.joins || meant.best !== place.typed) ? meant.best : null;
  const likely = guesses.map((guess) => locked(guess.word));
  const words = place.typed ? likely : withExpected(likely, emojiExpected(place.context));
  const near = (meant?.words ?? []).filter(({ word }) => !words.includes(word));
  const also = meant && { ...meant, words: meant.words.filter(({ joins }) => !joins).map(({ word }) => word) };
  const join = { part: one?.put ?? "", word: decoder && joinToOffer(decoder, meant, guesses, place.typed) };
  const offered = () => withEmoji(offers(place.typed, words, also, join), place.typed, emojiOf(place.typed), hasSpaces());
  shown = last?.kind === "glided" && drawn.length ? choices(drawn) : offered();
  showOffers(buttons, shown);
  showThoughts(model, place, guesses, near.slice(0, THOUGHTS - guesses.length));
}

/** The emoji that the model expects here. */
function emojiExpected(context = placeOf(before()).context) {
  return choice ? expectedEmoji(choice.model, context) : { p: 0, emoji: [] };
}

function figures() {
  const saved = savings(keys, field.byKeys());
  say("saved", saved === null ? "–" : `${Math.round(100 * saved)} %`);
  personal.show();
}

/** A key of the page. @param {import("./keys.js").Key} key @param {[number, number]} at @param {Event} event */
function press(key, at, event) {
  if (key.kind === "layer") {
    keyboard.show(key.value, key.value === "emoji" ? emojiToShow(emojiExpected().emoji) : []);
    return keyboard.shift(shift.state, raisesMarks(shift)); // the new keys show the state of shift
  }
  moved();
  keys++;
  if (key.kind === "shift") {
    shift = pressed(shift, event.timeStamp - shiftAt < QUICK);
    shiftAt = event.timeStamp;
    keyboard.shift(shift.state, raisesMarks(shift));
    suggest(here());
    return figures();
  }
  shiftAt = -Infinity; // only two presses of shift in a row lock it
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
  spaced = false;
  const text = before();
  const place = here();
  const instead = inside() ? { ...place, typed: "" } : place; // inside a word it replaces the word
  const words = drawnBy(decoderOf(choice), personal.used(), instead, trail, capital(shift));
  if (!words.length) {
    byId("said").textContent = "no word of this model fits that trail";
    return say("note", "No word fits that trail");
  }
  drawn = words.map(locked);
  const edit = glided(text, drawn[0], null, place.typed, after());
  if (!apply(edit.change)) return;
  last = edit.last;
  taps = [];
  byId("said").textContent = drawn[0];
  refresh(event);
}

/** A button of the bar was pressed. @param {number} i @param {Event} event */
function choose(i, event) {
  moved();
  const offer = shown[i];
  if (!offer) return;
  keys++;
  spaced = false;
  const { typed } = here();
  if (last?.kind === "glided") {
    const edit = glided(before(), offer.word, last);
    if (!apply(edit.change)) return;
    drawn = [offer.word, ...drawn.filter((word) => word !== offer.word)];
    last = edit.last;
  } else {
    if (offer.word === typed) corrections.leave(typed);
    const edit = pick(before(), offer.joins && part ? `${part.put} ${typed}` : typed, offer.word, after());
    if (!apply(edit.change)) return;
    last = edit.last;
  }
  taps = [];
  refresh(event);
}

/** Another text, or another place in it: forget what the last keys did. */
function forget() {
  [last, taps, tapped, part, spaced] = [null, [], { word: "", taps: [] }, null, false];
  corrections.forget();
}

/** The caret may have moved. The browser reports that late, perhaps after the next key, so every key checks, too. */
function moved() {
  if (!field.selected()) lessons.letGo();
  const elsewhere = field.moved();
  if (!elsewhere) return; // it is where our last edit left it
  forget();
  lessons.moved(elsewhere);
  refresh(null);
}

/**
 * A change that did not come from our keys: a paste, an input method, dictation, a deleted word. Text that it adds is not
 * learnt; text that it removes is unlearnt, if it was the latest.
 * @param {number} more characters
 * @param {boolean} deleted whether it added nothing
 */
function foreign(more, deleted) {
  if (more <= 0) keys++; // a deletion; text that no key typed counts neither as keys nor as characters
  forget();
  if (!deleted && !hasSpaces()) last = { kind: "picked" }; // an input method writes whole words
  field.foreign(more);
  lessons.drop();
  lessons.changed(before());
  refresh(null, false);
  if (!deleted) lessons.inProgressIsForeign(before());
}

/** Undo the last change, or redo it. Removed words are unlearnt; none is learnt. @param {boolean} again */
function undo(again) {
  if (!field.undo(again)) return;
  if (!again && last?.kind === "corrected") corrections.leave(last.typed); // as backspace would
  keys++;
  forget();
  lessons.changed(before());
  refresh(null, false);
  lessons.inProgressIsForeign(before()); // it came back and is not new
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
  tooLong,
  moved,
  choose,
  undo,
});

/** A key of a hardware keyboard. @param {string} key @param {() => void} does @param {Event} event */
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
  field.clear();
  forget();
  keys = 0;
  lessons.begin();
  refresh(null);
});
addEventListener("error", (event) => alert(`Something went wrong: ${event.message}. What you typed is still there.`));
addEventListener("unhandledrejection", (event) => alert(`Something went wrong: ${event.reason}.`));
themeSwitch(/** @type {HTMLButtonElement} */ (byId("theme")));

/** @type {Promise<(buffers: Map<string, ArrayBuffer>) => Promise<void>> | null} */
let keeping = null;
const described = describe(/** @type {HTMLLinkElement} */ (document.querySelector("link[rel=manifest]")));
loaded = await load((page) => (keeping = keep(page)));
await (await keeping)?.(loaded.buffers);
await described;
const tuner = await tunerOf();
loaded.buffers.clear();
shutTheDoor();
byId("phone").inert = false; // not earlier: nothing is typed while a request could be made
countRequests((count) => say("requests", String(count)));

if (loaded.layout) {
  setLocale(loaded.locale);
  keyboard.use(loaded.locale);
  message.lang = loaded.locale.code;
  layout = layoutOf(loaded.layout);
  decoderOf = makeDecoders(layout, loaded.parameters, loaded.dictionary);
}
loaded.problems.forEach(alert);
let selectable = loaded.choices;
const use = (/** @type {string} */ id) => {
  choice = selectable.find((c) => c.id === id) ?? selectable[0] ?? null;
  byId("size").textContent = choice ? size(choice.model.bytes) : "–";
  say("age", age(choice?.made, loaded.stored));
  refresh(null);
  setTimeout(() => choice && decoderOf?.(choice)); // so that the first word does not wait for it
};
/** Show the models to choose from, and use the first. @param {import("./load.js").Choice[]} all */
const offer = (all) => {
  selectable = all;
  showModels(all, loaded.others, use);
  use("");
};
offer(selectable);
message.focus();
document.documentElement.dataset.ready = "true";
performance.mark("tacit-ready");
const own = makeOwn(loaded.choices, tuner, offer);
