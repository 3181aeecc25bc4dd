// The keys as buttons, and the gestures on them: taps, glides, long presses, holding backspace.
//
// A tap is reported when the finger is lifted, or when another one comes down: thumbs overlap. A finger that starts
// on a letter and travels further than a key's width glides. Screen readers and the Enter key press buttons without any
// finger: that is a click without a pointer, and a tap in the middle of the key.

import { layersOf, nameOf } from "./keys.js";
import { lower, PLAIN } from "./locale.js";
import { makeLongPress } from "./longpress.js";
import { roving } from "./roving.js";

const GLIDE = 0.9; // key widths from where a finger came down
const OFFER = 450; // milliseconds until a held key offers more letters
const STILL = 0.3; // key widths that a finger may move meanwhile
const HOLD = 420; // milliseconds until backspace repeats
const REPEAT = 70;

const ICONS = {
  shift: "M12 4 4.5 12H9v7h6v-7h4.5z",
  back: "M9 5h11v14H9l-6-7zM12.5 9.5l5 5M17.5 9.5l-5 5",
  enter: "M19 6v5a3 3 0 0 1-3 3H5M9 10l-4 4 4 4",
  emoji: "M12 3.5a8.5 8.5 0 1 0 0 17 8.5 8.5 0 0 0 0-17M8.3 14.2c1.8 2.7 5.6 2.7 7.4 0M9.2 9.6v.4M14.8 9.6v.4",
};
const FACES = { space: "space", more: "#+=" }; // of keys that do not show their value

/** @typedef {import("./keys.js").Key} Key */
/**
 * Callbacks of the page. Points are in the units of the layout: key widths, rows 1.5 high.
 * @typedef {object} Does
 * @property {(key: Key, at: [number, number], event: Event) => void} press
 * @property {(trail: [number, number][], event: Event) => void} glide
 * @property {{add: (x: number, y: number) => void, end: () => void}} trail
 */

/** The icon of a key that has no character. @param {keyof typeof ICONS} name */
function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

/** One key. @param {Key} key @returns {HTMLButtonElement} */
function button(key) {
  const keyButton = document.createElement("button");
  keyButton.type = "button";
  keyButton.className = `key ${key.kind}`;
  if (["shift", "back", "enter", "layer"].includes(key.kind)) keyButton.classList.add("side");
  keyButton.setAttribute("aria-label", key.name);
  keyButton.dataset.key = key.value;
  keyButton.style.gridColumn = key.start ? `${key.start} / span ${key.width}` : `span ${key.width}`;
  const face = document.createElement("span");
  const picture = [key.kind, key.value].find((name) => name in ICONS);
  if (picture) face.append(icon(/** @type {keyof typeof ICONS} */ (picture)));
  else face.textContent = /** @type {Record<string, string>} */ (FACES)[key.kind === "space" ? "space" : key.value] ?? key.value;
  keyButton.append(face);
  if (key.shifted) {
    const second = document.createElement("small");
    second.textContent = key.shifted;
    second.setAttribute("aria-hidden", "true");
    keyButton.append(second);
  }
  if (key.held) {
    keyButton.setAttribute("aria-haspopup", "menu");
    keyButton.setAttribute("aria-expanded", "false");
  }
  return keyButton;
}

/**
 * Put the keyboard into the page.
 * @param {HTMLElement} board
 * @param {HTMLElement} holder where the rows go
 * @param {Does} does
 */
