"""Reads and writes measured results, as small JSON files that can be read without Tacit.

    results/NAME.json    the measured rows of an entry, each with its label, the hash of its configuration, its
                         settings, the values, curves (thinned) and seconds of every seed, the date and the machine
    results/.parts/      one file for each finished row and seed, and the state of an unfinished one, to resume it;
                         removed when the entry is complete, so that a killed sweep loses one row at most

Files are written atomically. Rows may come from several machines, so each row names its own.
"""

from __future__ import annotations

import contextlib
import datetime
import math
import os
import platform
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tacit import __version__
from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, to_json, write_atomic
from tacit.base.reading import read_object
from tacit.base.transaction import holds_nothing
from tacit.experiments.entry import Entry, Row

POINTS = 40  # of a curve, in a results file

Curve = tuple[Sequence[float], Sequence[float]]


class Measured(NamedTuple):
    """The measurement of one row with one seed; None marks a target that was not reached or a run that diverged."""

    values: Mapping[str, float | None]
    curves: Mapping[str, Curve] = {}


def machine() -> str:
    """Returns the name of the accelerator, or of the processor with its number of cores."""
    import jax

    device = jax.devices()[0]
    if device.platform != "cpu":
        count = len(jax.devices())
        return f"{'one' if count == 1 else count} {device.device_kind}"
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return f"{named[1] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def today() -> str:
    """Returns the date in the format of the results files."""
    return str(datetime.date.today())


def thinned(curve: Curve, points: int = POINTS) -> dict[str, list[float]]:
    """Returns at most `points` points of a curve, including the first and last, rounded to five digits.

    >>> thinned(([0, 1, 2, 3], [1.0, 0.51, 0.333333, 0.25]), points=3)
    {'x': [0, 1, 3], 'y': [1.0, 0.51, 0.25]}
    """
    x, y = curve
    last = len(x) - 1
    chosen = (
        sorted({i * last // max(1, points - 1) for i in range(points)}) if len(x) > points else range(len(x))
    )
    return {"x": [x[i] for i in chosen], "y": [_short(y[i]) for i in chosen]}


def _short(value: float, digits: int = 5) -> float:
    return float(f"{value:.{digits}g}") if math.isfinite(value) else value


def cell(result: Measured, seconds: float) -> dict[str, Any]:
    """Returns the JSON record of one row with one seed."""
    values = {k: v if v is None else _short(float(v), 7) for k, v in result.values.items()}
    return {
        "values": {k: v if v is not None and math.isfinite(v) else None for k, v in values.items()},
        "curves": {k: thinned(v) for k, v in result.curves.items()},
        "seconds": round(seconds, 2),
        "machine": machine(),
        "date": today(),
    }


def row_of(row: Row, kind: str, seeds: Sequence[int], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Returns a row of a results file from its cells, one for each seed."""
    names = sorted({name for c in cells for name in c["values"]})
    curves = sorted({name for c in cells for name in c["curves"]})
    return {
        "label": row.label,
        "configuration": row.hash(kind),
        "settings": dict(row.settings),
        "seeds": list(seeds),
        "values": {n: [c["values"].get(n) for c in cells] for n in names},
        "curves": {n: [c["curves"].get(n) for c in cells] for n in curves},
        "seconds": [c["seconds"] for c in cells],
        "machine": cells[-1]["machine"],
        "date": cells[-1]["date"],
    }


def cells_of(row: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Returns the cells that a row was made of, by seed, so that more seeds can be added to it."""
    return {
        seed: {
            "values": {n: values[i] for n, values in row["values"].items()},
            "curves": {n: curves[i] for n, curves in row["curves"].items() if curves[i] is not None},
            "seconds": row["seconds"][i],
            "machine": row["machine"],
            "date": row["date"],
        }
        for i, seed in enumerate(row["seeds"])
    }


def write(entry: Entry, rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Writes a results file with these rows and the earlier rows whose configuration has not changed."""
    import jax

    new, earlier = {row["label"]: row for row in rows}, load(path)
    if earlier.get("entry", entry.name) != entry.name:
        raise TacitError(f"{path}: these are not results of '{entry.name}'; choose another --out")
    old = {row["label"]: row for row in _current(entry, earlier)}
    kept = [new.get(r.label) or old.get(r.label) for r in entry.rows]
    content = {
        "entry": entry.name,
        "configuration": entry.hash(),
        "versions": {"tacit": __version__, "jax": jax.__version__},
        "seconds": round(sum(sum(row["seconds"]) for row in kept if row and "from" not in row), 1),
        "rows": [row for row in kept if row],
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(path.parent, error) from None
    write_atomic(path, compact(content) + "\n")
    return content


def compact(value: Any) -> str:
    """Returns JSON with every list of numbers on one line.

    >>> compact({"x": [1, 2.5], "y": None})
    '{\\n "x": [1, 2.5],\\n "y": null\\n}'
    """
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", to_json(value))


def load(path: Path) -> dict[str, Any]:
    """Reads a results file; a missing file has no rows."""
    if not path.is_file():
        return {"rows": []}
    try:
        content = read_object(path)
        assert isinstance(content["rows"], list)
        assert all(isinstance(row["label"], str) for row in content["rows"])
    except (OSError, ValueError, KeyError, TypeError, AssertionError):
        raise TacitError(
            f"{path}: not a results file of Tacit; restore it, or remove it and measure again"
        ) from None
    return content


def check_folder(out: Path) -> None:
    """Refuses a directory that has other files but no results, so that nothing is written there by mistake."""
    if not out.is_dir() or holds_nothing(out) or (out / ".parts").is_dir():
        return
    for path in out.glob("*.json"):
        with contextlib.suppress(TacitError):
            load(path)
            return
    raise TacitError(f"{out} holds other files and no results of `tacit reproduce`; choose another --out")


def _current(entry: Entry, content: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Returns the rows whose configuration is still that of the entry's file."""
    hashes = {row.label: row.hash(entry.kind) for row in entry.rows}
    return [row for row in content["rows"] if hashes.get(row["label"]) == row["configuration"]]


def measured(entry: Entry, folder: Path) -> dict[str, dict[str, Any]]:
    """Returns the measured rows of an entry, by label; rows with outdated settings are left out."""
    return {row["label"]: row for row in _current(entry, load(folder / f"{entry.name}.json"))}


def mean(values: Sequence[float | None]) -> float | None:
    """Returns the mean over seeds; None if a seed has no value."""
    real = [v for v in values if v is not None]
    return statistics.fmean(real) if real and len(real) == len(values) else None


def figure(values: Sequence[float | None], shown: Callable[[float], str], around: bool = True) -> str:
    """Formats mean ± standard deviation over the seeds that have a value, and how many seeds have none.

    >>> figure([1.0, 3.0, None], "{:.1f}".format), figure([1.0, 3.0], "{:.0f}".format, around=False)
    ('2.0 ± 1.4 (1 of 3 never)', '2')
    """
    real = [v for v in values if v is not None]
    if not real:
        return "—"
    spread = f" ± {shown(statistics.stdev(real)).lstrip('+')}" if around and len(real) > 1 else ""
    never = f" ({len(values) - len(real)} of {len(values)} never)" if len(real) < len(values) else ""
    return shown(statistics.fmean(real)) + spread + never
