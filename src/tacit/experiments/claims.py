"""What a paper says, checked against what was measured: the same direction, the other one, or no clear difference.

An order of rows holds where it holds for every seed; it is the other way round where that holds for every seed; in
between there is no clear difference. With fewer seeds than the entry asks for nothing is said. A row that
never reached its target is worse than any that did.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from tacit.experiments.entry import Claim, Entry
from tacit.experiments.results import figure

SAME, OTHER, UNCLEAR, OPEN, FEW = "yes", "no", "no clear difference", "not run", "too few seeds"


class Verdict(NamedTuple):
    """How a claim fared."""

    claim: Claim
    found: str  # one of the five
    figures: str  # the means it rests on


def check(entry: Entry, rows: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Every claim of an entry against its measured rows."""
    return [_check(entry, claim, rows) for claim in entry.claims]


def _check(entry: Entry, claim: Claim, rows: Mapping[str, Mapping[str, Any]]) -> Verdict:
    labels = claim.order or (claim.row,)
    if not all(label in rows for label in labels):
        return Verdict(claim, OPEN, "")
    metric = entry.metric(claim.metric)
    values = [rows[label]["values"].get(claim.metric) or [None] * entry.seeds for label in labels]
    seeds = min(len(v) for v in values)
    figures = " · ".join(figure(v, metric.shown, around=False) for v in values)
    if seeds < entry.seeds:
        return Verdict(claim, FEW, figures)
    if claim.order:
        return Verdict(claim, _ordered(values, metric.better == "low", seeds, claim.by), figures)
    return Verdict(claim, _within(values[0], claim, metric.better == "low"), figures)


def _ordered(values: Sequence[Sequence[float | None]], low: bool, seeds: int, by: float) -> str:
    """Whether every seed has the rows in order, the better first; all pairs of neighbours must agree."""
    by = by if low else 1 / by
    worst = math.inf if low else -math.inf
    by_seed = [[worst if (value := v[s]) is None else value for v in values] for s in range(seeds)]
    signs = {_sign(a * by, b, low) for one in by_seed for a, b in pairwise(one)}
    finite = all(math.isfinite(value) for one in by_seed for value in one)
    if signs == {1} or (by != 1 and finite and -1 not in signs):  # "half of it" may be just half
        return SAME
    ends = {_sign(one[0] * by, one[-1], low) for one in by_seed}
    return OTHER if ends == {-1} else UNCLEAR


def _sign(a: Any, b: Any, low: bool) -> int:
    if a == b:
        return 0
    return 1 if (a < b) == low else -1


def _within(values: Sequence[float | None], claim: Claim, low: bool) -> str:
    """Whether the mean over seeds is within a limit; a seed without a value is beyond it."""
    if any(v is None for v in values) or not values:
        return OTHER
    mean = sum(v for v in values if v is not None) / len(values)
    low_enough = claim.at_most is None or mean <= claim.at_most
    high_enough = claim.at_least is None or mean >= claim.at_least
    return SAME if low_enough and high_enough else OTHER
