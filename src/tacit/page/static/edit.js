// The effect of a key on the text, as pure functions: from the text before the caret to the characters removed and
// inserted.
//
// Four things are kept from one key to the next, and only to the next: a correction, so that backspace can undo it; the
// space of a suggestion, so that a full stop can follow the word directly; a glided word; the full stop of two spaces.

/**
 * A change at the caret: the number of characters removed before it and after it (default: none), and those inserted.
 * @typedef {{remove: number, insert: string, after?: number}} Change
 */
/**
 * The effect of the last key, if the next one may refer to it. `over`: its space is the existing one before the next
 * word.
 * @typedef {{kind: "corrected", typed: string, put: string} | {kind: "picked", over?: boolean}
 *   | {kind: "kept", word: string} | {kind: "stopped"} | {kind: "glided", put: string, instead?: string, over?: boolean} | null} Last
 */

import { elidedEnd, hasSpaces } from "./locale.js";

const LEANS = /^[.,!?;:…)\]}”%]$/;

/**
 * Insert a character that is not part of a word in progress. After a suggestion, a mark goes before its space, or
 * replaces the space if no word follows; a space adds nothing.
 * @param {string} before
 * @param {string} character
 * @param {Last} last
 * @returns {Change}
 */
export function put(before, character, last) {
  const brought = (last?.kind === "picked" || last?.kind === "glided") && before.endsWith(" ") ? last : null;
  if (brought && character === " ") return { remove: 0, insert: "" };
  const leans = brought !== null && LEANS.test(character);
  return { remove: leans ? 1 : 0, insert: leans && brought.over ? `${character} ` : character };
}

/**
 * End a word (by a space, a mark, a new line), with its correction if there is one.
 * @param {string} typed the word as it stands
 * @param {string} character
 * @param {string | null} correction
 * @returns {{change: Change, last: Last}}
 */
export function endWord(typed, character, correction) {
  if (correction === null || correction === typed) return { change: { remove: 0, insert: character }, last: null };
  return {
    change: { remove: typed.length, insert: correction + character },
    last: { kind: "corrected", typed, put: correction + character },
  };
}

/** Whether the next word follows this text directly: after an elided word, and in a script without spaces. @param {string} text */
const joins = (text) => !hasSpaces() || elidedEnd(text) !== "";

/**
 * Two spaces after a word: a full stop and a space. Null if the text does not end in a word and a space.
 * @param {string} before
 * @returns {Change | null}
 */
export function fullStop(before) {
  return /[\p{L}\p{M}\p{N}'’"”)\]] $/u.test(before.slice(-8)) ? { remove: 1, insert: ". " } : null;
}

/** The space that a whole word needs before it, after a word or a mark. @param {string} before */
const gap = (before) => (before !== "" && !/[\s([{“‘"¿¡]$/u.test(before) && !joins(before) ? " " : "");

/** The part of a word after the caret. @param {string} after @returns {string} */
export function restOf(after) {
  return /^(?:['’-]?[\p{L}\p{M}\p{N}_])+/u.exec(after.slice(0, 64))?.[0] ?? "";
}

/**
 * A suggestion replaces the typed letters; a space follows it, and one precedes it if it starts a word right after a
 * mark. Inside a word it replaces the whole word. An existing space is used as its space.
 * @param {string} before
 * @param {string} typed
 * @param {string} word
 * @param {string} [after] the text after the caret
 * @returns {{change: Change, last: Last}}
 */
export function pick(before, typed, word, after = "") {
  const rest = typed ? restOf(after).length : 0;
  const over = after[rest] === " ";
  const leant = rest > 0 && /^[^\s\p{L}\p{N}]/u.test(after.slice(rest)); // a mark follows the word directly
  const insert = `${typed ? "" : gap(before)}${word}${leant || joins(word) ? "" : " "}`;
  return {
    change: { remove: typed.length, insert, after: rest + (over ? 1 : 0) },
    last: leant ? null : { kind: "picked", over },
  };
}

/**
 * A glided word: a space precedes it after a word or a mark, and one follows it. Inside a word it replaces the whole
 * word, as a suggestion does. Another choice for the same trail replaces the first.
 * @param {string} before
 * @param {string} word
 * @param {Last} [last]
 * @param {string} [typed] the part of a word before the caret
 * @param {string} [after] the text after the caret
 * @returns {{change: Change, last: Last}}
 */
export function glided(before, word, last = null, typed = "", after = "") {
  if (last?.kind === "glided" && before.endsWith(last.put)) {
    const [first] = /^ ?/.exec(last.put) ?? [""];
    const put = `${first}${word}${last.put.endsWith(" ") ? " " : ""}`;
    return { change: { remove: last.put.length, insert: put }, last: { ...last, put } };
  }
  const within = typed && restOf(after) ? typed : ""; // otherwise the typed letters are a separate word
  const { change } = pick(before, within, word, after);
  const instead = within + after.slice(0, change.after);
  return { change, last: { kind: "glided", put: change.insert, instead, over: instead.endsWith(" ") } };
}

/**
 * Right after a correction, restore what was typed, which is then not corrected again; right after the full stop of two
 * spaces, the spaces. Right after a glide, remove the
 * glided word and restore the word that it replaced. Otherwise remove one character.
 * @param {string} before
 * @param {Last} last
 * @returns {{change: Change, last: Last}}
 */
export function backspace(before, last) {
  if (last?.kind === "corrected" && before.endsWith(last.put)) {
    return { change: { remove: last.put.length, insert: last.typed }, last: { kind: "kept", word: last.typed } };
  }
  if (last?.kind === "glided" && before.endsWith(last.put)) {
    const { put, instead = "" } = last;
    return { change: { remove: put.length, insert: instead }, last: null }; // a glided word is removed as a whole
  }
  if (last?.kind === "stopped" && before.endsWith(". ")) return { change: { remove: 2, insert: "  " }, last: null };
  return { change: { remove: lastCharacter(before), insert: "" }, last: null };
}

const graphemes = typeof Intl !== "undefined" && "Segmenter" in Intl ? new Intl.Segmenter() : null;

/** The length of the last character as a person sees it: an emoji with its skin tone is one. @param {string} text */
export function lastCharacter(text) {
  if (!text) return 0;
  const tail = text.slice(-64);
  if (!graphemes) return [...tail].pop()?.length ?? 0;
  let length = 1;
  for (const { segment } of graphemes.segment(tail)) length = segment.length;
  return length;
}

/**
 * The share of keys that were saved, 1 − keys/characters; null while nothing is written.
 * @param {number} keys
 * @param {number} characters
 */
export function savings(keys, characters) {
  return characters > 0 ? 1 - keys / characters : null;
}
