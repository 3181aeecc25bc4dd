"""Lists of words in files, one word a line: a whitelist to be counted, a block list never to be suggested."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tacit.base.errors import TacitError


def words_of(path: Path, what: str, skip: Callable[[str], bool]) -> list[str]:
    """The words of a file; empty lines are skipped, and those that `skip(word)` says.

    Only what stands before a tab counts, so that a list with counts is a list.
    """
    try:
        lines = path.read_bytes().decode("utf-8-sig").splitlines()
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
