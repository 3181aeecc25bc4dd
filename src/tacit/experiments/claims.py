"""Checks a paper's claims against measured rows: confirmed, contradicted, or no clear difference.

A claim is confirmed if it holds for every seed, and contradicted if it fails for every seed; otherwise there is no
clear difference. With fewer seeds than the entry requires the claim is open. A row that never reached its target is
worse than any row that did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tacit.experiments.entry import Claim, Entry
from tacit.experiments.results import figure

SAME, OTHER, UNCLEAR, NOT_RUN, OPEN = "yes", "no", "no clear difference", "not run", "open"


class Verdict(NamedTuple):
    """The outcome of checking one claim."""

    claim: Claim
    outcome: str  # one of the five constants above
    figures: str  # the means of the rows that were compared


def check(entry: Entry, rows: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Checks every claim of an entry against its measured rows."""
    return [_check(entry, claim, rows) for claim in entry.claims]


def _check(entry: Entry, claim: Claim, rows: Mapping[str, Mapping[str, Any]]) -> Verdict:
    values = [rows.get(label, {}).get("values", {}).get(claim.metric) for label in claim.labels]
    if not all(values):
        return Verdict(claim, NOT_RUN, "")
    metric = entry.metric(claim.metric)
    seeds = min(len(v) for v in values)
    figures = " · ".join(figure(v[:seeds], metric.shown, around=False) for v in values)
    if seeds < entry.seeds:
        return Verdict(claim, OPEN, figures)
    low = metric.better == "low"
    worst = math.inf if low else -math.inf
    by_seed = [[worst if (value := v[s]) is None else value for v in values] for s in range(seeds)]
    if claim.flattens:
        return Verdict(claim, _agreed([_flattens(one) for one in by_seed]), figures)
    if claim.alike:
        return Verdict(claim, _agreed([_alike(one, claim.alike) for one in by_seed]), figures)
    if claim.order:
        return Verdict(claim, _ordered(by_seed, low, claim.by), figures)
    return Verdict(claim, _agreed([_within(one[0], claim) for one in by_seed]), figures)


def _agreed(seeds: Sequence[bool]) -> str:
    """Returns the verdict from the outcomes of all seeds."""
    return SAME if all(seeds) else UNCLEAR if any(seeds) else OTHER


def _ordered(by_seed: Sequence[Sequence[float]], low: bool, by: float) -> str:
    """Returns whether every seed has the rows in order, the better first, for all pairs of neighbours."""
    factor = by if low else 1 / by
    # With a factor, equality counts as in order ("half of it" may be exactly half), but not if both are infinite.
    signs = {
        _sign(a * factor, b, low) or (by != 1 and math.isfinite(b))
        for one in by_seed
        for a, b in pairwise(one)
    }
    if signs == {1}:
        return SAME
    ends = {_sign(one[0] * factor, one[-1], low) for one in by_seed}
    return OTHER if ends == {-1} else UNCLEAR


def _sign(a: float, b: float, low: bool) -> int:
    if a == b:
        return 0
    return 1 if (a < b) == low else -1


def _alike(one: Sequence[float], factor: float) -> bool:
    """Returns whether all rows are within a factor of each other, in either direction."""
    return max(one) <= factor * min(one) and math.isfinite(max(one))


def _flattens(one: Sequence[float]) -> bool:
    """Returns whether the change from the second to the third row is smaller than from the first to the second."""
    first, second, third = one
    return abs(third - second) < abs(second - first)


def _within(value: float, claim: Claim) -> bool:
    return (claim.at_most is None or value <= claim.at_most) and (
        claim.at_least is None or value >= claim.at_least
    )
