"""Compares word and word-piece models by the log-likelihood of sentences without unknown words (paper 4, Fig. 5).

Settings are those of kind `text`. With `text.pieces` and `text.inventory` = "counted", the inventory comes from the
clients' word counts; `count.supplement` gives their whitelist. All models of a table know the same `text.vocabulary`
words, so their figures can be compared (paper 4, section 7.1).
"""

from __future__ import annotations

from tacit.base.files import read_lines
from tacit.base.reading import read_object
from tacit.experiments import base_runs
from tacit.experiments.entry import Settings
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    base_runs.check(base_runs.own(settings, "count.")[0])


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Trains the model, and returns the measure over rounds on validation text and at the best round on test text."""
    run, own = base_runs.own(settings, "count.")
    path = base_runs.trained(run, seed, place, own.get("supplement"))
    summary = read_object(path / "summary.json")
    test = summary["test"]
    lines = [line for line in read_lines(path / "metrics.jsonl") if "valid_sll_without_oov" in line]
    names = ("sll_without_oov", "sll", "oov", "perplexity")
    values: dict[str, float | None] = {name: test[name] for name in names}
    values |= {"parameters": float(summary["parameters"]), "best_round": float(summary["best_round"])}
    rounds = [float(line["round"]) for line in lines]
    return Measured(values, {"sll_without_oov": (rounds, [line["valid_sll_without_oov"] for line in lines])})
