"""Trains rules under attack as kind `text` does, and compares recall with that of runs without an attack.

`share` is top-1 recall over that of the plain mean without an attack, `own_share` over that of the same rule without an
attack. `planted` is the probability of a backdoor's planted word after its trigger. The runs without an attack are
trained once for each seed and rule; their recall is kept beside the row's folder.
"""

from __future__ import annotations

from tacit.base.reading import read_object
from tacit.experiments import reference_runs
from tacit.experiments.entry import Settings
from tacit.experiments.kinds import text
from tacit.experiments.kinds.keyboards import typists_file
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place

check = text.check


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Takes the settings of kind `text`; a run that diverges has recall 0."""
    given = {**settings, "text.corpus": str(typists_file(settings, place.folder.parent))}
    own = {k: v for k, v in given.items() if not k.startswith("attack.")}
    plain = {k: v for k, v in own.items() if not k.startswith("aggregation.")}
    measured = text.measure(given, seed, place)
    top1 = measured.values["top1"] or 0.0
    if own == given:
        reference_runs.keep(own, seed, place, top1)
    values = {
        **measured.values,
        "top1": top1,
        "share": top1 / reference_runs.recall(plain, seed, place),
        "own_share": top1 / reference_runs.recall(own, seed, place),
    }
    summary = place.folder / "run" / "summary.json"
    if summary.is_file():
        attacked = read_object(summary).get("attack", {})
        values |= {"planted": attacked["planted_probability"]} if "planted_probability" in attacked else {}
    return measured._replace(values=values)
