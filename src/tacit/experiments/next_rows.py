"""Picks the rows to measure next, over all entries (`tacit reproduce --all`).

Two passes, so that every table says something before any is finished:

1. rows without a result, with one seed: entries without any result first, then those with the fastest rows
2. rows that claims compare and that lack seeds, with all seeds of the entry: the fastest first

Nothing is remembered between calls: what is next follows from the results directory. So several processes can share
the work (`--processes`), each with the next row that no other has.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.printable import one_line
from tacit.base.progress import Progress, no_progress
from tacit.experiments import runner
from tacit.experiments.entry import Entry, Row
from tacit.experiments.parts import Parts, is_in_use
from tacit.experiments.results import measured

_PATIENCE = 2.0  # seconds between two looks at rows that other processes measure


class Next(NamedTuple):
    """A row to measure, and with how many seeds."""

    entry: Entry
    row: Row
    seeds: int


class Done(NamedTuple):
    """What a call measured, what is left, and what could not be measured."""

    measured: list[Next]
    left: int
    refused: dict[str, str]  # the error, by entry; by entry and row where only that row failed


def next_rows(entries: Sequence[Entry], out: Path) -> list[Next]:
    """Returns all rows that lack a result or a seed, the next one first."""
    known = {entry.name: measured(entry, out) for entry in entries}
    first = sorted(entries, key=lambda entry: (bool(known[entry.name]), _seconds(known[entry.name].values())))
    unrun = [
        Next(entry, row, 1) for entry in first for row in entry.rows if row.label not in known[entry.name]
    ]
    return unrun + sorted(
        _without_seeds(entries, known), key=lambda n: _seconds([known[n.entry.name][n.row.label]])
    )


def _without_seeds(entries: Sequence[Entry], known: Mapping[str, Mapping[str, Any]]) -> Iterator[Next]:
    for entry in entries:
        claimed = {label for claim in entry.claims for label in claim.labels}
        for row in entry.rows:
            found = known[entry.name].get(row.label)
            if found and row.label in claimed and len(found["seeds"]) < entry.seeds:
                yield Next(entry, row, entry.seeds)


def _seconds(rows: Any) -> float:
    """Returns the mean seconds of a seed."""
    every = [second for row in rows for second in row["seconds"]]
    return statistics.fmean(every) if every else 0.0


def run_next(
    entries: Sequence[Entry],
    out: Path,
    data: Path | None = None,
    minutes: float = math.inf,
    progress: Progress = no_progress,
) -> Done:
    """Measures what is next until the minutes are over; begins no row after that.

    An entry whose data is missing is left out, and so is a row that fails on the device, for want of memory, say;
    their errors are returned. Several processes may do this at once: a row that another one measures is put off, and
    at the end waited for, because that process may fail.
    """
    deadline = time.monotonic() + 60 * minutes
    done: list[Next] = []
    refused: dict[str, str] = {}
    tried: set[tuple[str, str, int]] = set()
    put_off: set[tuple[str, str, int]] = set()
    while time.monotonic() < deadline:
        todo = [n for n in next_rows(entries, out) if n.entry.name not in refused and _key(n) not in tried]
        ready = [n for n in todo if _key(n) not in put_off]
        if not todo:
            break
        if not ready:
            put_off.clear()
            time.sleep(_PATIENCE)
            continue
        entry, row, seeds = ready[0]
        if is_in_use(Parts(entry, out), row, seeds):
            put_off.add(_key(ready[0]))
            continue
        left = (deadline - time.monotonic()) / 60
        busy: list[str] = []
        try:
            runner.run(
                entry, out, data, seeds, progress=progress, minutes=left, some=[row], in_use=busy.append
            )
        except TacitError as error:
            refused[entry.name] = str(error)
            continue
        except RuntimeError as error:  # of JAX
            refused[f"{entry.name}, {row.label}"] = one_line(str(error))
        found = measured(entry, out).get(row.label)
        if found and len(found["seeds"]) >= seeds:
            done.append(ready[0])
        # of a row that another entry lends, seeds stay fewer
        (put_off if busy else tried).add(_key(ready[0]))
    return Done(done, len(next_rows(entries, out)), refused)


def _key(n: Next) -> tuple[str, str, int]:
    return n.entry.name, n.row.label, n.seeds
