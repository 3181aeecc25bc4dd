"""Personalises a job's simulated people: devices measure, the server chooses, models are kept. Writes nothing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.base.progress import Progress, no_progress, stage
from tacit.personal import choosing, private, sums, trial
from tacit.personal import models as personal_models
from tacit.personal.choosing import Devices, People, Personalised
from tacit.personal.cross_fitting import CrossFit, who_is_accepted
from tacit.personal.job import Job
from tacit.personal.models import Stored
from tacit.personal.strategies import Strategy
from tacit.personal.sums import DeviceReport, Outcome


def personalised(job: Job, progress: Progress = no_progress) -> Personalised:
    """Measures the global model, tries the grid and other strategies, chooses, and applies the gate."""
    run, options, users = job.run, job.options, job.users
    config, seed = run.config, run.config.seed
    tuning = trial.Tuning(
        options.max_tokens, options.epochs, config.text.max_words, config.client.batching, seed
    )
    measuring = stage(progress, 0, choosing.stages(options)[0], "measuring the global model")
    pieces = run.spelling.pieces if run.spelling else None
    ready = trial.prepare(run.model, run.params, users, tuning, measuring, pieces)
    guard = private.guard(options.protection, choosing.tables(options), condition=options.condition)
    halves = sums.half_of(users.ids, seed)
    looks: dict[Strategy, tuple[Outcome, Outcome]] = {}

    def totals(trying: Sequence[Strategy], now: Progress) -> dict[Strategy, DeviceReport]:
        return {s: guard.total(o, seed) for s, o in trial.evaluate(ready, trying, now).items()}

    def gate_totals(
        trying: Sequence[Strategy], margins: Sequence[float], now: Progress
    ) -> dict[Strategy, np.ndarray]:
        looks.update(trial.look(ready, trying, now))
        return {s: guard.gate_total(*looks[s], margins, seed) for s in trying}

    devices = Devices(totals, gate_totals, lambda: np.bincount(halves, minlength=2).tolist())
    found = choosing.tried(options, devices, progress)
    accepted = who_is_accepted(found.gated, looks, halves, options.condition)
    models = _kept_models(job, ready, found.gated, halves, accepted)
    people = People(job.whose, len(users), users.left_out)
    return choosing.result(run, options, tuning, people, found, guard, models)


def _kept_models(
    job: Job, ready: trial.Trial, gated: CrossFit, halves: np.ndarray, accepted: np.ndarray
) -> list[Stored]:
    """Tunes the models of the first accepted people again, each by the strategy that the other half chose."""
    models: list[Stored] = []
    kept = np.flatnonzero(accepted)[: job.options.keep]
    for half in (0, 1):
        tuned_by_half = kept[halves[kept] != half]
        if len(tuned_by_half):
            models += personal_models.tuned(job.run, ready, gated.chosen[half], tuned_by_half)
    return models
