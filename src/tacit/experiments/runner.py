"""Measures an entry: every row with every seed, each saved as soon as it is done.

A killed sweep resumes: finished parts are in `.parts`, named by the hash of their settings and the seed, so only rows
whose settings have changed are measured again. Several processes may share a sweep (`parts`).

Two more kinds of rows are skipped unless `again` is set: rows in the results file with their current settings (a row
with too few seeds gets the missing ones), and rows whose run another entry has measured already (the row without noise
of `noise` is a row of `table-2`, for example).
"""

from __future__ import annotations

import contextlib
import importlib
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.locks import InUse, remove_leftovers, waited_for
from tacit.base.progress import Progress, no_progress
from tacit.experiments import parts
from tacit.experiments.entry import Entry, Row, Settings, entries
from tacit.experiments.parts import Parts
from tacit.experiments.results import Measured, cell, check_folder, measured, row_of, write

Say = Callable[[str], None]


class Place(NamedTuple):
    """Holds where a row is measured: the data directory, the folder for its files, and a callback for progress."""

    data: Path | None
    folder: Path
    say: Say = lambda words: None


Measure = Callable[[Settings, int, Place], Measured]


def _module(kind: str) -> ModuleType:
    name = f"tacit.experiments.kinds.{kind}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:  # the kind exists, but one of its imports is missing
            raise
        raise TacitError(f"unknown kind of experiment '{kind}'; see tacit.experiments.kinds") from None


def measure_of(kind: str) -> Measure:
    """Returns the function that measures a row of this kind: `measure` of its module."""
    return _module(kind).measure


def run(
    entry: Entry,
    out: Path,
    data: Path | None = None,
    seeds: int | None = None,
    only: str = "",
    progress: Progress = no_progress,
    again: bool = False,
    minutes: float = math.inf,
    some: Sequence[Row] | None = None,
    in_use: Say = lambda words: None,
) -> dict[str, Any]:
    """Measures the missing rows of an entry, writes `out`/NAME.json and returns its content.

    Every seed of a row is written as soon as it is measured. After `minutes` no other seed is begun. `some` are the
    rows to measure, instead of those that contain `only`. Several processes may run one entry, and each measures only
    what no other process has. So rows in use elsewhere are missing in the returned content, and are given to `in_use`.
    """
    numbers = list(range(entry.seeds if seeds is None else seeds))
    known = {} if again else measured(entry, out)
    complete = {
        label for label, row in known.items() if "from" not in row and len(row["seeds"]) >= len(numbers)
    }
    wanted = chosen(entry, only) if some is None else some
    rows = [row for row in wanted if row.label not in complete]
    taken = [] if again else borrowed(entry, rows, numbers, out)
    there = {row["label"] for row in taken}
    todo = [row for row in rows if row.label not in there]
    _check(entry, todo)
    check_folder(out)
    sweep = Parts(entry, out)
    parts.made(sweep)
    with waited_for(sweep.folder):
        remove_leftovers(sweep.folder)
        write(entry, taken, sweep.results)
    deadline, every = time.monotonic() + 60 * minutes, max(1, len(todo) * len(numbers))
    measure = measure_of(entry.kind)
    for n, (row, seed) in enumerate((row, seed) for row in todo for seed in numbers):
        words = f"{entry.name}: {row.label}, seed {seed}"
        progress(words, n / every)
        place = _place(data, sweep.cell(row, seed), progress, n / every, words)
        try:
            if not parts.measure_alone(
                sweep, row, seed, again, deadline, partial(_cell, row, seed, measure, place)
            ):
                break
        except InUse:
            in_use(words)
        with waited_for(sweep.folder):
            parts.add(sweep, row, numbers, again)
    else:
        progress("done", 1.0)
    with waited_for(sweep.folder):
        result = write(entry, [], sweep.results)
        if not again:
            parts.clean(sweep, result)
        with contextlib.suppress(OSError):  # it holds rows that are not finished
            sweep.folder.rmdir()
    return result


