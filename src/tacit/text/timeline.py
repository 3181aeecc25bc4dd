"""Sorts the messages of a corpus by person, and each person's messages by time.

If all messages of a person have a time, they are sorted by it, numbers as numbers and dates as text; otherwise they
keep the order of the file. Times are compared as arrays, for many people at once, without an object per message.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.base.errors import TacitError
from tacit.text.flat import cells, ends, parts
from tacit.text.records import DATE, NUMBER, Records


def arranged(path: Path, records: Records, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the order of a file's messages, [messages], and the start of each person in it, [people + 1].

    `starts` [messages] is where each message begins in the data.
    """
    order = np.argsort(records.person, kind="stable")
    sizes = np.bincount(records.person, minlength=len(records.users))  # [people]
    offsets = ends(sizes)
    kind = records.kind[order]
    dates, numbers = (np.diff(ends(kind == which)[offsets]) for which in (DATE, NUMBER))  # [people]
    _refuse_both(path, records, order, offsets, (dates + numbers == sizes) & (dates > 0) & (numbers > 0))
    for which, timed in ((DATE, dates), (NUMBER, numbers)):
        people = np.flatnonzero((timed == sizes) & (sizes > 1))
        for part in parts(sizes[people]):
            first, held = offsets[people[part]], sizes[people[part]]
            places = cells(first, held)
            messages = order[places]
            person = np.repeat(np.arange(len(held)), held)
            length = records.spans[messages, 0]  # distinguishes times that differ only in trailing NULs
            by_time = np.lexsort((length, _times(records, starts, messages, which), person))
            order[places] = messages[by_time]
    return order, offsets


def _refuse_both(
    path: Path, records: Records, order: np.ndarray, offsets: np.ndarray, both: np.ndarray
) -> None:
    for k in np.flatnonzero(both)[:1].tolist():
        theirs = order[offsets[k] : offsets[k + 1]]
        other = theirs[records.kind[theirs] != records.kind[theirs[0]]][0]
        raise TacitError(
            f'{path}, line {records.line[other]}: "time" of {records.users[k]!r} is both dates and numbers; '
            "use only one kind"
        )


def _times(records: Records, starts: np.ndarray, messages: np.ndarray, which: int) -> np.ndarray:
    """Returns the sort keys of these messages, [messages]."""
    starts, length = starts[messages], records.spans[messages, 0]
    data, width = np.frombuffer(records.data, np.uint8), int(length.max())
    padded = np.zeros(len(messages) * width, np.uint8)
    for part in parts(length):
        target = cells(np.arange(part.start, part.stop) * width, length[part])
        padded[target] = data[cells(starts[part], length[part])]
    text = padded.view(f"S{width}")
    if which == DATE:
        return text
    try:
        return text.astype(np.int64)
    except (OverflowError, ValueError):  # more than 63 bits: compare as Python integers
        return np.unique(np.array([int(t) for t in text.tolist()], object), return_inverse=True)[1]
