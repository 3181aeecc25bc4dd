"""Rules against attacks: trains as kind `text` does, and compares recall with that of runs without an attack.

`share` is top-1 recall over that of the plain mean without an attack, `own_share` over that of the same rule without an
attack. `planted` is the probability of a backdoor's planted word after its trigger. The runs without an attack are
trained once for each seed and rule; their recall is kept beside the row's folder.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.base.files import to_json, write_atomic
from tacit.base.reading import read_object
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.kinds.keyboards import typists_file
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.federated.code_hash import short_hash

check = text.check


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Takes the settings of kind `text`; a run that diverges has recall 0."""
    files = place.folder.parent
    given = {**settings, "text.corpus": str(typists_file(settings, files))}
    own = {k: v for k, v in given.items() if not k.startswith("attack.")}
    plain = {k: v for k, v in own.items() if not k.startswith("aggregation.")}
    measured = text.measure(given, seed, place)
    top1 = measured.values["top1"] or 0.0
    if own == given:
        write_atomic(_file(own, seed, files), to_json({"top1": top1}) + "\n")
    values = {
        **measured.values,
        "top1": top1,
        "share": top1 / _unattacked(plain, seed, place),
        "own_share": top1 / _unattacked(own, seed, place),
    }
    summary = place.folder / "run" / "summary.json"
    if summary.is_file():
        attacked = read_object(summary).get("attack", {})
        values |= {"planted": attacked["planted_probability"]} if "planted_probability" in attacked else {}
    return measured._replace(values=values)


def _unattacked(settings: Settings, seed: int, place: Place) -> float:
    """Returns the recall of a run without an attack; trains it if no row has."""
    file = _file(settings, seed, place.folder.parent)
    if not file.is_file():
        place = place._replace(folder=place.folder / file.stem)
        top1 = text.measure(settings, seed, place).values["top1"]
        write_atomic(file, to_json({"top1": top1}) + "\n")
    return float(read_object(file)["top1"])


def _file(settings: Settings, seed: int, folder: Path) -> Path:
    code = short_hash(json.dumps(settings, sort_keys=True).encode())
    return folder / f"unattacked.{code}.{seed}.json"  # no name of a measured row
