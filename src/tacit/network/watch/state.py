"""Reads what a federation shows from its directory: the present round, the rounds made, ε, refusals."""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.files import read_lines
from tacit.base.locks import is_locked
from tacit.base.reading import is_figure, parse, read_object
from tacit.network import federation
from tacit.network.board import PROGRESS, ROUNDS
from tacit.network.status import orders, record, run_of
from tacit.privacy import ledger
from tacit.runs.directory import METRICS
from tacit.runs.spending import spending

_ROUNDS = 400  # that are shown, evenly over the run
_EVENTS = 12
_FIGURES = (  # of progress.json
    *("asked", "goal", "accepted", "ends", "round", "rounds"),
    *("time", "connected", "bytes_down", "bytes_up"),
)
_LOG = 64 * 1024  # bytes of the log's end that are read


def state(place: Path) -> dict[str, Any]:
    """Returns the state of a federation and of its latest run."""
    home = federation.read(place)
    said: dict[str, Any] = {
        "time": time.time(),
        "address": home.address,
        "served": is_locked(place / "flower"),
        "invited": len(home.clients),
        "run": None,
        "now": None,
        "rounds": [],
        "events": [],
    }
    if latest := _latest(orders(place)):
        order = record(latest / "order.json")
        run, out = run_of(latest), Path(str(order.get("out")))
        config = _table(order.get("config"))
        planned = _table(config.get("training")).get("rounds")
        said["run"] = {
            "name": str(config.get("name", "")),
            "state": run["state"],
            "made": run["rounds"],
            "rounds": planned if type(planned) is int else run["rounds"] or 0,
            "directory": str(out),
            "why": str(_object(latest / "ended.json").get("why", "")),
        }
        said["now"] = _progress(latest / PROGRESS)
        said["rounds"] = thinned(read_lines(out / METRICS))
        said["events"] = events(place, latest.name)
        said["epsilon"], said["epsilon_reason"] = epsilon(out)
    return said


def thinned(rounds: list[dict[str, Any]], most: int = _ROUNDS) -> list[dict[str, Any]]:
    """Returns at most so many of the rounds, evenly, and the last one always.

    >>> [r["round"] for r in thinned([{"round": n} for n in range(1, 8)], 3)]
    [1, 4, 7]
    """
    step = -(-len(rounds) // most) or 1
    return rounds[(len(rounds) - 1) % step :: step] if rounds else []


def events(place: Path, run: str) -> list[dict[str, Any]]:
    """Returns the latest lines of the log of rounds that are about a run, the newest first."""
    file = place / "logs" / ROUNDS
    if not file.is_file():
        return []
    with file.open("rb") as log:
        log.seek(max(0, file.stat().st_size - _LOG))
        lines = log.read().decode("utf-8", "replace").splitlines()
    found = []
    for line in reversed(lines):
        try:
            said = parse(line)
        except ValueError:  # cut off at the beginning, or by a crash
            continue
        if isinstance(said, dict) and said.get("run") == run:
            found.append(said)
    return found[:_EVENTS]


def epsilon(out: Path) -> tuple[float | None, str]:
    """Returns the ε that a run has spent so far, or None and why there is none."""
    if not (out / "config.toml").is_file():
        return None, "the run has not begun"
    file = out / ledger.NAME
    return _epsilon(out, file.stat().st_mtime_ns if file.is_file() else 0)


@lru_cache(maxsize=16)
def _epsilon(out: Path, changed: int) -> tuple[float | None, str]:
    try:
        said = spending(out)
    except TacitError as error:
        return None, str(error)
    return said["epsilon"], said["epsilon_reason"]


def _latest(every: list[Path]) -> Path | None:
    """Returns the order in progress, or the newest one."""
    running = [order for order in every if is_locked(order)]
    return (running or every or [None])[-1]  # type: ignore[list-item]


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _progress(file: Path) -> dict[str, Any] | None:
    """Returns the state of the present question; None without a file that `Board.tell` wrote."""
    said = _object(file)
    figures = all(is_figure(said.get(name)) for name in _FIGURES)
    words = isinstance(said.get("task"), str) and isinstance(said.get("refused"), dict)
    return said if figures and words else None


def _object(file: Path) -> dict[str, Any]:
    try:
        return read_object(file) if file.is_file() else {}
    except (OSError, ValueError):
        return {}
