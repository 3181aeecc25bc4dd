"""What is told of a personalisation: figures for summary.json, for `--json`, and a recommendation in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.models.base import Params
from tacit.personal import gate, strategies, sums
from tacit.personal.mixing import MOST
from tacit.personal.parts import part_named, stored_bytes
from tacit.personal.strategies import Strategy


class Gated(NamedTuple):
    """What choosing for one another came to."""

    chosen: list[Strategy]  # by each half
    fitted: bool  # whether halves chose for one another (else everybody for everybody: too few people)
    halves: np.ndarray  # [users]
    margins: list[float]
    told: list[np.ndarray]  # totals of gate messages under each half's choice
    places: list[int]  # of the margin each half chose
    everybody: tuple[np.ndarray, int]  # the same for everybody's choice: what to deploy
    accepted: np.ndarray  # [users] bool


def _best(found: Mapping[Strategy, sums.Message], gated: Gated) -> dict[str, Any]:
    """The strategy that all speak for, with the figures of choosing for others."""
    best = strategies.choose(found)
    return {
        "strategy": best.name,
        "rates": list(best.rates),
        "chosen_by_halves": [s.name for s in gated.chosen],
        "cross_fitted": gated.fitted,
        **strategies.cross_fitted(found, gated.chosen),
    }


def _gate_summary(gated: Gated) -> dict[str, Any]:
    told, place = gated.everybody
    by_margin = [
        {"margin": m, **gate.effect_figures(gate.effect(told, i))} for i, m in enumerate(gated.margins)
    ]
    return {
        "margin": gated.margins[place],
        **gate.effect_figures(gate.reported(gated.told, gated.places)),
        "margins_by_halves": [gated.margins[p] for p in gated.places],
        "margins": by_margin,
    }


def _every(found: Mapping[Strategy, sums.Message]) -> list[Strategy]:
    """What was tried, the best first; a rate by text with them."""
    adaptive = strategies.by_text(found)
    every = [*found, *([adaptive] if adaptive else [])]
    return sorted(every, key=lambda s: -sums.overall(_sums_of(s, found))["delta_mean"])


def _sums_of(strategy: Strategy, found: Mapping[Strategy, sums.Message]) -> sums.Message:
    return found[strategy] if strategy in found else strategies.assembled(strategy, found)


def _row(strategy: Strategy, said: sums.Message) -> dict[str, Any]:
    return {"batch": strategy.batch, "lr": strategy.rates[0], **sums.overall(said)}


def _described(strategy: Strategy, said: sums.Message, params: Params) -> dict[str, Any]:
    stored = stored_bytes(part_named(strategy.part), params) if strategy.mix.personal else 0
    return {
        "name": strategy.name,
        "part": strategy.part,
        "batch": strategy.batch,
        "rates": list(strategy.rates),
        "personal": strategy.mix.personal,
        "cache": strategy.mix.cache,
        "bytes": stored + (12 * MOST if strategy.mix.cache else 0),
        **sums.overall(said),
    }


def _recommendation(summary: Mapping[str, Any], best: Strategy) -> str:
    """What to do, in one sentence."""
    found, kept = summary["best"], summary["gate"]
    if found["delta_mean"] <= 0:
        return "do not personalise: no strategy tried gains anything on people who did not choose it"
    rates = (
        f" (rates by tokens of text: {', '.join(f'{r:g}' for r in best.rates)})"
        if len(best.rates) > 1
        else ""
    )
    return (
        f"tune by {best.name}{rates}, accept where the second part gains {kept['margin']:g} or more: top-1 accuracy "
        f"{found['baseline']:.3f} becomes {found['baseline'] + found['delta_mean']:.3f} ({found['relative']:+.1%}) "
        "without the gate; with it, "
        f"{kept['accepted_share']:.0%} of people get a personal model and {kept['worse_share']:.1%} type worse "
        f"with it, instead of {kept['worse_share_without']:.1%}"
    )


def for_machines(summary: Mapping[str, Any]) -> dict[str, Any]:
    """What `--json` prints."""
    row = ("batch", "lr", "baseline", "delta_mean", "ci95", "gain_share", "loss_share")
    return {
        "users": summary["users"],
        "left_out": summary["left_out"],
        "grid": [{k: r[k] for k in row} for r in summary["grid"]],
        "gate": gate.summary(summary["gate"], summary["gate"]["margin"]),
    }


def figures(
    grid: Sequence[Strategy], found: Mapping[Strategy, sums.Message], gated: Gated, params: Params
) -> dict[str, Any]:
    """Everything that was found, as plain tables."""
    told = {
        "grid": [_row(s, found[s]) for s in grid],
        "strategies": [_described(s, _sums_of(s, found), params) for s in _every(found)],
        "best": _best(found, gated),
        "gate": _gate_summary(gated),
        "histograms": {s.name: sums.histogram(found[s]).tolist() for s in grid},
        "slices": {s.name: sums.slices(found[s]) for s in grid},
        "accepted": int(gated.accepted.sum()),
        "alone": max(sums.alone(said) for said in found.values()),
    }
    return told | {"recommendation": _recommendation(told, strategies.choose(found))}