export function makeKeyboard(board, holder, does) {
  /** @type {Map<Element, Key>} */
  const keys = new Map();
  /**
   * `offering`: its key shows what it offers; `since`: when it came down.
   * @type {Map<number, {key: Key, element: HTMLElement, trail: [number, number][], gliding: boolean, offering: boolean,
   *   since: number}>}
   */
  const fingers = new Map();
  const more = makeLongPress(board, (key, from, event) => does.press(key, middleOf(from), event));
  let layers = layersOf(PLAIN);
  let height = 1.5 * layers.letters.length; // of the keyboard, in key widths
  let repeat = 0;
  let offer = 0;
  let shiftShown = ""; // the state that the keys show
  let layer = "abc";
  const tabStop = roving(holder);

  /** @param {string} name @param {string[]} [emoji] those of the layer of emoji */
  function show(name, emoji = []) {
    keys.clear();
    more.close();
    const before = layer;
    layer = name;
    const { letters, marks, symbols, emojiLayer } = layers;
    const rowsOf = { abc: letters, 123: marks, more: symbols, emoji: emojiLayer(emoji) };
    const rows = (/** @type {Record<string, Key[][]>} */ (rowsOf)[name] ?? letters).map((row) => {
      const line = document.createElement("div");
      line.className = "row";
      line.style.gridTemplateColumns = `repeat(${layers.wide}, minmax(0, 1fr))`;
      for (const key of row) {
        const element = button(key);
        keys.set(element, key);
        line.append(element);
      }
      return line;
    });
    const focused = holder.contains(document.activeElement);
    holder.replaceChildren(...rows);
    const back = [...holder.querySelectorAll(".layer")].find((e) => e instanceof HTMLElement && e.dataset.key === before);
    const same = /** @type {HTMLElement | null} */ (back ?? holder.querySelector(".layer"));
    tabStop.begin(same ?? null);
    if (focused) same?.focus(); // keeps the focus of people without a pointer
    shiftShown = "";
  }

  /** Where a pointer is, in key widths. @param {PointerEvent} event @returns {[number, number]} */
  function pointOf(event) {
    const box = holder.getBoundingClientRect();
    return [(event.clientX - box.left) * (layers.wide / 2 / box.width), (event.clientY - box.top) * (height / box.height)];
  }

  /** The middle of a key, in key widths. @param {Element} element @returns {[number, number]} */
  function middleOf(element) {
    const box = holder.getBoundingClientRect();
    const keyBox = element.getBoundingClientRect();
    const x = ((keyBox.left + keyBox.width / 2 - box.left) / box.width) * (layers.wide / 2);
    return [x, ((keyBox.top + keyBox.height / 2 - box.top) / box.height) * height];
  }

  function lift(/** @type {number} */ id, /** @type {Event} */ event) {
    const finger = fingers.get(id);
    if (!finger) return;
    fingers.delete(id);
    clearTimeout(repeat);
    clearTimeout(offer);
    finger.element.classList.remove("down");
    does.trail.end();
    const chosen = finger.offering ? more.take() : null;
    const held = event.timeStamp - finger.since >= OFFER; // a busy page may hear of a short tap late
    if (chosen && held) does.press(chosen, middleOf(finger.element), event);
    else if (finger.gliding) does.glide(finger.trail, event);
    else if (finger.key.kind !== "back") does.press(finger.key, finger.trail[0], event);
  }

  board.addEventListener("pointerdown", (event) => {
    if (event.button > 0) return;
    event.preventDefault(); // the text keeps the focus
    const target = /** @type {Element} */ (event.target);
    if (target.closest(".held")) return;
    const element = /** @type {HTMLElement | null} */ (target.closest(".key") ?? nearestKey(event));
    const key = element && keys.get(element);
    if (!element || !key) return;
    for (const id of [...fingers.keys()]) lift(id, event);
    board.setPointerCapture(event.pointerId);
    element.classList.add("down");
    more.close();
    const finger = { key, element, trail: [pointOf(event)], gliding: false, offering: false, since: event.timeStamp };
    fingers.set(event.pointerId, finger);
    if (key.held) {
      offer = window.setTimeout(() => {
        finger.offering = true;
        more.open(element, key, holder.classList.contains("shifted"));
      }, OFFER);
    }
    if (key.kind === "back") {
      does.press(key, middleOf(element), event);
      const again = () => {
        does.press(key, middleOf(element), new Event("repeat")); // a new event, so that the clock starts at each
        repeat = window.setTimeout(again, REPEAT);
      };
      repeat = window.setTimeout(again, HOLD);
    }
  });

  board.addEventListener("pointermove", (event) => {
    const finger = fingers.get(event.pointerId);
    if (finger?.offering && more.follow(event.clientX, event.clientY)) return;
    if (finger?.offering) more.close(); // it moves on: a glide that began slowly
    if (finger) finger.offering = false;
    if (!finger || finger.key.kind !== "letter") return;
    const box = board.getBoundingClientRect();
    const steps = event.getCoalescedEvents?.() ?? [];
    for (const step of steps.length ? steps : [event]) {
      const at = pointOf(step);
      const [x, y] = finger.trail[0];
      finger.trail.push(at);
      if (Math.hypot(at[0] - x, at[1] - y) > STILL) clearTimeout(offer);
      if (!finger.gliding && Math.hypot(at[0] - x, at[1] - y) > GLIDE) {
        finger.gliding = true;
        finger.element.classList.remove("down");
      }
      does.trail.add(step.clientX - box.left, step.clientY - box.top);
    }
  });

  board.addEventListener("pointerup", (event) => lift(event.pointerId, event));
  board.addEventListener("pointercancel", (event) => {
    fingers.get(event.pointerId)?.element.classList.remove("down");
    fingers.delete(event.pointerId);
    clearTimeout(repeat);
    clearTimeout(offer);
    more.close();
  });
  board.addEventListener("keydown", (event) => {
    const element = /** @type {HTMLElement | null} */ (/** @type {Element} */ (event.target).closest(".key"));
    const key = element && keys.get(element);
    if (!element || !key?.held || !event.altKey || event.key !== "ArrowUp") return; // the plain arrow goes to another key
    event.preventDefault();
    more.open(element, key, holder.classList.contains("shifted"), true);
  });
  board.addEventListener("click", (event) => {
    const element = /** @type {Element} */ (event.target).closest(".key");
    const key = element && keys.get(element);
    if (element && key && event.detail === 0) does.press(key, middleOf(element), event); // a click without a pointer
  });
  board.addEventListener("contextmenu", (event) => event.preventDefault());

  /** Between keys, take the nearest one. @param {PointerEvent} event */
  function nearestKey(event) {
    let best = null;
    let least = Infinity;
    for (const element of keys.keys()) {
      const box = element.getBoundingClientRect();
      const dx = Math.max(box.left - event.clientX, 0, event.clientX - box.right);
      const dy = Math.max(box.top - event.clientY, 0, event.clientY - box.bottom);
      if (dx * dx + dy * dy < least) [best, least] = [element, dx * dx + dy * dy];
    }
    return best;
  }

  show("abc");
  return {
    show,
    /** Show the letters of a locale. @param {import("./locale.js").Locale} locale */
    use(locale) {
      layers = layersOf(locale);
      height = 1.5 * layers.letters.length;
      holder.lang = board.lang = locale.code; // the browser raises i to İ in Turkish
      show("abc");
    },
    /**
     * Show the state of shift, and whether the shifted marks are shown.
     * @param {"off" | "once" | "locked"} shift
     * @param {boolean} marks
     */
    shift(shift, marks) {
      if (`${shift} ${marks}` === shiftShown) return;
      shiftShown = `${shift} ${marks}`;
      holder.classList.toggle("shifted", shift !== "off");
      for (const [element, key] of keys) {
        if (key.kind === "shift") {
          element.setAttribute("aria-pressed", String(shift !== "off"));
          element.setAttribute("aria-label", shift === "locked" ? "Caps lock" : key.name);
          element.classList.toggle("locked", shift === "locked");
        }
        const [face, second] = element.children;
        if (key.shifted) {
          face.textContent = marks ? key.shifted : key.value;
          second.textContent = marks ? key.value : key.shifted;
          element.setAttribute("aria-label", marks ? nameOf(key.shifted) : key.name); // of what it types
        }
      }
    },
    /** Light up the key of a character that was typed on a hardware keyboard. @param {string} character */
    flash(character) {
      const small = lower(character);
      for (const [element, key] of keys) {
        if (key.value !== small && key.shifted !== character) continue;
        element.classList.add("down");
        setTimeout(() => element.classList.remove("down"), 90);
        return;
      }
    },
  };
}
