// Capitals of what is suggested: a port of `src/tacit/keyboard/capitals.py`.
//
// A model with capitals decides how a word is written. Without capitals all words are in lower case except the English I
// and its short forms. At the start of a sentence the first letter gets its capital: at the first word of a message,
// not counting marks, and after a full stop, question mark or exclamation mark. Typed letters decide
// instead: Th gives The, TH gives THE, th gives the or, if the model has one, a name.

const END = /^(?:\.|[!?]+)$/;
const DIGIT = /^\p{Nd}/u;
const LETTER = /\p{L}/u; // of any script: most have no capitals
const LOOK_BACK = 64; // tokens; more marks than this do not count as the start of a sentence

/**
 * The word with a capital first letter, the rest as it is.
 * @param {string} word
 */
export function capitalise(word) {
  const [first = ""] = word;
  const upper = first.toUpperCase();
  return [...upper].length === 1 ? upper + word.slice(first.length) : word;
}

/** Whether a token is a word and not a mark, as in `tacit.ngram.casing`. @param {string} token */
function isWord(token) {
  return token === "<unk>" || LETTER.test(token) || DIGIT.test(token);
}

/**
 * Whether the next word starts a sentence.
 * @param {string[]} context
 */
export function startsSentence(context) {
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
  const form = !cased && (word === "i" || word.startsWith("i'")) ? capitalise(word) : word;
  if (!typed) return start ? capitalise(form) : form;
  const letters = [...typed].filter((c) => c.toLowerCase() !== c.toUpperCase());
  if (letters.length > 1 && letters.every((c) => c !== c.toLowerCase())) return form.toUpperCase();
  const [first] = typed;
  return letters.length && first !== first.toLowerCase() ? capitalise(form) : form;
}
