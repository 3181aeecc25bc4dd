"""Capitals of suggested words: from the model, the start of a sentence, and the shift key.

- A cased model gives each word its capitals. With an uncased model all words are lower case, except the English I and
  its short forms (I'm, I'll).
- The first word of a sentence is capitalised: the first word of a message, after any punctuation, and the word after
  a full stop, question mark or exclamation mark.
- Letters that a person has typed take precedence: Th gives The, TH gives THE, and th gives the, or a name if the model
  writes it with a capital.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.ngram.casing import capitalise, kinds, starting

_LOOK_BACK = (
    64  # tokens of the context that are read; a sentence never begins with more punctuation than this
)


def starts_sentence(context: Sequence[str]) -> bool:
    """Returns whether the next word starts a sentence.

    >>> starts_sentence([]), starts_sentence(["yes", "!"]), starts_sentence(["well", ","])
    (True, True, False)
    """
    recent = list(context[-_LOOK_BACK:])
    opening = ["<s>"] if len(recent) == len(context) else ["a"]
    return bool(starting(kinds([*opening, *recent, "a"]))[-1])


def written(word: str, cased: bool, start: bool, typed: str | None = None) -> str:
    """Returns a word with its capitals; `typed` is the part of it that the person typed, if any.

    >>> written("the", False, True), written("i'm", False, False), written("the", True, True, "th")
    ('The', "I'm", 'the')
    >>> written("the", False, False, "TH"), written("paris", False, False, "P")
    ('THE', 'Paris')
    """
    if not cased and (word == "i" or word.startswith("i'")):
        word = capitalise(word)
    if not typed:
        return capitalise(word) if start else word
    letters = [c for c in typed if c.lower() != c.upper()]
    if len(letters) > 1 and all(c != c.lower() for c in letters):
        return word.upper()
    return capitalise(word) if letters and typed[0] != typed[0].lower() else word
