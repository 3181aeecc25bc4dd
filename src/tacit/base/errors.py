"""Defines `TacitError`, the one exception type for bad input.

Any error in what a user passes (a file, a key, a number) raises `TacitError` with one line that says what is
wrong, where, and what to do. The command line prints that line and exits with code 2. A library user catches
one type.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TacitError(Exception):
    """Bad input, described in one line: what is wrong, where, what to do.

    Example:
        try:
            tacit.train("fedat")
        except tacit.TacitError as error:
            print(error)   # no preset 'fedat'; did you mean 'fedatt'? …
    """


class Diverged(TacitError):
    """Training produced numbers that are not finite. Experiments record this as a result; commands report an error."""


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
