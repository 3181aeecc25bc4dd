// Keeps the caret visible. A script that writes into a field does not scroll it, and a field does not expose the position
// of its caret: so the text up to the caret is laid out again in a hidden element, where it can be measured.

const SAME = /** @type {const} */ (["font", "letterSpacing", "padding", "boxSizing", "direction"]);
const AHEAD = 64; // characters after the caret: the end of its word decides where the line breaks

/**
 * Scroll a field, if necessary, so that the line of its caret is visible.
 * @param {HTMLTextAreaElement} field
 */
export function scrollToCaret(field) {
  if (field.scrollHeight <= field.clientHeight) return;
  const { selectionEnd: caret, value } = field;
  if (caret === value.length) {
    field.scrollTop = field.scrollHeight;
    return;
  }
  const { top, bottom } = lineOf(field, value, caret);
  if (top < field.scrollTop) field.scrollTop = top;
  else if (bottom > field.scrollTop + field.clientHeight) field.scrollTop = bottom - field.clientHeight;
}

/**
 * Where the line of the caret is in the text.
 * @param {HTMLTextAreaElement} field
 * @param {string} value
 * @param {number} caret
 */
function lineOf(field, value, caret) {
  const copy = document.createElement("div");
  const style = getComputedStyle(field);
  for (const name of SAME) copy.style[name] = style[name];
  Object.assign(copy.style, { position: "absolute", top: "0", visibility: "hidden" });
  Object.assign(copy.style, { whiteSpace: "pre-wrap", overflowWrap: "break-word", width: `${field.clientWidth}px` });
  const mark = document.createElement("span");
  copy.append(value.slice(0, caret), mark, value.slice(caret, caret + AHEAD));
  document.body.append(copy);
  const height = parseFloat(style.lineHeight);
  const middle = mark.offsetTop + mark.offsetHeight / 2; // of an empty span: the middle of its line
  copy.remove();
  return { top: middle - height / 2, bottom: middle + height / 2 };
}
