"""Trains the network that several rows share, once for each seed.

Tables of papers 3 and 4 fine-tune or distil one trained model in different ways. The model is trained by the function
of `tacit train`. Its directory is named by a hash of its settings, so an interrupted training resumes, and entries with
the same settings share a model. It is kept in results/.parts, which git ignores. With `text.inventory` = "counted",
pieces come from the clients' word counts (paper 4, section 7.1), made by the function of `tacit count`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base.files import write_atomic
from tacit.base.locks import made_and_held
from tacit.counts.counted import CountOptions, counted_words
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.runner import Place
from tacit.federated.code_hash import short_hash

COUNTED = "counted"  # as text.inventory
_ROUNDS = 20  # of a count that makes an inventory


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    text.check(_inventory_named(settings, "counts.tsv"))


def trained(settings: Settings, seed: int, place: Place, supplement: str | None = None) -> Path:
    """Returns the directory of a run with these settings (those of kind `text`); trains what is missing.

    `supplement` gives the whitelist of the counts, if the clients are not the built-in typists.
    """
    if settings.get("text.inventory") == COUNTED:
        settings = _inventory_named(settings, str(_counted(settings, seed, place, supplement)))
    path = shared_folder(place) / f"base.{_code(settings)}.{seed}"
    if (path / "summary.json").is_file():
        return path
    config = text.config_of(settings, seed, place)

    def told(record: dict[str, Any]) -> None:
        place.say(f"training, round {record['round']}/{config.training.rounds}")

    with made_once(path, "summary.json") as is_missing:
        if is_missing:
            runs.train(
                config, path, (path / "config.toml").is_file(), place.data, [runs.Callback(round=told)]
            )
    return path


@contextlib.contextmanager
def made_once(path: Path, last: str) -> Iterator[bool]:
    """Locks a folder that rows share, and yields whether its last file is missing; another process gets `InUse`."""
    lock = path.with_name(f"lock.{path.name}")
    with made_and_held(lock):
        yield not (path / last).is_file()
        with contextlib.suppress(OSError):
            lock.rmdir()


@lru_cache(maxsize=4)  # compiled programs belong to a model that was read once
def loaded(path: Path) -> runs.Run:
    """Returns the run at `path`."""
    return runs.load(path)


def own(settings: Settings, prefix: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits settings into those of the run and those that begin with `prefix`, without it.

    >>> own({"client.lr": 1.0, "personal.lr": 0.1}, "personal.")
    ({'client.lr': 1.0}, {'lr': 0.1})
    """
    mine = {k.removeprefix(prefix): v for k, v in settings.items() if k.startswith(prefix)}
    return {k: v for k, v in settings.items() if not k.startswith(prefix)}, mine


def _inventory_named(settings: Settings, name: str) -> dict[str, Any]:
    return {**settings, "text.inventory": name} if settings.get("text.inventory") == COUNTED else {**settings}


def _counted(settings: Mapping[str, Any], seed: int, place: Place, supplement: str | None) -> Path:
    """Returns a table of the clients' word counts, from which an inventory of pieces is made."""
    plain = {k: v for k, v in settings.items() if k not in ("text.pieces", "text.inventory")}
    corpus = {
        k: v for k, v in plain.items() if k.startswith(("text.", "partition.", "typists.", "sampling."))
    }
    path = shared_folder(place) / f"counts.{_code({**corpus, 'supplement': supplement})}.{seed}.tsv"
    if not path.is_file():
        place.say("counting words")
        options = CountOptions(limits=(1000.0,), supplement=supplement, rounds=_ROUNDS)
        counted = counted_words(text.config_of(plain, seed, place), options, place.data)
        write_atomic(path, "".join(f"{word}\t{n}\n" for word, n in counted.counts))
    return path


def shared_folder(place: Place) -> Path:
    """Returns the folder that all entries share; in a quick run that of the row's entry."""
    above = place.folder.parent.parent
    return above if above.name == ".parts" else place.folder.parent


def _code(settings: Settings) -> str:
    return short_hash(json.dumps(dict(settings), sort_keys=True).encode())
