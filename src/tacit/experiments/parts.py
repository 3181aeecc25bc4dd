"""Stores what an unfinished sweep has measured, and separates the processes that share it.

    results/.parts/NAME/HASH-SEED/        a row and a seed while they are measured; its process holds a lock on it
    results/.parts/NAME/HASH-SEED.json    the same when it is measured, until it is in results/NAME.json

A row with a seed is a cell; HASH is that of the row's settings. Results are written under a lock on the folder NAME,
for which others wait, so no process overwrites the cells of another.
"""

from __future__ import annotations

import itertools
import re
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, to_json, write_atomic
from tacit.base.locks import is_locked, made_and_held, remove_leftover
from tacit.base.reading import read_object
from tacit.experiments.entry import Entry, Row
from tacit.experiments.results import cells_of, measured, row_of, write


class Parts(NamedTuple):
    """Stores the unfinished sweep of an entry, next to its results."""

    entry: Entry
    out: Path

    @property
    def folder(self) -> Path:
        """Returns the folder of the sweep."""
        return self.out / ".parts" / self.entry.name

    @property
    def results(self) -> Path:
        """Returns the results file of the entry."""
        return self.out / f"{self.entry.name}.json"

    def cell(self, row: Row, seed: int) -> Path:
        """Returns the folder of a cell while it is measured."""
        return self.folder / f"{row.hash(self.entry.kind)}-{seed}"


def made(parts: Parts) -> None:
    """Makes the folder of a sweep, which git ignores."""
    make(parts.folder)
    ignored = parts.folder.parent / ".gitignore"
    if not ignored.is_file():
        write_atomic(ignored, "*\n")


def make(folder: Path) -> None:
    """Makes a folder, and those above it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None


def measure_alone(
    parts: Parts, row: Row, seed: int, again: bool, deadline: float, measure: Callable[[], dict[str, Any]]
) -> bool:
    """Measures a cell unless it is measured already; returns False if it is too late to begin.

    While another process measures it, this raises `InUse`.
    """
    folder = parts.cell(row, seed)
    if _is_there(parts, row, seed, again):
        return True
    if time.monotonic() > deadline:
        return False
    make(folder)
    with made_and_held(folder):
        if not _is_there(parts, row, seed, again):
            write_atomic(_kept(folder), to_json(measure()) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
    return True


def is_in_use(parts: Parts, row: Row, seeds: int) -> bool:
    """Returns whether other processes measure all missing seeds of a row."""
    known = measured(parts.entry, parts.out).get(row.label, {"seeds": []})["seeds"]
    missing = [seed for seed in range(seeds) if seed not in known]
    return bool(missing) and all(is_locked(parts.cell(row, seed)) for seed in missing)


def add(parts: Parts, row: Row, seeds: Sequence[int], again: bool) -> None:
    """Writes the measured seeds of a row into the results file, up to the first missing one.

    With `again` the earlier row stays until all seeds have been measured.
    """
    entry = parts.entry
    found = measured(entry, parts.out).get(row.label)
    own = found if found and "from" not in found else None
    cells = cells_of(own) if own and not again else {}
    files = {seed: _kept(parts.cell(row, seed)) for seed in seeds}
    cells |= {seed: _read(file) for seed, file in files.items() if seed not in cells and file.is_file()}
    first = list(itertools.takewhile(cells.__contains__, seeds))
    least = len(seeds) if again else len(own["seeds"]) + 1 if own else len(found["seeds"]) if found else 1
    if len(first) >= least:
        write(entry, [row_of(row, entry.kind, first, [cells[seed] for seed in first])], parts.results)
        for seed in first:
            files[seed].unlink(missing_ok=True)


def clean(parts: Parts, result: Mapping[str, Any]) -> None:
    """Removes cells that are in the results, and those of settings that no row has any more."""
    known = {row["configuration"]: row["seeds"] for row in result["rows"]}
    hashes = {row.hash(parts.entry.kind) for row in parts.entry.rows}
    for path in parts.folder.glob("*-*"):
        name = re.fullmatch(r"([0-9a-f]{12})-(\d+)(\.json)?", path.name)
        if name and (name[1] not in hashes or int(name[2]) in known.get(name[1], ())):
            remove_leftover(path)


def _kept(folder: Path) -> Path:
    """Returns the file of a measured cell."""
    return folder.with_suffix(".json")


def _is_there(parts: Parts, row: Row, seed: int, again: bool) -> bool:
    if _kept(parts.cell(row, seed)).is_file():
        return True
    found = None if again else measured(parts.entry, parts.out).get(row.label)
    return found is not None and "from" not in found and seed in found["seeds"]


def _read(kept: Path) -> dict[str, Any]:
    try:
        return read_object(kept)
    except (OSError, ValueError):
        raise TacitError(f"{kept}: not a measured row of Tacit; remove it and measure again") from None
