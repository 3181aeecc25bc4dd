"""Does the work that an order names, in the server's process, with one function for each kind.

train        rounds of a configuration, into a run directory
count        words over a whitelist, into the directory of `tacit count`
evaluate     scores of a run's model; the figures are the answer
personalize  a run's model on each client, into the directory of `tacit personalize`
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tacit.counts.private import Privacy
from tacit.network import counting, finished, training
from tacit.network.board import Board
from tacit.network.counting import CountSettings, Whitelist
from tacit.network.office import Courier, Terms
from tacit.personal.job import PersonalOptions
from tacit.personal.private import Protection
from tacit.runs.config import from_tables
from tacit.text import vocabulary

Order = Mapping[str, Any]
WORDS = "whitelist.txt"  # beside the order of a count


def count_order(asked: CountSettings, listed: Whitelist) -> dict[str, Any]:
    """Returns the settings of an order to count, besides its configuration and words."""
    privacy = asked.privacy._asdict() if asked.privacy else None
    return {
        "limit": repr(asked.limit),  # JSON has no infinity
        "rounds": asked.rounds,
        "privacy": privacy,
        "supplement": listed.supplement,
    }


def personalize_order(options: PersonalOptions) -> dict[str, Any]:
    """Returns the settings of an order to personalise, besides its run; clients use the default split and gate."""
    said = {**dataclasses.asdict(options), "protection": options.protection._asdict()}
    return {"options": {name: value for name, value in said.items() if name not in ("split", "condition")}}


class Desk(NamedTuple):
    """Holds the clients that the server's process can ask, and where it reports its work."""

    courier: Courier
    population: Callable[[], int]
    board: Board | None = None


def do(place: Path, order: Order, desk: Desk) -> Any:
    """Does the work of the order in the directory `place`; returns its answer, unless it is a directory."""
    return _WORK[order["work"]](place, order, desk, Terms(**order["terms"]))


def _train(place: Path, order: Order, desk: Desk, terms: Terms) -> None:
    config, out = from_tables(order["config"]), Path(order["out"])
    training.train(config, out, desk.courier, desk.population, terms, order["resume"], board=desk.board)


def _count(place: Path, order: Order, desk: Desk, terms: Terms) -> None:
    privacy = Privacy(**order["privacy"]) if order["privacy"] else None
    asked = CountSettings(float(order["limit"]), order["rounds"], privacy)
    listed = Whitelist(vocabulary.load(place / WORDS), order["supplement"])
    config, out = from_tables(order["config"]), Path(order["out"])
    counting.count(config, out, desk.courier, desk.population, terms, asked, listed)


def _evaluate(place: Path, order: Order, desk: Desk, terms: Terms) -> Any:
    return finished.evaluate(Path(order["run"]), desk.courier, desk.population, terms)


def _personalize(place: Path, order: Order, desk: Desk, terms: Terms) -> None:
    said = dict(order["options"])
    for name in ("batches", "rates"):
        said[name] = tuple(said[name])
    options = PersonalOptions(**{**said, "protection": Protection(**said["protection"])})
    run, out = Path(order["run"]), Path(order["out"])
    finished.personalize(run, out, options, desk.courier, desk.population, terms)


_WORK: Mapping[str, Callable[[Path, Order, Desk, Terms], Any]] = {
    "train": _train,
    "count": _count,
    "evaluate": _evaluate,
    "personalize": _personalize,
}
