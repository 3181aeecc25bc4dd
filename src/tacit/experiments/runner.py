"""Measures an entry: every row with every seed, each saved as soon as it is done.

A killed sweep resumes: finished parts are in `.parts`, named by the hash of their settings and the seed, so only rows
whose settings have changed are measured again. Two more kinds of rows are skipped unless `again` is set: rows in the
results file with their current settings (a row with too few seeds gets the missing ones), and rows whose run another
entry has measured already (the row without noise of `noise` is a row of `table-2`, for example).
"""

from __future__ import annotations

import contextlib
import importlib
import math
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, to_json, write_atomic
from tacit.base.locks import held, remove_leftovers
from tacit.base.progress import Progress, no_progress
from tacit.base.reading import read_object
from tacit.experiments.entry import Entry, Row, Settings, entries
from tacit.experiments.results import Measured, cell, cells_of, check_folder, measured, row_of, write

Say = Callable[[str], None]


class Place(NamedTuple):
    """Where a row is measured: the data directory, the folder for its files, and a callback for progress."""

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
) -> dict[str, Any]:
    """Measures the missing rows of an entry, writes `out`/NAME.json and returns its content.

    After `minutes` no further row or seed is begun, and the complete rows are written. `some` are the rows to measure,
    instead of those that contain `only`.
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
    parts = _parts(out, entry.name)
    with held(parts, out / f"{entry.name}.json"):
        remove_leftovers(parts)
        deadline = time.monotonic() + 60 * minutes
        earlier = {
            (label, seed): cell
            for label, row in known.items()
            if "from" not in row
            for seed, cell in cells_of(row).items()
        }
        finished = _cells(entry, todo, numbers, data, parts, progress, deadline, earlier)
        result = write(entry, [*taken, *finished], out / f"{entry.name}.json")
        done = there | {row["label"] for row in finished}
        for row in rows:
            if row.label in done:
                for kept in parts.glob(f"{row.hash(entry.kind)}-*.json"):
                    kept.unlink()
        if not any(parts.glob("*-*.json")):
            for begun in filter(_is_begun, parts.iterdir()):
                shutil.rmtree(begun, ignore_errors=True)
        with contextlib.suppress(OSError):  # it holds rows that are not finished
            parts.rmdir()
    return result


def _is_begun(path: Path) -> bool:
    """Whether this is the folder of a row and a seed: a hash of settings, a dash, a number."""
    return re.fullmatch(r"[0-9a-f]{12}-\d+", path.name) is not None and path.is_dir()


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
    small = entry.quickly()
    with tempfile.TemporaryDirectory(prefix="tacit-quick-") as folder:
        here = Path(folder)
        finished = _cells(small, small.rows, list(range(seeds or 1)), data, here / "parts", progress)
        return write(small, finished, (out or here) / f"{entry.name}.quick.json")


def chosen(entry: Entry, only: str) -> Sequence[Row]:
    """Returns the rows whose label contains `only`."""
    rows = [row for row in entry.rows if only.lower() in row.label.lower()]
    if not rows:
        labels = "; ".join(row.label for row in entry.rows)
        raise TacitError(f"no row of '{entry.name}' has '{only}' in its label; the labels are: {labels}")
    return rows


def _parts(out: Path, name: str) -> Path:
    """Returns the folder of an unfinished sweep, which git ignores."""
    parts = out / ".parts"
    try:
        (parts / name).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(parts, error) from None
    if not (parts / ".gitignore").is_file():
        write_atomic(parts / ".gitignore", "*\n")
    return parts / name


def _cells(
    entry: Entry,
    rows: Sequence[Row],
    seeds: Sequence[int],
    data: Path | None,
    parts: Path,
    progress: Progress,
    deadline: float = math.inf,
    earlier: Mapping[tuple[str, int], dict[str, Any]] | None = None,
) -> list[dict[str, Any]]:
    """Measures rows until the deadline; returns the complete ones. `earlier` are cells by label and seed."""
    measure, done, every = measure_of(entry.kind), 0, max(1, len(rows) * len(seeds))
    finished: list[dict[str, Any]] = []
    for row in rows:
        cells = []
        for seed in seeds:
            folder = parts / f"{row.hash(entry.kind)}-{seed}"
            if earlier and (row.label, seed) in earlier:
                cells.append(earlier[row.label, seed])
                done += 1
                continue
            if not folder.with_suffix(".json").is_file() and time.monotonic() > deadline:
                return finished
            words = f"{entry.name}: {row.label}, seed {seed}"
            progress(words, done / every)
            place = _place(data, folder, progress, done / every, words)
            cells.append(_cell(row, seed, measure, place))
            done += 1
        finished.append(row_of(row, entry.kind, seeds, cells))
    progress("done", 1.0)
    return finished


def _place(data: Path | None, folder: Path, progress: Progress, done: float, words: str) -> Place:
    return Place(data, folder, lambda more: progress(f"{words}: {more}", done))


def _cell(row: Row, seed: int, measure: Measure, place: Place) -> dict[str, Any]:
    """Returns one row with one seed: reads it if it was measured before, else measures and saves it."""
    kept = place.folder.with_suffix(".json")
    if kept.is_file():
        try:
            return read_object(kept)
        except (OSError, ValueError):
            raise TacitError(f"{kept}: not a measured row of Tacit; remove it and measure again") from None
    try:
        place.folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(place.folder, error) from None
    started = time.perf_counter()
    record = cell(measure(row.settings, seed, place), time.perf_counter() - started)
    write_atomic(kept, to_json(record) + "\n")
    shutil.rmtree(place.folder, ignore_errors=True)
    return record
