// The message: the text field with its caret, how many of its characters no key has typed, and its changes, which can be
// undone. What a key does to the text is told in edit.js; here it is carried out.

import { alert, withdraw } from "./alerts.js";
import { restOf } from "./edit.js";
import { LONGEST_MESSAGE } from "./hardware.js";
import { makeHistory } from "./history.js";
import { scrollToCaret } from "./scroll.js";

const TOO_LONG = `A message holds ${LONGEST_MESSAGE.toLocaleString("en")} characters: what comes after them is left out.`;

/** It holds no more. */
export const tooLong = () => alert(TOO_LONG);

/** @param {HTMLTextAreaElement} message */
export function makeField(message) {
  const history = makeHistory();
  let pasted = 0; // characters that no key has typed
  let caret = 0; // where our own last edit left it

  /** The text has changed: what is known of it follows. */
  function settle() {
    caret = message.selectionStart;
    pasted = Math.min(pasted, message.textLength); // what was pasted may be deleted again, key by key
    history.note({ text: message.value, caret, pasted });
    if (message.textLength < LONGEST_MESSAGE) withdraw(TOO_LONG);
    requestAnimationFrame(() => scrollToCaret(message)); // the suggestions need not wait for it
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
     * Carry out a change at the caret; not if the message would grow too long. Returns whether it did.
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

    /** Where one text still stands, put another; together with the change that follows. */
    swap(/** @type {number} */ at, /** @type {string} */ gone, /** @type {string} */ come) {
      if (message.value.startsWith(gone, at)) message.setRangeText(come, at, at + gone.length, "preserve");
    },

    /** Somebody else has changed the text. @param {number} more characters */
    foreign(more) {
      pasted = Math.max(0, pasted + more);
      settle();
    },

    /** Take the last change back, or bring it again. Returns whether there was one. @param {boolean} again */
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

    /** If the caret is elsewhere than our last edit left it: what is selected now, and where it was. */
    moved() {
      const { selectionStart: from, selectionEnd: to } = message;
      if (from === caret) return null;
      const was = caret;
      caret = from;
      return { from, to, was, text: message.value };
    },
  };
}
