// Hardware keyboards, input methods and the clipboard: translates their effects on the text field into callbacks.
//
// Single characters, Enter and backspace are intercepted, so that they correct, complete and count like the page's own
// keys. So are undo and redo, which the page does itself (history.js). Everything else (a paste, an input method, a
// deleted selection) is left to the browser and reported afterwards.

export const LONGEST_MESSAGE = 100_000; // characters of the message: more would make the browser slow
const OF_WORD = /^[\p{L}\p{M}'’]$/u;

/**
 * @typedef {object} Does
 * @property {(character: string, event: Event) => void} letter a character of a word
 * @property {(character: string, event: Event) => void} finish a character that ends a word
 * @property {(event: Event) => void} enter
 * @property {(event: Event) => void} back
 * @property {(more: number, deleted: boolean) => void} foreign characters were added that no key typed, or removed
 * @property {() => void} tooLong part of it was cut off
 * @property {() => void} moved the caret may have moved
 * @property {(place: number, event: Event) => void} choose a suggestion, 0 to 2
 * @property {(again: boolean) => void} undo undo the last change, or redo it
 */

/**
 * @param {HTMLTextAreaElement} message
 * @param {Does} does
 */
export function listen(message, does) {
  let length = 0; // of the text before the browser changed it

  message.addEventListener("beforeinput", (event) => {
    length = message.textLength;
    if (event.isComposing || !event.cancelable) return;
    does.moved(); // the browser may not have reported it yet, and afterwards it is no longer visible
    if (event.inputType === "historyUndo" || event.inputType === "historyRedo") {
      event.preventDefault(); // from a menu
      return does.undo(event.inputType === "historyRedo");
    }
    const data = event.data ?? "";
    const one = event.inputType === "insertText" && [...data].length === 1;
    if (!one && data.length > 1 && data.length + length > LONGEST_MESSAGE) {
      event.preventDefault(); // before the browser lays out a megabyte
      const { selectionStart: from, selectionEnd: to } = message;
      const room = Math.max(0, LONGEST_MESSAGE - length + to - from);
      message.setRangeText(data.slice(0, room), from, to, "end");
      does.tooLong();
      return does.foreign(message.textLength - length, false);
    }
    const back = event.inputType === "deleteContentBackward" && message.selectionStart === message.selectionEnd;
    if (!one && !back && event.inputType !== "insertLineBreak") return;
    event.preventDefault();
    if (back) does.back(event);
    else if (!one) does.enter(event);
    else if (OF_WORD.test(data)) does.letter(data, event);
    else does.finish(data, event);
  });

  message.addEventListener("input", (event) => {
    const kind = /** @type {InputEvent} */ (event).inputType;
    if (kind === "historyUndo" || kind === "historyRedo") return does.undo(kind === "historyRedo"); // no earlier event reports it
    if (message.textLength > LONGEST_MESSAGE) {
      const caret = Math.min(message.selectionStart, LONGEST_MESSAGE);
      message.value = message.value.slice(0, LONGEST_MESSAGE);
      message.setSelectionRange(caret, caret);
      does.tooLong();
    }
    does.foreign(message.textLength - length, kind.startsWith("delete"));
    length = message.textLength;
  });

  document.addEventListener("selectionchange", () => {
    if (document.activeElement === message) does.moved();
  });

  document.addEventListener("keydown", (event) => {
    const control = (event.ctrlKey || event.metaKey) && !event.altKey && !event.isComposing;
    const name = control ? event.key.toLowerCase() : "";
    if (name === "z" || (name === "y" && event.ctrlKey)) {
      event.preventDefault(); // also where the browser has nothing to undo
      return does.undo(name === "y" || event.shiftKey);
    }
    const digit = /^Digit([1-3])$/.exec(event.code);
    if (event.altKey && digit) {
      event.preventDefault();
      does.choose(Number(digit[1]) - 1, event);
    } else if (event.key.length === 1 && event.key !== " " && !event.ctrlKey && !event.metaKey && !event.altKey) {
      message.focus(); // typing goes to the message wherever the focus was
    }
  });
}
