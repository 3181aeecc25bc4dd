"""Does the server's part of a personalisation: tries the grid and other strategies, chooses, and measures the gate.

It sees only sums over people, so it is the same for simulated people (`personalised`) and for people on a network
(`tacit.network`).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit import runs
from tacit.base.progress import Progress, no_progress, stage
from tacit.personal import private, strategies
from tacit.personal import summary as personal_summary
from tacit.personal.cross_fitting import CrossFit, cross_fit
from tacit.personal.job import PersonalOptions
from tacit.personal.mixing import MIXES
from tacit.personal.model_parts import MODEL_PARTS
from tacit.personal.models import Stored
from tacit.personal.private import Guard, Protection
from tacit.personal.split import REASONS
from tacit.personal.strategies import Strategy
from tacit.personal.sums import DeviceReport
from tacit.personal.trial import Tuning
from tacit.privacy.ledger import Release
from tacit.runs import spending

FORMAT = "tacit personal 1"


class Personalised(NamedTuple):
    """Holds the result: sums over people, and models that belong to one person each."""

    summary: dict[str, Any]
    totals: dict[str, np.ndarray]
    models: list[Stored]
    release: Release = private.PLAIN  # of the sums, for the ledger


class Devices(NamedTuple):
    """Defines how the server gets sums over people."""

    # (strategies, progress) → the protected sum of everybody's reports, for each strategy
    totals: Callable[[Sequence[Strategy], Progress], dict[Strategy, DeviceReport]]
    # (strategies, margins, progress) → the protected sum of everybody's reports to the gate
    gate_totals: Callable[[Sequence[Strategy], Sequence[float], Progress], dict[Strategy, np.ndarray]]
    in_halves: Callable[[], Sequence[int]]  # people in each half; known after the first totals


class People(NamedTuple):
    """Describes who was measured."""

    whose: str  # description, for reports
    users: int
    left_out: Mapping[str, int]  # people with too little text, by reason


class Tried(NamedTuple):
    """Holds the sums that the server got, and what it chose."""

    grid: list[Strategy]
    totals: dict[Strategy, DeviceReport]
    gated: CrossFit


def tables(options: PersonalOptions) -> int:
    """Returns how many strategies are tried."""
    others = len(MIXES) + (len(MODEL_PARTS) - 1) * len(options.rates) if options.strategies else 0
    return len(options.batches) * len(options.rates) + others


def tried(options: PersonalOptions, devices: Devices, progress: Progress = no_progress) -> Tried:
    """Tries the grid and other strategies, chooses one by halves, and has the gate measured."""
    first, second, third = stages(options)
    grid = strategies.grid(options.batches, options.rates)
    totals = devices.totals(grid, stage(progress, first, second, "tuning: the grid"))
    if options.strategies:
        more = _others(strategies.choose(totals), options.rates)
        totals |= devices.totals(more, stage(progress, second, third, "tuning: other strategies"))
    gating = stage(progress, third, 1, "tuning: the gate")

    def gate_totals(chosen: Sequence[Strategy], margins: Sequence[float]) -> dict[Strategy, np.ndarray]:
        return devices.gate_totals(chosen, margins, gating)

    return Tried(grid, totals, cross_fit(totals, devices.in_halves(), options.margin, gate_totals))


def result(
    run: runs.Run,
    options: PersonalOptions,
    tuning: Tuning,
    people: People,
    found: Tried,
    guard: Guard,
    models: Sequence[Stored] = (),
) -> Personalised:
    """Returns all figures, the sums they are computed from, and the line for the ledger."""
    summary = {
        "format": FORMAT,
        "run": run.config.name,
        "base": runs.digest(run.path),
        "people": people.whose,
        "users": people.users,
        "left_out": sum(people.left_out[reason] for reason in REASONS[:3]),
        "left_out_why": dict(people.left_out),
        "tuning": dataclasses.asdict(tuning),
        "split": list(options.split),
        "condition": options.condition._asdict(),
        **personal_summary.figures(*found, run.params, options.condition),
        "stored": sorted(m.user for m in models),
        **_protected(options.protection, guard),
        **{f"model_{key}": value for key, value in spending.of_model(run.path).items()},
    }
    if options.protection.epsilon is not None:  # known beside the sums, which no noise covers
        accepted = round(summary["gate"]["accepted_share"] * people.users)
        summary |= {"accepted": accepted, "alone": None, "left_out": None, "left_out_why": {}}
    sums = {f"{s.name}/{k}": v for s, report in found.totals.items() for k, v in report._asdict().items()}
    sums |= {f"gate chosen by half {h}": table for h, table in enumerate(found.gated.gate_totals)}
    return Personalised(summary, sums, list(models), guard.release())


def _protected(protection: Protection, guard: Guard) -> dict[str, Any]:
    """Returns the protection of the sums for the summary."""
    release = guard.release()
    return {
        "epsilon": protection.epsilon,
        "epsilon_reason": release.reason,
        "delta": None if protection.epsilon is None else protection.delta,
        "min_people": protection.min_people,
        "suppressed": guard.suppressed(),
    }


def stages(options: PersonalOptions) -> list[float]:
    """Returns the shares of the work that are done before the grid, before other strategies and before the gate.

    The unit is one pass of everybody's text through a program: one for the global model, at most two for the gate.
    """
    rates = len(options.rates)
    grid, others = (
        len(options.batches) * rates,
        options.strategies * (1 + (len(MODEL_PARTS) - 1) * rates),
    )
    return [before / (1 + grid + others + 2) for before in (1, 1 + grid, 1 + grid + others)]


def _others(best: Strategy, rates: tuple[float, ...]) -> list[Strategy]:
    """Returns the strategies besides the grid: mixtures of its best setting, and parts of the model at all rates."""
    rate = best.rates[0] if len(best.rates) == 1 else sorted(best.rates)[len(best.rates) // 2]
    mixed = [Strategy(best.batch, (rate,), "all", mix) for mix in MIXES]
    parts = [Strategy(best.batch, (r,), name) for name in MODEL_PARTS if name != "all" for r in rates]
    return mixed + parts
