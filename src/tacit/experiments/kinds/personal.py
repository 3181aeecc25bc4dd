"""Measures fine-tuning for each person (paper 3), with batches of B at rate L, on people excluded from training.

Settings of kind `text` describe the global model, which all rows of a seed share. Those of a strategy are
`personal.batch` (B), `personal.lr` (L), `personal.max_tokens` (T), `personal.epochs` (E), `personal.corpus` and
`personal.users` (at most so many people), `personal.split` as in `tacit personalize`. `personal.by` = "tokens" or
"baseline" with `personal.slice` = 0 to 3 shows one of the four slices of Figure 3 instead of everybody.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from tacit.base.errors import TacitError
from tacit.experiments import base_runs
from tacit.experiments.entry import Settings
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.personal import sums, trial
from tacit.personal.job import PersonalOptions, check_options, check_people, read_job
from tacit.personal.split import SHARES
from tacit.personal.strategies import Strategy
from tacit.personal.sums import BASELINE_EDGES, HUNDREDTHS, TOKEN_EDGES, DeviceReport

# Four slices each, which begin at these edges; paper 3 prints only the outer ones of accuracy, 0.1 and 0.2.
SLICES = {"tokens": (500, 1000, 2000), "baseline": (10, 15, 20)}
_EDGES = {"tokens": TOKEN_EDGES, "baseline": BASELINE_EDGES}


def check(settings: Settings) -> None:
    """Raises a TacitError for invalid settings."""
    run, own = base_runs.own(settings, "personal.")
    base_runs.check(run)
    check_options(_options(own))
    if "by" in own and (own["by"] not in SLICES or own.get("slice") not in range(4)):
        raise TacitError("personal.by must be 'tokens' or 'baseline', with personal.slice from 0 to 3")


def borrow(settings: Settings, row: dict[str, Any]) -> dict[str, list[float | None]] | None:
    """Returns the values of a row of another entry with the same settings; else None."""
    return dict(row["values"]) if dict(settings) == row["settings"] else None


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Trains the global model unless another row has, tunes it for everybody, and measures the change."""
    run, own = base_runs.own(settings, "personal.")
    path = base_runs.trained(run, seed, place)
    options = _options(own)
    place.say("tuning")
    report = _report(path, options, place.data)
    tables = {"tokens": report.by_tokens, "baseline": report.by_baseline}
    if "by" in own:
        chosen = tables[own["by"]][:, _cells(own["by"], own["slice"])].sum(axis=1)
        figures = sums.figures(chosen)
        if not figures["users"]:
            return Measured({"users": 0.0, "delta": None, "gain_share": None})
    else:
        figures = sums.overall(report)
    values: dict[str, float | None] = {"delta": figures["delta_mean"]}
    values |= {k: figures[k] for k in ("users", "baseline", "relative", "ci95")}
    values |= {k: figures[k] for k in ("gain_share", "loss_share", "worse_share")}
    counts = sums.histogram(report)
    middles = [(i + 0.5) / 100 for i in range(-HUNDREDTHS - 1, HUNDREDTHS + 1)]
    curves = {} if "by" in own else {"share": (middles, (counts / max(1, counts.sum())).tolist())}
    return Measured(values, curves)


def _options(own: dict[str, Any]) -> PersonalOptions:
    first, second, third = own.get("split", SHARES)
    return PersonalOptions(
        own.get("corpus"),
        (own["batch"],),
        (float(own["lr"]),),
        own.get("max_tokens", 5000),
        own.get("epochs", 1),
        own.get("users", 0),
        split=(first, second, third),
    )


def _cells(by: str, number: int) -> slice:
    """Returns which cells of a report's table make up slice `number` of four.

    >>> _cells("tokens", 0), _cells("baseline", 3)
    (slice(0, 2, None), slice(3, 7, None))
    """
    at = [0, *(_EDGES[by].index(edge) + 1 for edge in SLICES[by]), len(_EDGES[by]) + 1]
    return slice(at[number], at[number + 1])


@lru_cache(maxsize=1)
def _ready(path: Path, options: PersonalOptions, data: Path | None) -> trial.Trial:
    """Returns the people of these options, with the global model measured; once for all rates and batches."""
    run = base_runs.loaded(path)
    job = read_job(path, options, data)
    check_people(job)
    config = run.config
    tuning = trial.Tuning(
        options.max_tokens, options.epochs, config.text.max_words, config.client.batching, config.seed
    )
    pieces = run.spelling.pieces if run.spelling else None
    return trial.prepare(run.model, run.params, job.users, tuning, pieces=pieces)


@lru_cache(maxsize=32)
def _report(path: Path, options: PersonalOptions, data: Path | None) -> DeviceReport:
    """Returns the sum of everybody's reports; the slices of one strategy share it."""
    everybody = PersonalOptions(
        options.corpus,
        max_tokens=options.max_tokens,
        epochs=options.epochs,
        users=options.users,
        split=options.split,
    )
    ready = _ready(path, everybody, data)
    strategy = Strategy(options.batches[0], options.rates)
    outcome = trial.evaluate(ready, [strategy])[strategy]
    return sums.total(outcome, base_runs.loaded(path).config.seed)


def clear() -> None:
    """Forgets what rows share; for tests."""
    for cached in (_ready, _report, base_runs.loaded):
        cached.cache_clear()


assert all(np.isin(SLICES[by], _EDGES[by]).all() for by in SLICES)
