"""Capitals of what is suggested: the start of a sentence, the model's own, and the shift key.

A model that knows capitals says how a word is written. One that does not writes all words small but for the English
I and its short forms (I'm, I'll). At the start of a sentence the first letter gets its capital: at the first word of a
message, not counting marks, and after a full stop, question mark or exclamation mark. Where a person has typed
letters, these decide instead: Th gives The, TH gives THE, th gives the or, if the model says so, a name.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacit.ngram.casing import capitalise, kinds, starting

_LOOK_BACK = 64  # tokens; a sentence that begins with more marks than this begins with none


def starts_sentence(context: Sequence[str]) -> bool:
    """Whether the next word starts a sentence.

    >>> starts_sentence([]), starts_sentence(["yes", "!"]), starts_sentence(["well", ","])
    (True, True, False)
    """
    recent = list(context[-_LOOK_BACK:])
    opening = ["<s>"] if len(recent) == len(context) else ["a"]
    return bool(starting(kinds([*opening, *recent, "a"]))[-1])


def written(word: str, cased: bool, start: bool, typed: str | None = None) -> str:
    """A word with its capitals, given what was typed of it (None or nothing: nothing was).

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
