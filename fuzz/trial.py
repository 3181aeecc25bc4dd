"""What a trial is and how it may end.

A trial gets random numbers and a box (`fuzz.box`). It returns "ok" if it ended well, or "refused" if Tacit refused
the input with one line. It raises `Fault` for anything else:

    crash      an exception that is not a TacitError, a traceback, an exit code other than 0 and 2, death by a signal
    internal   the line "this should not have happened"
    hang       no end within 10 seconds, twice: the second time without other trials beside it
    foreign    a file was touched that is not the command's
    memory     more than twice the memory of a plain run
    noise      an error of more than one line, control characters on the terminal, extra lines on standard error
    mixed      after a kill: neither the old state nor the new one
    nonsense   a damaged file was accepted and gives probabilities that are none
    disagree   two readers of one format disagree about a file
"""

from __future__ import annotations

import random
import traceback
from collections.abc import Callable
from typing import Literal, NamedTuple

Ending = Literal["ok", "refused"]
FAULTS = ("crash", "internal", "hang", "foreign", "memory", "noise", "mixed", "nonsense", "disagree")
LIMIT = 10.0  # seconds; a trial that takes longer hangs
LONGEST_LINE = 100_000  # characters of an error; a longer one quotes its input without bound


class Fault(BaseException):
    """A trial failed: its kind, one of `FAULTS`, and what was seen. Code under test must not catch it by accident."""

    def __init__(self, kind: str, told: str) -> None:
        super().__init__(f"{kind}: {told}")
        self.kind, self.told = kind, told


class Record(NamedTuple):
    """One trial that was made."""

    category: str
    number: int
    ending: str  # "ok", "refused" or one of `FAULTS`
    told: str = ""
    seconds: float = 0.0
    peak_mb: float = 0.0
    processes: int = 0  # whole processes that the trial started
    commands: tuple[str, ...] = ()  # commands that they ran
    again: bool = False  # whether this is its second try, alone, after a hang


def drawing(category: str, number: int, seed: int) -> random.Random:
    """Returns the random numbers of one trial."""
    return random.Random(f"{category} {number} {seed}")


def check_line(line: str, printed: bool = False) -> None:
    """Raises a fault unless this is one line; a `printed` one must also be fit for a terminal."""
    if not line.strip():
        raise Fault("noise", "an error without words")
    if "\n" in line:
        raise Fault("noise", f"an error of several lines: {line[:300]!r}")
    if len(line) > LONGEST_LINE:
        raise Fault("noise", f"an error of {len(line):,} characters: {line[:200]!r} …")
    if printed and (bad := control_character(line)):
        raise Fault("noise", f"the control character {bad!r} in an error: {line[:300]!r}")


def control_character(text: str) -> str | None:
    """Returns the first character that could command a terminal; None if there is none.

    >>> control_character("a\\tb\\n"), control_character("a\\x1b[2J")
    (None, '\\x1b')
    """
    return next((c for c in text if (ord(c) < 32 and c not in "\t\n") or 127 <= ord(c) < 160), None)


def refusable(call: Callable[[], object]) -> Ending:
    """Runs Python code of Tacit: "ok", "refused" if it raises a TacitError of one line; a fault otherwise."""
    from tacit.base.errors import TacitError

    try:
        call()
    except TacitError as error:
        check_line(str(error))
        return "refused"
    except Fault:
        raise
    except Exception as error:
        raise Fault("crash", shown(error)) from None
    return "ok"


def shown(error: BaseException) -> str:
    """Returns an exception in a few words, with the place in Tacit that raised it."""
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "/tacit/" in f.filename]
    where = f" at {frames[-1].filename.rpartition('/tacit/')[2]}:{frames[-1].name}" if frames else ""
    return f"{type(error).__name__}{where}: {' '.join(str(error).split())[:300]}"
