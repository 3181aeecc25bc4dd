"""Defines `TacitError`, the one exception type for bad input.

Any error in what a user passes (a file, a key, a number) raises `TacitError` with one line that says what is
wrong, where, and what to do. The command line prints that line and exits with code 2. A library user catches
one type.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from tacit.base.printable import one_line


class TacitError(Exception):
    """Raised for bad input, with one line: what is wrong, where, what to do.

    Example:
        try:
            tacit.train("fedat")
        except tacit.TacitError as error:
            print(error)   # no preset 'fedat'; did you mean 'fedatt'? …
    """

    def __init__(self, message: str) -> None:
        super().__init__(one_line(message))  # it may quote a file's name or text


class Diverged(TacitError):
    """Training produced numbers that are not finite. Experiments record this as a result; commands report an error.

    That a private round ended so is known from its noised sum: `release` is its ledger entry, which counts.
    """

    def __init__(self, message: str, release: Any = None) -> None:
        super().__init__(message)
        self.release = release


def described(error: BaseException) -> str:
    """Returns the type and the message of any error, also of one that cannot be printed.

    >>> described(ValueError("no"))
    'ValueError: no'
    """
    try:
        return f"{type(error).__name__}: {error}".removesuffix(": ")
    except Exception:  # the error class of a plugin
        return type(error).__name__


def shown(value: object, most: int = 60) -> str:
    """Returns a value for an error line, truncated if it is long.

    >>> shown("yesterday"), len(shown("a" * 1_000_000))
    ("'yesterday'", 61)
    """
    try:
        text = repr(value)
    except (
        ValueError,
        RecursionError,
    ):  # a number of more digits than Python prints, or lists in lists in lists
        text = f"a {type(value).__name__} too large to print"
    return text if len(text) <= most else f"{text[:most]}…"


def nearest(word: str, choices: Iterable[str]) -> str:
    """Returns a hint for a misspelt word, to append to an error line.

    >>> nearest("epoch", ["epochs", "batch"])
    "; did you mean 'epochs'?"
    >>> nearest("zzz", ["epochs", "batch"])
    '; it is one of: batch, epochs'
    """
    options = sorted(choices)
    close = difflib.get_close_matches(word, options, n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; it is one of: {', '.join(options)}"
