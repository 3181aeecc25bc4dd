"""Words that are never suggested: `--block words.txt`, one word a line.

A word is blocked in every case (Damn, DAMN) and whatever apostrophe it is written with, wherever a suggestion comes
from: next words, completions, corrections, glides. Other forms of a word (its plural) are words of their own. What a
person typed letter by letter is not a suggestion and stays.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from pathlib import Path

from tacit.errors import TacitError


def fold(word: str) -> str:
    """What all ways to write a word have in common.

    >>> fold("DON’T") == fold("don't"), fold("Straße") == fold("STRASSE")
    (True, True)
    """
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", word).casefold()).replace("’", "'")


def of_words(words: Iterable[str]) -> frozenset[str]:
    """The block list of these words."""
    return frozenset(map(fold, words))


def read(path: Path) -> frozenset[str]:
    """A block list from a file; empty lines and lines that begin with # are skipped."""
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TacitError(f"{path}: byte {error.start} is not UTF-8; save the block list as UTF-8") from None
    except OSError as error:
        raise TacitError(
            f"{path}: cannot read this block list ({error.strerror}); give a file with one word a line"
        ) from None
    words = []
    for number, line in enumerate(lines, start=1):
        word = line.strip()
        if not word or word.startswith("#"):
            continue
        if word.split() != [word]:
            raise TacitError(f"{path}, line {number}: {word!r} is not one word; put one word on a line")
        words.append(word)
    return of_words(words)
