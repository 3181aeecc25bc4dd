// The message: the text field with its caret, the number of its characters that no key has typed, and its undo history.
// edit.js computes the effect of a key; this module applies it.

import { alert, withdraw } from "./alerts.js";
import { restOf } from "./edit.js";
import { LONGEST_MESSAGE } from "./hardware.js";
import { makeHistory } from "./history.js";
import { scrollToCaret } from "./scroll.js";

const TOO_LONG = `A message holds ${LONGEST_MESSAGE.toLocaleString("en")} characters: text beyond them is left out.`;

/** The message is full. */
export const tooLong = () => alert(TOO_LONG);

/** @param {HTMLTextAreaElement} message */
export function makeField(message) {
  const history = makeHistory();
  let pasted = 0; // characters that no key has typed
  let caret = 0; // where our last edit left it

  /** The text has changed: update what depends on it. */
  function settle() {
    caret = message.selectionStart;
    pasted = Math.min(pasted, message.textLength); // pasted text may be deleted, key by key
    history.note({ text: message.value, caret, pasted });
    if (message.textLength < LONGEST_MESSAGE) withdraw(TOO_LONG);
    requestAnimationFrame(() => scrollToCaret(message)); // so that the suggestions do not wait for it
  }

  const after = () => message.value.slice(message.selectionEnd);

  return {
    before: () => message.value.slice(0, message.selectionStart),
    after,
    /** Whether the caret stands inside a word. */
    inside: () => restOf(after()) !== "",
    /** Whether something is selected. */
    selected: () => message.selectionStart !== message.selectionEnd,
    /** How many of its characters keys have typed. */
    byKeys: () => message.value.length - pasted,
    caret: () => caret,

    /**
     * Apply a change at the caret, unless the message would grow too long. Returns whether it did.
     * @param {import("./edit.js").Change} change
     */
    apply({ remove, insert, after = 0 }) {
      const [from, to] = [message.selectionStart - remove, message.selectionEnd + after];
      if (insert.length > to - from && message.textLength - (to - from) + insert.length > LONGEST_MESSAGE) {
        tooLong();
        return false;
      }
      message.setRangeText(insert, from, to, "end");
      settle();
      return true;
    },

    /** Replace a text, if it is still there; one undo takes back this and the change that follows. */
    swap(/** @type {number} */ at, /** @type {string} */ gone, /** @type {string} */ come) {
      if (message.value.startsWith(gone, at)) message.setRangeText(come, at, at + gone.length, "preserve");
    },

    /** The text was changed from outside. @param {number} more characters */
    foreign(more) {
      pasted = Math.max(0, pasted + more);
      settle();
    },

    /** Undo the last change, or redo it. Returns whether there was one. @param {boolean} again */
    undo(again) {
      const state = again ? history.redo() : history.undo();
      if (!state) return false;
      message.value = state.text;
      message.setSelectionRange(state.caret, state.caret);
      pasted = state.pasted;
      settle();
      return true;
    },

    clear() {
      message.value = "";
      pasted = 0;
      settle();
      message.focus();
    },

    /** If the caret has moved since our last edit: the selection now, and where the caret was. */
    moved() {
      const { selectionStart: from, selectionEnd: to } = message;
      if (from === caret) return null;
      const was = caret;
      caret = from;
      return { from, to, was, text: message.value };
    },
  };
}
