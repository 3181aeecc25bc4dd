// Undo and redo of the message.
//
// A script that writes into a field bypasses the browser's undo, which then inserts text at wrong places. So the page
// keeps the changes itself. Letters typed in a row are undone together, up to a space; so are characters deleted in a
// row.

const MOST = 500; // changes that are kept
const KEY = 2; // characters that one key may write or delete: an emoji has two

/** The message, its caret, and how many of its characters no key has typed. */
/** @typedef {{text: string, caret: number, pasted: number}} State */
/** Characters removed and inserted at a place; how many were pasted before and after it. */
/** @typedef {{at: number, gone: string, come: string, pasted: [number, number], byKey: boolean}} Step */

/**
 * The change from one state to the next. The text after the caret is compared first, because it did not change.
 * @param {State} before
 * @param {State} after
 * @returns {Step}
 */
export function difference(before, after) {
  const [a, b] = [before.text, after.text];
  let tail = 0;
  while (tail < Math.min(a.length, b.length - after.caret) && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++;
  const least = Math.min(a.length, b.length) - tail;
  let at = 0;
  while (at < least && a[at] === b[at]) at++;
  const [gone, come] = [a.slice(at, a.length - tail), b.slice(at, b.length - tail)];
  return { at, gone, come, pasted: [before.pasted, after.pasted], byKey: gone.length + come.length <= KEY };
}

/**
 * Two changes as one if they are undone together; otherwise null.
 * @param {Step} a
 * @param {Step} b
 * @returns {Step | null}
 */
function joined(a, b) {
  if (!a.byKey || !b.byKey) return null;
  const pasted = /** @type {[number, number]} */ ([a.pasted[0], b.pasted[1]]);
  if (!a.gone && !b.gone && b.at === a.at + a.come.length && !/\s$/.test(a.come)) {
    return { ...a, come: a.come + b.come, pasted };
  }
  if (!a.come && !b.come && b.at + b.gone.length === a.at) return { ...b, gone: b.gone + a.gone, pasted };
  return null;
}

export function makeHistory() {
  /** @type {Step[]} */
  let steps = [];
  let done = 0; // how many of them are in the text
  /** @type {State} */
  let now = { text: "", caret: 0, pasted: 0 };

  /** @param {number} at @param {string} out @param {string} put @param {number} pasted @returns {State} */
  function swap(at, out, put, pasted) {
    const text = now.text.slice(0, at) + put + now.text.slice(at + out.length);
    return (now = { text, caret: at + put.length, pasted });
  }

  return {
    /** Record the message after a change. @param {State} next */
    note(next) {
      if (next.text !== now.text) {
        const step = difference(now, next);
        const last = done === steps.length ? steps[done - 1] : undefined;
        const both = last ? joined(last, step) : null;
        steps = [...steps.slice(0, both ? done - 1 : done), both ?? step].slice(-MOST);
        done = steps.length;
      }
      now = next;
    },
    /** The message before the last change; null if there was none. */
    undo() {
      if (!done) return null;
      const { at, gone, come, pasted } = steps[--done];
      return swap(at, come, gone, pasted[0]);
    },
    /** The message after the change that was undone last; null if there is none. */
    redo() {
      if (done === steps.length) return null;
      const { at, gone, come, pasted } = steps[done++];
      return swap(at, gone, come, pasted[1]);
    },
  };
}
