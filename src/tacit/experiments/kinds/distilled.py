"""Distils n-gram models from a federated network, and compares them with plain ones (paper 4, Tables 3 and 4).

Settings of kind `text` describe the network, which all rows of a seed share. `distill.row` is "network", "e", "i", "m"
or "r" (A_e, A_i, A_m, A_r of Algorithm 1), "baseline" (Kneser-Ney of the supplement) or "collected" (Kneser-Ney of the
clients' pooled text, like the paper's baseline). `distill.supplement`, `distill.max_ngrams`,
`distill.sentences` and `distill.order` are those of `tacit distill`. For a network over word-pieces with
`distill.words` = true, a network over words, trained with the same settings, infers the n-grams, as in the paper.
"""

from __future__ import annotations

from typing import Any

from tacit.base.errors import TacitError
from tacit.base.reading import read_object
from tacit.distillation.distill import distill
from tacit.distillation.model import DistillOptions
from tacit.experiments import base_runs
from tacit.experiments.entry import Settings
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.federated.code_hash import short_hash

# the topology that a row needs, and the name of its figures in summary.json of `tacit distill`
_ROWS = {
    "network": ("e", "network"),
    "baseline": ("e", "Kneser-Ney, supplement"),
    "collected": ("e", "Kneser-Ney, collected text"),
    **{choice: (choice, "n-gram") for choice in "eimr"},
}
_VALUES = ("top1", "top3", "perplexity", "sll_without_oov", "oov")


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    run, own = base_runs.own(settings, "distill.")
    base_runs.check(run)
    if own.get("row") not in _ROWS:
        raise TacitError(f"distill.row must be one of: {', '.join(_ROWS)}")


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Trains the network unless another row has, distils it with `tacit distill`'s function, and reads its summary."""
    run, own = base_runs.own(settings, "distill.")
    topology, name = _ROWS[own["row"]]
    supplement = own.get("supplement")
    path = base_runs.trained(run, seed, place, supplement)
    words = None
    if own.get("words") and topology != "e":
        plain = {k: v for k, v in run.items() if k not in ("text.pieces", "text.inventory")}
        words = base_runs.trained({**plain, **_of_words(own)}, seed, place)
    options = DistillOptions(
        supplement,
        own.get("order", 3),
        own["max_ngrams"],
        topology,  # type: ignore[arg-type]  # one of the four, by the table above
        pieces=words,
        sentences=own["sentences"],
        seed=seed,
    )
    # rows that ask for one topology share it
    out = path.with_name(f"ngram.{path.name}.{short_hash(repr(options).encode())}")
    with base_runs.made_once(out, "summary.json") as is_missing:
        if is_missing:
            place.say("distilling")
            distill(path, out, options, place.data, skip=True)
    summary = read_object(out / "summary.json")
    found = summary["models"][name]
    values: dict[str, float | None] = {key: found[key] for key in _VALUES}
    values["top1_ci95"] = found["ci95"]["top1"]
    if name == "n-gram":
        values["ngrams"] = float(summary["ngrams"])
    return Measured(values)


def _of_words(own: dict[str, Any]) -> dict[str, Any]:
    """Returns the settings of the network over words that differ from those of the pieces: `distill.words.KEY`."""
    return {k.removeprefix("words."): v for k, v in own.items() if k.startswith("words.")}
