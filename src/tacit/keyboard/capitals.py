"""Capitals of suggested words: from the model, the start of a sentence, and the shift key.

- A cased model gives each word its capitals. With an uncased model all words are lower case, except those that the
  locale always capitalises: in English I and its short forms (I'm, I'll).
- The first word of a sentence is capitalised: the first word of a message, after any punctuation, and the word after
  a full stop, question mark or exclamation mark. The locale's opening marks (¿ in Spanish) may stand between.
- Capitals are those of the language: Turkish i has the capital İ.
- Letters that a person has typed take precedence: Th gives The, TH gives THE, and th gives the, or a name if the model
  writes it with a capital.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.ngram.casing import kinds, starting
from tacit.text.locale import ENGLISH, Locale

_LOOK_BACK = (
    64  # tokens of the context that are read; a sentence never begins with more punctuation than this
)


def starts_sentence(context: Sequence[str], locale: Locale = ENGLISH) -> bool:
    """Returns whether the next word starts a sentence.

    >>> starts_sentence([]), starts_sentence(["yes", "!"]), starts_sentence(["well", ","])
    (True, True, False)
    """
    recent = list(context[-_LOOK_BACK:])
    opening = ["<s>"] if len(recent) == len(context) else ["a"]
    while recent and locale.opening and set(recent[-1]) <= set(locale.opening):
        recent.pop()
    return bool(starting(kinds([*opening, *recent, "a"]))[-1])


def written(word: str, cased: bool, start: bool, typed: str | None = None, locale: Locale = ENGLISH) -> str:
    """Returns a word with its capitals; `typed` is the part of it that the person typed, if any.

    >>> written("the", False, True), written("i'm", False, False), written("the", True, True, "th")
    ('The', "I'm", 'the')
    >>> written("the", False, False, "TH"), written("paris", False, False, "P")
    ('THE', 'Paris')
    """
    lower, upper, capitalise = locale.lower, locale.upper, locale.capitalise
    if not cased and locale.is_always_capital(word):
        word = capitalise(word)
    if not typed:
        return capitalise(word) if start else word
    letters = [c for c in typed if lower(c) != upper(c)]
    if len(letters) > 1 and all(c != lower(c) for c in letters):
        return upper(word)
    return capitalise(word) if letters and typed[0] != lower(typed[0]) else word
