"""Block list of words that are never suggested: `--block words.txt`, one word a line.

- A word is blocked in every case (Damn, DAMN) and with either apostrophe.
- It is blocked in every kind of suggestion: next words, completions, corrections, glides.
- Other forms of a word, such as its plural, are separate words.
- Text that a person types letter by letter is not a suggestion and stays.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from tacit.text.word_list import words_of


def fold(word: str) -> str:
    """Returns the form that all spellings of a word share: case and apostrophes are normalised.

    >>> fold("DON’T") == fold("don't"), fold("Straße") == fold("STRASSE")
    (True, True)
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold()).replace("’", "'")


def of_words(words: Iterable[str]) -> frozenset[str]:
    """Returns the block list of these words."""
    return frozenset(map(fold, words))


def read(path: Path) -> frozenset[str]:
    """Reads a block list from a file; empty lines and lines that begin with # are skipped."""
    return of_words(words_of(path, "block list", lambda word: word.startswith("#")))
