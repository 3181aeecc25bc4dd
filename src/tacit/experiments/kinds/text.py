"""Trains a language model like `tacit train` and tests the round with the best validation score.

Settings are those of a configuration (`client.lr`, …) and `preset`. In addition, `target` is a validation perplexity to
reach (or `target_top1` a validation recall), and `transposed` adds the score of `tacit.experiments.transposed`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base.errors import Diverged, TacitError
from tacit.base.files import read_lines
from tacit.experiments.data import locate
from tacit.experiments.entry import Settings
from tacit.experiments.results import POINTS, Measured
from tacit.experiments.runner import Place
from tacit.experiments.transposed import transposed_score
from tacit.runs.config import Config, resolve

OWN = ("preset", "target", "target_top1", "transposed", "scored", "shuffled", "stand_in")


def config_of(settings: Settings, seed: int, place: Place) -> Config:
    """Returns the configuration of a row; a missing known corpus is an error at once."""
    corpus = settings.get("text.corpus", "typists")
    if corpus != "typists" and "/" not in corpus and not Path(corpus).is_file():
        locate(corpus, place.data)
    return resolved(settings, seed)


def resolved(settings: Settings, seed: int) -> Config:
    """Returns the configuration of a row with this seed, from its preset and its keys."""
    if "preset" not in settings:
        raise TacitError("settings of kind 'text' need a preset; see `tacit presets`")
    given = {k: v for k, v in settings.items() if k not in OWN} | {"seed": seed}
    return resolve(settings["preset"], [f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in given.items()])


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    resolved(settings, 0)


def borrow(settings: Settings, row: Mapping[str, Any]) -> dict[str, list[float | None]] | None:
    """Returns the values of a measured row of another entry, if its training was the same; else None.

    If these settings need the transposed score, the row must have it. Another target is looked up in the row's curves,
    which must not be thinned.
    """
    if resolved(settings, 0) != resolved(row["settings"], 0):
        return None
    values = {k: v for k, v in row["values"].items() if k != "transposed" or settings.get("transposed")}
    if settings.get("transposed") and "transposed" not in values:
        return None
    if all(settings.get(k) == row["settings"].get(k) for k in ("target", "target_top1")):
        return values
    curves = [row["curves"].get(k, []) for k in ("perplexity", "top1")]
    if not all(seeds and all(c and len(c["x"]) < POINTS for c in seeds) for seeds in curves):
        return None
    lines = [
        [
            {"round": x, "valid_perplexity": p, "valid_top1": t}
            for x, p, t in zip(a["x"], a["y"], b["y"], strict=True)
        ]
        for a, b in zip(*curves, strict=True)
    ]
    return {**values, "rounds": [reached(seed, settings) for seed in lines]}


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Trains in the row's folder; resumes an interrupted run."""
    config, run = config_of(settings, seed, place), place.folder / "run"

    def told(record: dict[str, Any]) -> None:
        place.say(f"round {record['round']}/{config.training.rounds}")

    begun = (run / "config.toml").is_file()
    try:
        result = runs.train(config, run, begun, place.data, [runs.Callback(round=told)])
    except Diverged:
        return Measured(dict.fromkeys(("perplexity", "valid", "top1", "top3", "rounds"), None))
    lines = [line for line in read_lines(run / "metrics.jsonl") if "valid_perplexity" in line]
    values = figures(result)
    values["rounds"] = reached(lines, settings)
    if settings.get("transposed"):
        values["transposed"] = _transposed(config, run, place)
    x = [line["round"] for line in lines]
    return Measured(values, {k: (x, [line[f"valid_{k}"] for line in lines]) for k in ("perplexity", "top1")})


def figures(result: dict[str, Any]) -> dict[str, float | None]:
    """Returns the numbers of a run's summary that rows show."""
    test, seen, sent = result["test"], result["seen"], result["bytes_per_client_and_round"]
    values: dict[str, float | None] = {
        "perplexity": test["perplexity"],
        "valid": result["valid"]["perplexity"],
        "top1": test["top1"],
        "top3": test["top3"],
        "best_round": result["best_round"],
        "parameters": result["parameters"],
    }
    if sent:
        values |= {"mb_up": sent["up"] / 1e6, "mb_down": sent["down"] / 1e6}
    if test["people"] > 1:
        values |= {"top1_ci": test["ci95"]["top1"], "top3_ci": test["ci95"]["top3"]}
    if seen:
        values |= {"seen_top1": seen["top1"], "seen_top3": seen["top3"], "seen_top1_ci": seen["ci95"]["top1"]}
    return {k: v if v is None or math.isfinite(v) else None for k, v in values.items()}


def reached(lines: list[dict[str, Any]], settings: Settings) -> float | None:
    """Returns the first evaluated round that reaches the target, or None."""
    for line in lines:
        if "target" in settings and line["valid_perplexity"] <= settings["target"]:
            return float(line["round"])
        if "target_top1" in settings and line["valid_top1"] >= settings["target_top1"]:
            return float(line["round"])
    return None


def _transposed(config: Config, path: Any, place: Place) -> float:
    run = runs.load(path)
    ready = runs.prepare(config, run.vocabulary, place.data)
    return transposed_score(run.model, run.params, ready.test, batch=10)
