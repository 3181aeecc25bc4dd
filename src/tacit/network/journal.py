"""A client's journal: what it took part in, one line a task, for its person (`tacit federation log`).

It lies beside the invitation and never leaves the device. It has times, kinds of work, rounds and reasons, and nothing
of the text or of an update.
"""

from __future__ import annotations

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
    try:
        lines = read_regular(file).splitlines()
    except FileNotFoundError:
        return latest
    except OSError as error:
        raise TacitError(f"{file}: {error.strerror}; without it the period cannot be kept") from None
    for line in lines:
        try:
            said: Any = parse(line)
            if said["ended"] in (ANSWERED, CLOCK):
                latest[str(said["task"])] = datetime.datetime.fromisoformat(said["time"]).timestamp()
        except (ValueError, TypeError, KeyError, OverflowError):  # a line that a crash cut short
            continue
    return latest
