"""Reads word lists, one word a line: a whitelist of words to count, or a block list of words never to suggest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit.base.errors import TacitError
from tacit.text import sources


def words_of(path: Path, what: str, skip: Callable[[str], bool]) -> list[str]:
    """Reads the words of a file; skips empty lines and words for which `skip(word)` is true.

    A tab and anything after it are ignored, so a table of counts is a valid list.
    """
    try:
        lines = sources.read(path).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise TacitError(f"{path}: byte {error.start} is not UTF-8; save the {what} as UTF-8") from None
    except OSError as error:
        raise TacitError(
            f"{path}: cannot read this {what} ({error.strerror}); give a file with one word a line"
        ) from None
    words = []
    for number, line in enumerate(lines, start=1):
        word = line.partition("\t")[0].strip()
        if not word or skip(word):
            continue
        if word.split() != [word]:
            raise TacitError(f"{path}, line {number}: {word!r} is not one word; put one word on a line")
        words.append(word)
    return words
