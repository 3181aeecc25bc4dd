"""Writes orders of work, which SuperLink's app carries out (`assignments`), and waits for their end.

An order is a directory in the federation's `runs/`, with `order.json`, and `ended.json` once it has ended. The app
locks the directory while it works, so a run whose process has died is distinguished from a running one.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tacit.base import settings
from tacit.base.errors import TacitError
from tacit.base.files import read_lines, write_atomic
from tacit.base.locks import is_locked
from tacit.base.reading import read_object
from tacit.network import federation, flower
from tacit.network.assignments import WORDS
from tacit.network.office import Terms
from tacit.network.training import check
from tacit.runs.config import Config
from tacit.runs.directory import METRICS
from tacit.text.vocabulary import Vocabulary

_ASKS = 30.0  # seconds between questions whether a run that has not begun has ended
_LOOK = 0.5
_LONGEST = 30 * 86400.0  # seconds that a round may wait for its clients
_MOST_ASKED = 10.0  # clients for each that is needed


def run(
    place: Path,
    config: Config,
    out: Path,
    terms: Terms,
    resume: bool = False,
    on_round: Callable[[dict[str, Any]], None] = lambda record: None,
) -> None:
    """Trains a configuration with the clients of a federation, and waits for the end."""
    check_served(place)
    check(config, out, resume)
    said = {"config": settings.tables(config), "resume": resume or (out / "config.toml").is_file()}
    give(place, "train", said, out, terms, on_round=on_round)


def check_served(place: Path) -> None:
    """Refuses a federation whose server is not running."""
    federation.read(place)
    if not is_locked(place / "flower"):
        raise TacitError(
            f"the server of {place} is not running; start it with `tacit federation server {place}`"
        )


def give(
    place: Path,
    work: str,
    said: Mapping[str, Any],
    out: Path,
    terms: Terms,
    words: Vocabulary | None = None,
    on_round: Callable[[dict[str, Any]], None] = lambda record: None,
) -> Any:
    """Lets the server do some work and waits for the end; returns its answer. The result is written to `out`."""
    from tacit.network.app import write_bundle

    if not 1 <= terms.deadline <= _LONGEST:  # also refuses NaN
        raise TacitError(f"--deadline {terms.deadline:g}: give a number of seconds from 1 to {_LONGEST:,.0f}")
    if not 1 <= terms.over <= _MOST_ASKED:
        raise TacitError(f"--over {terms.over:g}: give a number from 1 to {_MOST_ASKED:g}")
    order = place.resolve() / "runs" / f"{time.strftime('%Y%m%d-%H%M%S')}-{secrets.token_hex(2)}"
    order.mkdir()
    common = {"work": work, "federation": str(place.resolve()), "out": str(out.resolve())}
    if words is not None:
        words.save(order / WORDS)
    write_atomic(
        order / "order.json", json.dumps({**common, "terms": terms._asdict(), **said}, indent=1) + "\n"
    )
    try:
        number = flower.submit(place, write_bundle(place), {"order": str(order)})
    except TacitError:
        shutil.rmtree(order)
        raise
    try:
        return _watch(place, order, number, out, on_round)
    except BaseException:
        if not (order / "ended.json").is_file():
            with contextlib.suppress(TacitError):  # a server that has died has no run to stop
                flower.abandon(place, number)
        raise


def _watch(
    place: Path, order: Path, number: int, out: Path, on_round: Callable[[dict[str, Any]], None]
) -> Any:
    """Waits for the end of an order, reports each round and returns the answer; `number` is Flower's of the run."""
    told, asks = 0, time.monotonic() + _ASKS
    was_working = False
    while not (order / "ended.json").is_file():
        working = is_locked(order)
        told = _tell(out, told, on_round)
        if was_working and not working and not (order / "ended.json").is_file():
            raise TacitError(
                f"the process of the run ended; {place / 'logs/superlink.log'} says why; resume with --resume"
            )
        was_working = was_working or working
        if not was_working and time.monotonic() > asks:
            if flower.has_ended(place, number) and not (order / "ended.json").is_file():
                raise TacitError(f"the run ended before it began; {place / 'logs/superlink.log'} may say why")
            asks = time.monotonic() + _ASKS
        time.sleep(_LOOK)
    _tell(out, told, on_round)
    ended = read_object(order / "ended.json")
    if ended.get("state") != "done":
        raise TacitError(str(ended.get("why", "the run failed")))
    return ended.get("answer")


def _tell(out: Path, told: int, on_round: Callable[[dict[str, Any]], None]) -> int:
    for record in read_lines(out / METRICS):
        if record["round"] > told:
            on_round(record)
            told = record["round"]
    return told
