"""Summarises a personalisation: figures for summary.json and `--json`, and a recommendation in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tacit.models.base import Params
from tacit.personal import gate, strategies, sums
from tacit.personal.cross_fitting import CrossFit
from tacit.personal.mixing import MOST
from tacit.personal.model_parts import model_part, stored_bytes
from tacit.personal.strategies import Strategy


def _best(totals: strategies.Totals, gated: CrossFit) -> dict[str, Any]:
    """Returns the strategy that everybody chooses, with the cross-fitted figures."""
    best = strategies.choose(totals)
    return {
        "strategy": best.name,
        "rates": list(best.rates),
        "chosen_by_halves": [s.name for s in gated.chosen],
        "cross_fitted": gated.by_halves,
        **strategies.cross_fitted(totals, gated.chosen),
    }


def _gate_summary(gated: CrossFit) -> dict[str, Any]:
    totals, place = gated.everybody
    by_margin = [
        {"margin": m, **gate.effect_figures(gate.effect(totals, i))} for i, m in enumerate(gated.margins)
    ]
    return {
        "margin": gated.margins[place],
        **gate.effect_figures(gate.reported(gated.gate_totals, gated.places)),
        "margins_by_halves": [gated.margins[p] for p in gated.places],
        "margins": by_margin,
    }


def _every(totals: strategies.Totals) -> list[Strategy]:
    """Returns all strategies that were tried, the best first, with a rate by text among them."""
    adaptive = strategies.by_text(totals)
    every = [*totals, *([adaptive] if adaptive else [])]
    return sorted(every, key=lambda s: -sums.overall(_sums_of(s, totals))["delta_mean"])


def _sums_of(strategy: Strategy, totals: strategies.Totals) -> sums.DeviceReport:
    return totals[strategy] if strategy in totals else strategies.assembled(strategy, totals)


def _row(strategy: Strategy, report: sums.DeviceReport) -> dict[str, Any]:
    return {"batch": strategy.batch, "lr": strategy.rates[0], **sums.overall(report)}


def _described(strategy: Strategy, report: sums.DeviceReport, params: Params) -> dict[str, Any]:
    stored = stored_bytes(model_part(strategy.part), params) if strategy.mix.personal else 0
    return {
        "name": strategy.name,
        "part": strategy.part,
        "batch": strategy.batch,
        "rates": list(strategy.rates),
        "personal": strategy.mix.personal,
        "cache": strategy.mix.cache,
        "bytes": stored + (12 * MOST if strategy.mix.cache else 0),
        **sums.overall(report),
    }


def _recommendation(summary: Mapping[str, Any], best: Strategy, condition: gate.Condition) -> str:
    """Returns what to do, in one sentence."""
    chosen, gated = summary["best"], summary["gate"]
    if chosen["delta_mean"] <= 0:
        return "do not personalise: no strategy tried gains anything on people who did not choose it"
    rates = (
        f" (rates by tokens of text: {', '.join(f'{r:g}' for r in best.rates)})"
        if len(best.rates) > 1
        else ""
    )
    return (
        f"tune by {best.name}{rates}, accept where the second part gains {gated['margin']:g} or "
        f"more{gate.in_words(condition)}: top-1 accuracy "
        f"{chosen['baseline']:.3f} becomes {chosen['baseline'] + chosen['delta_mean']:.3f} ({chosen['relative']:+.1%}) "
        "without the gate; with it, "
        f"{gated['accepted_share']:.0%} of people get a personal model and {gated['worse_share']:.1%} type worse "
        f"with it, instead of {gated['worse_share_without']:.1%}"
    )


def json_summary(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what `--json` prints."""
    row = ("batch", "lr", "baseline", "delta_mean", "ci95", "gain_share", "loss_share")
    return {
        "users": summary["users"],
        "left_out": summary["left_out"],
        "grid": [{k: r[k] for k in row} for r in summary["grid"]],
        "gate": gate.json_figures(summary["gate"], summary["gate"]["margin"]),
    }


def figures(
    grid: Sequence[Strategy],
    totals: strategies.Totals,
    gated: CrossFit,
    params: Params,
    condition: gate.Condition = gate.ANYBODY,
) -> dict[str, Any]:
    """Returns all figures as plain tables."""
    tables = {
        "grid": [_row(s, totals[s]) for s in grid],
        "strategies": [_described(s, _sums_of(s, totals), params) for s in _every(totals)],
        "best": _best(totals, gated),
        "gate": _gate_summary(gated),
        "histograms": {s.name: sums.histogram(totals[s]).tolist() for s in grid},
        "slices": {s.name: sums.slices(totals[s]) for s in grid},
        "accepted": gated.accepted,
        "alone": max(sums.alone(report) for report in totals.values()),
    }
    return tables | {"recommendation": _recommendation(tables, strategies.choose(totals), condition)}
