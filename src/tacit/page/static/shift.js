// The shift key, as pure functions: it is on by itself where a sentence starts, and otherwise what a person makes of it.

import { startsSentence } from "./capitals.js";

/**
 * `byHand`: somebody pressed it; otherwise it is as the sentence wants it.
 * @typedef {{state: "off" | "once" | "locked", byHand: boolean}} Shift
 */

/** @type {Shift} */
export const OFF = { state: "off", byHand: false };

/** After a press of the key: once, pressed again locked, and off. @param {Shift} shift @returns {Shift} */
export function pressed({ state, byHand }) {
  if (state === "off") return { state: "once", byHand: true };
  return { state: state === "once" && byHand ? "locked" : "off", byHand: true };
}

/**
 * After a change of the text: what was locked stays; a sentence that starts here gets its capital.
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

/** Whether marks are those of the shift key: only where a person has pressed it. @param {Shift} shift */
export function raisesMarks({ state, byHand }) {
  return byHand && state !== "off";
}
