"""Computes the recall of a reference training that several rows of an entry are compared with.

It is trained once for each seed and its settings. The recall is stored next to the rows' folders.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.base.files import to_json, write_atomic
from tacit.base.reading import read_object
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.runner import Place
from tacit.federated.code_hash import short_hash


def keep(settings: Settings, seed: int, place: Place, top1: float) -> None:
    """Keeps the recall of a row that is a reference itself."""
    write_atomic(_file(settings, seed, place.folder.parent), to_json({"top1": top1}) + "\n")


def recall(settings: Settings, seed: int, place: Place) -> float:
    """Returns the top-1 recall of a training of kind `text`; trains it if no row has."""
    file = _file(settings, seed, place.folder.parent)
    if not file.is_file():
        inner = place._replace(folder=place.folder / file.stem)
        keep(settings, seed, place, text.measure(settings, seed, inner).values["top1"] or 0.0)
    return float(read_object(file)["top1"])


def _file(settings: Settings, seed: int, folder: Path) -> Path:
    code = short_hash(json.dumps(settings, sort_keys=True).encode())
    return folder / f"reference.{code}.{seed}.json"  # no name of a measured row
