"""Writes and reads a client's journal: what it took part in, one line a task, for its owner (`tacit federation log`).

The journal is next to the invitation and never leaves the device. It has times, kinds of work, rounds and reasons, and
nothing of the text or of an update.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.files import append_line
from tacit.base.reading import parse, read_regular

ANSWERED = "answered"
CLOCK = "the clock has gone back: the period counts from here"


def write(file: Path, now: float, line: Mapping[str, Any]) -> dict[str, Any]:
    """Appends a line about something that ended now, and returns it with its time."""
    time = datetime.datetime.fromtimestamp(now, datetime.UTC).isoformat(timespec="seconds")
    whole = {"time": time, **line}
    append_line(file, whole)
    return whole


def last_answers(file: Path) -> dict[str, float]:
    """Returns when a client has last done each kind of work, by the order of the lines."""
    latest: dict[str, float] = {}
    for said in lines(file):
        try:
            if said["ended"] in (ANSWERED, CLOCK):
                latest[str(said["task"])] = datetime.datetime.fromisoformat(said["time"]).timestamp()
        except (ValueError, TypeError, KeyError, OverflowError):  # not a line of Tacit's
            continue
    return latest


def lines(file: Path) -> list[dict[str, Any]]:
    """Returns the lines of a journal, none without a journal; skips a line that a crash cut short."""
    try:
        written = read_regular(file).splitlines()
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TacitError(f"{file}: cannot be read ({error.strerror}); restore it, or remove it") from None
    said = []
    for line in written:
        with contextlib.suppress(ValueError):
            said.append(parse(line))
    return [line for line in said if isinstance(line, dict)]
