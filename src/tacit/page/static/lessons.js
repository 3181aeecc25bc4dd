// Decides what the personal cache learns from the message. It follows the line at the caret (memory.js), and keeps the
// line that Enter ended and selected words as long as they can still be undone.

import { lessonsOf } from "./addresses.js";
import { follow, untold } from "./memory.js";

/** @typedef {import("./memory.js").Line} Line */

/** The line at the caret, as earlier text, which is not learnt. @param {string} text before the caret */
function lineAt(text) {
  const { context, typed } = lessonsOf(text);
  return untold(text.lastIndexOf("\n") + 1, context, typed !== "");
}

/** @param {ReturnType<typeof import("./personal_cache.js").makePersonalCache>} personal */
export function makeLessons(personal) {
  let line = untold(0, []);
  /** The line that Enter ended, while backspace may bring it back. @type {Line | null} */
  let finished = null;
  /**
   * While words are selected that were just typed: the line with them, and where it ends.
   * @type {{line: Line, end: number} | null}
   */
  let held = null;

  /** @param {string} text before the caret @param {boolean} learning */
  function learn(text, learning) {
    const now = follow(line, personal.all(), lessonsOf(text), learning);
    personal.become(now.cache);
    return now.line;
  }

  /** If the caret is back in the line that Enter ended, the words learnt from it are known, and can be unlearnt. */
  function resume(/** @type {string} */ text) {
    const start = text.lastIndexOf("\n") + 1;
    const empty = !line.words.some((word) => word.learnt); // the cache unlearns its latest words only
    if (start !== line.start && start === finished?.start && empty) line = finished;
  }

  return {
    resume,

    /**
     * After every change: learn new words, unlearn removed ones.
     * @param {string} text before the caret
     * @param {boolean} learning whether the new text was typed
     */
    follow(text, learning) {
      if (text.lastIndexOf("\n") + 1 !== line.start) line = lineAt(text); // the caret is in another line
      line = learn(text, learning);
    },

    /** Enter has ended the line: its last word is finished. @param {string} text before the caret, the line end last */
    end(text) {
      finished = learn(`${text.slice(0, -1)} `, personal.learning());
      line = untold(text.length, []);
    },

    /** The text changes at the caret: the selection is removed and unlearnt. */
    drop() {
      if (held) line = held.line;
      held = null;
    },

    /** Nothing is selected any more. */
    letGo() {
      held = null;
    },

    /**
     * The caret has moved, or words are selected that were just typed.
     * @param {{from: number, to: number, was: number, text: string}} moved
     */
    moved({ from, to, was, text }) {
      const all = held ?? { line, end: was };
      held = from < to && from >= all.line.start && !text.slice(to, all.end).trim() ? all : null;
      [line, finished] = [lineAt(text.slice(0, from)), null];
    },

    /** A change that no key made: the rest of the line is still known. @param {string} text before the caret */
    changed(text) {
      resume(text);
      [finished, held] = [null, null];
    },

    /** The word in progress was pasted, or came back: it must not be learnt. @param {string} text before the caret */
    inProgressIsForeign(text) {
      line = { ...line, foreign: lessonsOf(text).typed ? line.words.length : -1 };
    },

    /** The cache was replaced: it has learnt none of these words. */
    unknown() {
      line = { ...line, words: line.words.map(({ token }) => ({ token, learnt: false })) };
      [finished, held] = [null, null];
    },

    /** An empty message. */
    begin() {
      [line, finished, held] = [untold(0, []), null, null];
    },
  };
}
