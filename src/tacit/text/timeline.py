"""A corpus in the order in which it is used: person after person, each person's messages by time.

A person whose messages all have a time is sorted by it, numbers as numbers and dates as the text they are;
any other keeps the order of the file. Times are compared as arrays, for some people at once: no message
becomes an object for it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.base.errors import TacitError
from tacit.text.flat import cells, ends, parts
from tacit.text.records import DATE, NUMBER, Records


def arranged(path: Path, records: Records, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of a file's messages, [messages], and where in it each person's begin, [people + 1].

    `starts`: where in the data each message begins, [messages].
    """
    order = np.argsort(records.person, kind="stable")
    sizes = np.bincount(records.person, minlength=len(records.users))  # [people]
    offsets = ends(sizes)
    kind = records.kind[order]
    dates, numbers = (np.diff(ends(kind == which)[offsets]) for which in (DATE, NUMBER))  # [people]
    _refuse_both(path, records, order, offsets, (dates + numbers == sizes) & (dates > 0) & (numbers > 0))
    for which, timed in ((DATE, dates), (NUMBER, numbers)):
        people = np.flatnonzero((timed == sizes) & (sizes > 1))
        for some in parts(sizes[people]):
            who, held = offsets[people[some]], sizes[people[some]]
            places = cells(who, held)
            mine = order[places]
            whose = np.repeat(np.arange(len(held)), held)
            length = records.spans[mine, 0]  # tells two times apart of which one ends in NULs
            order[places] = mine[np.lexsort((length, _times(records, starts, mine, which), whose))]
    return order, offsets


def _refuse_both(
    path: Path, records: Records, order: np.ndarray, offsets: np.ndarray, both: np.ndarray
) -> None:
    for k in np.flatnonzero(both)[:1].tolist():
        mine = order[offsets[k] : offsets[k + 1]]
        other = mine[records.kind[mine] != records.kind[mine[0]]][0]
        raise TacitError(
            f'{path}, line {records.line[other]}: "time" of {records.users[k]!r} is both dates and numbers; '
            "use one kind"
        )


def _times(records: Records, starts: np.ndarray, messages: np.ndarray, which: int) -> np.ndarray:
    """What these messages are sorted by, [messages]."""
    starts, length = starts[messages], records.spans[messages, 0]
    data, width = np.frombuffer(records.data, np.uint8), int(length.max())
    padded = np.zeros(len(messages) * width, np.uint8)
    for some in parts(length):
        there = cells(np.arange(some.start, some.stop) * width, length[some])
        padded[there] = data[cells(starts[some], length[some])]
    text = padded.view(f"S{width}")
    if which == DATE:
        return text
    try:
        return text.astype(np.int64)
    except (OverflowError, ValueError):  # more than 63 bits: as Python's numbers
        return np.unique(np.array([int(t) for t in text.tolist()], object), return_inverse=True)[1]
