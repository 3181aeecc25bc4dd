// The corrections in the text at the caret, and the words that must not be corrected.
//
// A correction inside an address is undone: `jane.` is a word, `jane.x@` is not.

import { endsInAddress } from "./addresses.js";
import { lower } from "./locale.js";

/** @param {ReturnType<typeof import("./field.js").makeField>} field */
export function makeCorrections(field) {
  /** In the piece of text at the caret. @type {{at: number, typed: string, put: string}[]} */
  let corrections = [];
  const leftAlone = new Set(); // words that were corrected wrongly, in lower case

  return {
    leftAlone,
    /** @param {string} word that was corrected and should not have been; of two that were joined, the second */
    leave: (word) => leftAlone.add(lower(word.slice(word.lastIndexOf(" ") + 1))),
    /** Note that a word was replaced, just before the caret. @param {string} typed @param {string} put @param {string} end */
    note(typed, put, end) {
      corrections.push({ at: field.caret() - put.length - end.length, typed, put });
    },
    /** The last correction was undone. */
    undone: () => corrections.pop(),
    /** The piece of text has ended, or the caret has moved. */
    forget() {
      corrections = [];
    },
    /**
     * Restore what was typed if the next character turns it into an address.
     * @param {string} character the next character: one undo takes back both
     */
    restoreInAddress(character) {
      if (!corrections.length || !endsInAddress(field.before() + character)) return;
      for (const { at, typed, put } of corrections.reverse()) field.swap(at, put, typed);
      corrections = [];
    },
  };
}
