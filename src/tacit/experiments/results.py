"""What was measured, in small JSON files that can be read without Tacit.

    results/NAME.json    the rows of an entry that were measured: for each its label, the hash of its configuration,
                         its settings, and by seed the values, curves (thinned) and seconds; when and on what machine
    results/.parts/      one file for each row and seed that is done, and what is needed to go on with one that is
                         not; kept until the entry is whole, so that a killed sweep loses the row it was at

A file is written whole or not at all. Rows may come from several machines; each says its own.
"""

from __future__ import annotations

import datetime
import json
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
from tacit.experiments.entry import Entry, Row

POINTS = 40  # of a curve, in a results file

Curve = tuple[Sequence[float], Sequence[float]]


class Measured(NamedTuple):
    """One row with one seed. A value of None means that there is none: a target not reached, a run that diverged."""

    values: Mapping[str, float | None]
    curves: Mapping[str, Curve] = {}


def machine() -> str:
    """The accelerator, or the processor and its cores, as the system names them."""
    import jax

    device = jax.devices()[0]
    if device.platform != "cpu":
        count = len(jax.devices())
        return f"{'one' if count == 1 else count} {device.device_kind}"
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return f"{named[1] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def today() -> str:
    """The date, as results carry it."""
    return str(datetime.date.today())


def thinned(curve: Curve, points: int = POINTS) -> dict[str, list[float]]:
    """At most so many points of a curve, its first and last among them, five digits each.

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


def cell(found: Measured, seconds: float) -> dict[str, Any]:
    """One row with one seed, as it is kept."""
    values = {k: v if v is None else _short(float(v), 7) for k, v in found.values.items()}
    return {
        "values": {k: v if v is not None and math.isfinite(v) else None for k, v in values.items()},
        "curves": {k: thinned(v) for k, v in found.curves.items()},
        "seconds": round(seconds, 2),
        "machine": machine(),
        "date": today(),
    }


def row_of(row: Row, kind: str, seeds: Sequence[int], cells: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """A row of a results file from its cells."""
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


def write(entry: Entry, rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Leave a results file: these rows, and those that an earlier one had of the same configuration."""
    import jax

    new = {row["label"]: row for row in rows}
    old = {row["label"]: row for row in _current(entry, load(path))}
    kept = [new.get(r.label) or old.get(r.label) for r in entry.rows]
    found = {
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
    write_atomic(path, compact(found) + "\n")
    return found


def compact(value: Any) -> str:
    """JSON with every list of numbers on one line.

    >>> compact({"x": [1, 2.5], "y": None})
    '{\\n "x": [1, 2.5],\\n "y": null\\n}'
    """
    return re.sub(r"\[\s+([^\[\]{}]*?)\s+\]", lambda m: f"[{' '.join(m[1].split())}]", to_json(value))


def load(path: Path) -> dict[str, Any]:
    """A results file; nothing where there is none."""
    if not path.is_file():
        return {"rows": []}
    try:
        found = json.loads(path.read_text("utf-8"))
        assert isinstance(found["rows"], list) and all("label" in row for row in found["rows"])
    except (ValueError, KeyError, TypeError, AssertionError):
        raise TacitError(
            f"{path}: not a results file of Tacit; restore it, or remove it and measure again"
        ) from None
    return found


def _current(entry: Entry, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The rows whose configuration is what the entry's file says today."""
    hashes = {row.label: row.hash(entry.kind) for row in entry.rows}
    return [row for row in found["rows"] if hashes.get(row["label"]) == row["configuration"]]


def measured(entry: Entry, folder: Path) -> dict[str, dict[str, Any]]:
    """The rows of an entry that were measured as its file says today, by label."""
    return {row["label"]: row for row in _current(entry, load(folder / f"{entry.name}.json"))}


def mean(values: Sequence[float | None]) -> float | None:
    """The mean over seeds; None where some seed has no value."""
    real = [v for v in values if v is not None]
    return statistics.fmean(real) if real and len(real) == len(values) else None


def figure(values: Sequence[float | None], shown: Callable[[float], str], around: bool = True) -> str:
    """Mean (± standard deviation) of the seeds that have a value, saying how many have none.

    >>> figure([1.0, 3.0, None], "{:.1f}".format), figure([1.0, 3.0], "{:.0f}".format, around=False)
    ('2.0 ± 1.4 (1 of 3 never)', '2')
    """
    real = [v for v in values if v is not None]
    if not real:
        return "—"
    spread = f" ± {shown(statistics.stdev(real))}" if around and len(real) > 1 else ""
    never = f" ({len(values) - len(real)} of {len(values)} never)" if len(real) < len(values) else ""
    return shown(statistics.fmean(real)) + spread + never
