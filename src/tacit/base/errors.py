"""The one error a user ever sees.

Everything that can go wrong with what a user gave us (a file, a key, a number) raises `TacitError`
with one line that says what is wrong, where, and what to do. The command line prints that line and
exits with 2; a library user catches one type.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class TacitError(Exception):
    """Bad input, told in one line: what is wrong, where, what to do.

    Example:
        try:
            tacit.train("fedat")
        except tacit.TacitError as error:
            print(error)   # no preset 'fedat'; did you mean 'fedatt'? …
    """


class Diverged(TacitError):
    """Training gave numbers that are not finite: an experiment takes that for an answer, a command for an error."""


def nearest(word: str, choices: Iterable[str]) -> str:
    """A hint for a misspelt word, for the end of an error line.

    >>> nearest("epoch", ["epochs", "batch"])
    "; did you mean 'epochs'?"
    >>> nearest("zzz", ["epochs", "batch"])
    '; it is one of: batch, epochs'
    """
    options = sorted(choices)
    close = difflib.get_close_matches(word, options, n=1)
    return f"; did you mean '{close[0]}'?" if close else f"; it is one of: {', '.join(options)}"
