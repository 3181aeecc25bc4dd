// The shift key, as pure functions: it is on where a sentence starts, unless a person has pressed it.

import { startsSentence } from "./capitals.js";

/**
 * `byHand`: a person pressed it; otherwise it follows the sentence.
 * @typedef {{state: "off" | "once" | "locked", byHand: boolean}} Shift
 */

/** @type {Shift} */
export const OFF = { state: "off", byHand: false };

export const QUICK = 350; // milliseconds between two presses that lock it

/**
 * After a press of the key: once, pressed again locked, and off. Pressed twice quickly it is locked, whatever it was.
 * @param {Shift} shift
 * @param {boolean} [quick] whether it was pressed just before
 * @returns {Shift}
 */
export function pressed({ state, byHand }, quick = false) {
  if (quick && state !== "locked") return { state: "locked", byHand: true };
  if (state === "off") return { state: "once", byHand: true };
  return { state: state === "once" && byHand ? "locked" : "off", byHand: true };
}

/**
 * After a change of the text: a lock stays; a sentence that starts here gets its capital.
 * @param {Shift} shift
 * @param {{context: string[], typed: string}} place
 * @param {string} text before the caret
 * @returns {Shift}
 */
export function settled(shift, { context, typed }, text) {
  if (shift.state === "locked") return shift;
  const start = !typed && /(?:^|\s)$/.test(text) && startsSentence(context);
  return { state: start ? "once" : "off", byHand: false };
}

/** Whether a word gets a capital; null leaves it to the start of the sentence. @param {Shift} shift */
export function capital({ state, byHand }) {
  return state !== "off" ? true : byHand ? false : null;
}

/** Whether the shifted marks are shown: only if a person has pressed shift. @param {Shift} shift */
export function raisesMarks({ state, byHand }) {
  return byHand && state !== "off";
}
