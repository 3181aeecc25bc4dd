// Capitals of what is suggested: a port of `src/tacit/keyboard/capitals.py`.
//
// A model with capitals decides how a word is written. Without capitals all words are in lower case except those that
// the locale always capitalises: in English I and its short forms. At the start of a sentence the first letter gets its capital: at the first word of a message,
// not counting marks, and after a full stop, question mark or exclamation mark. Typed letters decide
// instead: Th gives The, TH gives THE, th gives the or, if the model has one, a name.

import { capitalise, current, lower, upper } from "./locale.js";

export { capitalise };

const END = /^(?:\.|[!?]+)$/;
const DIGIT = /^\p{Nd}/u;
const LETTER = /\p{L}/u; // of any script: most have no capitals
const LOOK_BACK = 64; // tokens; more marks than this do not count as the start of a sentence

/** Whether a token is a word and not a mark, as in `tacit.ngram.casing`. @param {string} token */
function isWord(token) {
  return token === "<unk>" || LETTER.test(token) || DIGIT.test(token);
}

/**
 * Whether the next word starts a sentence.
 * @param {string[]} context
 */
export function startsSentence(context) {
  const { opening } = current();
  let end = context.length;
  while (end && opening && [...context[end - 1]].every((c) => opening.includes(c))) end--;
  if (end < context.length) return startsSentence(context.slice(0, end));
  if (context.length && END.test(context[context.length - 1])) return true;
  return context.length <= LOOK_BACK && !context.some(isWord);
}

/**
 * A model's word with its capitals, given its typed letters ("": none).
 * @param {string} word
 * @param {boolean} cased whether the model has capitals
 * @param {boolean} start whether a capital is due: a sentence starts, or shift is on
 * @param {string} [typed]
 */
export function written(word, cased, start, typed = "") {
  const form = !cased && current().always.some((one) => word === one || word.startsWith(`${one}'`)) ? capitalise(word) : word;
  if (!typed) return start ? capitalise(form) : form;
  const letters = [...typed].filter((c) => lower(c) !== upper(c));
  if (letters.length > 1 && letters.every((c) => c !== lower(c))) return upper(form);
  const [first] = typed;
  return letters.length && first !== lower(first) ? capitalise(form) : form;
}