def _check(entry: Entry, rows: Sequence[Row]) -> None:
    """Checks the settings of all rows before the first one is measured, if the kind has a `check` function."""
    check = getattr(_module(entry.kind), "check", lambda settings: None)
    for row in rows:
        try:
            check(row.settings)
        except TacitError as error:
            raise TacitError(f"experiment '{entry.name}', row '{row.label}': {error}") from None


def borrowed(entry: Entry, rows: Sequence[Row], seeds: Sequence[int], folder: Path) -> list[dict[str, Any]]:
    """Returns the rows whose runs another entry has measured with these seeds, if the kind has a `borrow` function."""
    borrow = getattr(_module(entry.kind), "borrow", None)
    if borrow is None or not rows:
        return []
    others = [other for other in entries() if other.kind == entry.kind and other.name != entry.name]
    lenders = [
        ([other.name, label], lent)
        for other in others
        for label, lent in measured(other, folder).items()
        if "from" not in lent and lent["seeds"][: len(seeds)] == list(seeds)
    ]
    taken = []
    for row in rows:
        for source, lent in lenders:
            if values := borrow(row.settings, lent):
                changed = {
                    "label": row.label,
                    "configuration": row.hash(entry.kind),
                    "settings": dict(row.settings),
                }
                taken.append({**lent, **changed, "values": values, "from": source})
                break
    return taken


def run_all(
    chosen: Sequence[Entry],
    out: Path,
    data: Path | None = None,
    seeds: int | None = None,
    only: str = "",
    progress: Progress = no_progress,
    again: bool = False,
    minutes: float = math.inf,
) -> list[dict[str, Any]]:
    """Runs entries one after another; the minutes are those of all of them together."""
    began, results = time.monotonic(), []
    for entry in chosen:
        left = max(0.0, minutes - (time.monotonic() - began) / 60)
        results.append(run(entry, out, data, seeds, only, progress, again, left))
    return results


def run_quickly(
    entry: Entry,
    out: Path | None = None,
    data: Path | None = None,
    seeds: int | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Measures the scaled-down entry. With `out`, writes `out`/NAME.quick.json, never NAME.json."""
    if out:
        check_folder(out)
    small, numbers, measure = entry.quickly(), range(seeds or 1), measure_of(entry.kind)
    todo = [(row, seed) for row in small.rows for seed in numbers]
    cells: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory(prefix="tacit-quick-") as name:
        here = Path(name)
        for n, (row, seed) in enumerate(todo):
            words = f"{small.name}: {row.label}, seed {seed}"
            progress(words, n / len(todo))
            folder = here / "parts" / f"{row.hash(small.kind)}-{seed}"
            parts.make(folder)
            place = _place(data, folder, progress, n / len(todo), words)
            cells.setdefault(row.label, []).append(_cell(row, seed, measure, place))
        progress("done", 1.0)
        finished = [row_of(row, small.kind, numbers, cells[row.label]) for row in small.rows]
        return write(small, finished, (out or here) / f"{entry.name}.quick.json")


def chosen(entry: Entry, only: str) -> Sequence[Row]:
    """Returns the rows whose label contains `only`."""
    rows = [row for row in entry.rows if only.lower() in row.label.lower()]
    if not rows:
        labels = "; ".join(row.label for row in entry.rows)
        raise TacitError(f"no row of '{entry.name}' has '{only}' in its label; the labels are: {labels}")
    return rows


def _place(data: Path | None, folder: Path, progress: Progress, done: float, words: str) -> Place:
    return Place(data, folder, lambda more: progress(f"{words}: {more}", done))


def _cell(row: Row, seed: int, measure: Measure, place: Place) -> dict[str, Any]:
    """Measures one row with one seed."""
    started = time.perf_counter()
    return cell(measure(row.settings, seed, place), time.perf_counter() - started)
