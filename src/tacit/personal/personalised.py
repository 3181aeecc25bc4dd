"""Tries strategies on a job's people, chooses one, applies the gate and returns models to keep; writes nothing."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from tacit import runs
from tacit.base.progress import Progress, no_progress, stage
from tacit.personal import models as personal_models
from tacit.personal import strategies, sums, trial
from tacit.personal import summary as personal_summary
from tacit.personal.cross_fitting import CrossFit, cross_fit
from tacit.personal.job import Job, PersonalOptions
from tacit.personal.mixing import MIXES
from tacit.personal.model_parts import MODEL_PARTS
from tacit.personal.models import Stored
from tacit.personal.split import REASONS
from tacit.personal.strategies import Strategy

FORMAT = "tacit personal 1"


class Personalised(NamedTuple):
    """The result: sums over people, and models that belong to one person each."""

    summary: dict[str, Any]
    totals: dict[str, np.ndarray]
    models: list[Stored]


def personalised(job: Job, progress: Progress = no_progress) -> Personalised:
    """Measures the global model, tries the grid and other strategies, chooses, and applies the gate."""
    run, options, users = job.run, job.options, job.users
    config, seed = run.config, run.config.seed
    first, second, third = _stages(options)
    tuning = trial.Tuning(
        options.max_tokens, options.epochs, config.text.max_words, config.client.batching, seed
    )
    measuring = stage(progress, 0, first, "measuring the global model")
    ready = trial.prepare(run.model, run.params, users, tuning, measuring)
    grid = strategies.grid(options.batches, options.rates)
    totals = _totals(trial.evaluate(ready, grid, stage(progress, first, second, "tuning: the grid")), seed)
    if options.strategies:
        others = _others(strategies.choose(totals), options.rates)
        trying = stage(progress, second, third, "tuning: other strategies")
        totals |= _totals(trial.evaluate(ready, others, trying), seed)
    gated = cross_fit(ready, totals, options.margin, seed, stage(progress, third, 1, "tuning: the gate"))
    models = _kept_models(job, ready, gated)
    summary = {
        "format": FORMAT,
        "run": config.name,
        "base": runs.digest(run.path),
        "people": job.whose,
        "users": len(users),
        "left_out": sum(users.left_out[reason] for reason in REASONS[:3]),
        "left_out_why": users.left_out,
        "tuning": dataclasses.asdict(tuning),
        **personal_summary.figures(grid, totals, gated, run.params),
        "stored": sorted(m.user for m in models),
    }
    tables = {f"{s.name}/{k}": v for s, report in totals.items() for k, v in report._asdict().items()}
    tables |= {f"gate chosen by half {h}": table for h, table in enumerate(gated.gate_totals)}
    return Personalised(summary, tables, models)


def _stages(options: PersonalOptions) -> list[float]:
    """Returns the shares of the work that are done before the grid, before other strategies and before the gate.

    The unit is one pass of everybody's text through a program: one for the global model, at most two for the gate.
    """
    rates = len(options.rates)
    grid, others = (
        len(options.batches) * rates,
        options.strategies * (1 + (len(MODEL_PARTS) - 1) * rates),
    )
    return [before / (1 + grid + others + 2) for before in (1, 1 + grid, 1 + grid + others)]


def _totals(outcomes: Mapping[Strategy, sums.Outcome], seed: int) -> dict[Strategy, sums.DeviceReport]:
    """Returns the sums of the devices' reports, by strategy."""
    return {s: sums.total(o, seed) for s, o in outcomes.items()}


def _others(best: Strategy, rates: tuple[float, ...]) -> list[Strategy]:
    """Returns the strategies beside the grid: mixtures of its best setting, and parts of the model at all rates."""
    rate = best.rates[0] if len(best.rates) == 1 else sorted(best.rates)[len(best.rates) // 2]
    mixed = [Strategy(best.batch, (rate,), "all", mix) for mix in MIXES]
    parts = [Strategy(best.batch, (r,), name) for name in MODEL_PARTS if name != "all" for r in rates]
    return mixed + parts


def _kept_models(job: Job, ready: trial.Trial, gated: CrossFit) -> list[Stored]:
    """Tunes the models of the first accepted people again, each by the strategy that the other half chose."""
    models: list[Stored] = []
    kept = np.flatnonzero(gated.accepted)[: job.options.keep]
    for half in (0, 1):
        tuned_by_half = kept[gated.halves[kept] != half]
        if len(tuned_by_half):
            models += personal_models.tuned(job.run, ready, gated.chosen[half], tuned_by_half)
    return models
