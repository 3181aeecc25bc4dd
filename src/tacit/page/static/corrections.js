// What was corrected in the text at the caret, and which words are to be left alone.
//
// A correction inside an address is taken back: `jane.` is a word, `jane.x@` is not.

import { endsInAddress } from "./addresses.js";

/** @param {ReturnType<typeof import("./field.js").makeField>} field */
export function makeCorrections(field) {
  /** In the piece of text at the caret. @type {{at: number, typed: string, put: string}[]} */
  let made = [];
  const leftAlone = new Set(); // words that were corrected wrongly, in lower case

  return {
    leftAlone,
    /** @param {string} word that was corrected and should not have been */
    leave: (word) => leftAlone.add(word.toLowerCase()),
    /** Note that a word was replaced, just before the caret. @param {string} typed @param {string} put @param {string} end */
    note(typed, put, end) {
      made.push({ at: field.caret() - put.length - end.length, typed, put });
    },
    /** The last correction was taken back. */
    undone: () => made.pop(),
    /** The piece of text is over, or the caret is elsewhere. */
    forget() {
      made = [];
    },
    /**
     * Put back what was typed if the next character makes an address of it.
     * @param {string} character that is about to be written, so that both are undone together
     */
    restoreInAddress(character) {
      if (!made.length || !endsInAddress(field.before() + character)) return;
      for (const { at, typed, put } of made.reverse()) field.swap(at, put, typed);
      made = [];
    },
  };
}
