"""Computes sums over people, which are all that the server sees of a personalisation (paper 3, section 2).

A device measures itself and sends one report of whole numbers: a 1 in a histogram (change of accuracy × tokens tuned
on × accuracy before), and its figures in one of 50 groups of people, which it draws at random. Reports are trees of
arrays that are only added, like the messages of training (`federated.aggregation`). Real numbers are sent in fixed
point, so a total does not depend on the order, and secure aggregation and noise work without changes. A sum over one
person is that person's row. `alone` counts such people; among a hundred there are many.

From totals come means, shares, histograms (Figure 2), slices (Figure 3), and intervals by the jackknife over groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit.base.randomness import bits, stream
from tacit.personal.tuning import Marks
from tacit.scoring.jackknife import half_width

GROUPS = 50  # of people, for intervals; those with an even number are one half of all people
GAIN = 2  # hundredths of accuracy that count as a gain, and as a loss
HUNDREDTHS = 20  # the histogram runs from −0.20 to 0.20, and beyond in one bin on each side
TOKEN_EDGES = (250, 500, 1000, 2000, 4000)
BASELINE_EDGES = (10, 15, 20, 25, 30, 35)  # hundredths
UNIT = 1 << 20  # fixed point of accuracies
NLL_UNIT = 1 << 10
WORST = 50  # nats per prediction: bounds what a device reports of a diverged model

_GROUP = stream("personal: group of people")

FIGURES = (
    "users",
    "baseline",  # accuracy before, in units
    "delta",  # its change, in units
    "delta_squared",
    "gained",  # by 0.02 or more
    "lost",  # 0.02 or more
    "worse",  # by any amount
    "diverged",
    "predictions",  # words and ends
    "nll_before",  # in its units
    "nll_after",
)


class Outcome(NamedTuple):
    """What devices measured before and after tuning, all [users]; only the device itself sees its entry."""

    ids: np.ndarray
    tokens: np.ndarray  # in the text to tune on
    words: np.ndarray  # measured on
    predictions: np.ndarray  # words and ends
    before: np.ndarray  # words the global model had right
    lost: np.ndarray  # of these, words the personal model has wrong
    won: np.ndarray  # words that only the personal model has right
    nll_before: np.ndarray
    nll_after: np.ndarray
    finite: np.ndarray  # bool


def outcome(
    ids: np.ndarray,
    tokens: np.ndarray,
    words: np.ndarray,
    predictions: np.ndarray,
    before: Marks,
    after: Marks,
    finite: np.ndarray,
) -> Outcome:
    """Returns outcomes from marks; if fine-tuning diverged, the device keeps the global model."""
    ok = np.asarray(finite, bool) & np.isfinite(after.nll)
    return Outcome(
        np.asarray(ids, np.int64),
        tokens,
        words,
        predictions,
        before.right.astype(np.int64),
        np.where(ok, after.lost, 0).astype(np.int64),
        np.where(ok, after.won, 0).astype(np.int64),
        np.asarray(before.nll, np.float64),
        np.where(ok, after.nll, before.nll).astype(np.float64),
        ok,
    )


def group_of(ids: np.ndarray, seed: int) -> np.ndarray:
    """Returns the group that each person draws, [users] in 0 … 49."""
    return (bits(seed, _GROUP, ids) % np.uint64(GROUPS)).astype(np.int64)


def half_of(ids: np.ndarray, seed: int) -> np.ndarray:
    """Returns the half that each person belongs to, 0 or 1."""
    return group_of(ids, seed) % 2


class DeviceReport(NamedTuple):
    """What one device sends, or the total of many."""

    bins: Any  # [change, tokens, baseline] int64
    by_tokens: Any  # [groups, tokens, figures] int64
    by_baseline: Any  # [groups, baseline, figures] int64


def empty_report() -> DeviceReport:
    """Returns a report of zeros, which changes no total."""
    tokens, baseline, figures = len(TOKEN_EDGES) + 1, len(BASELINE_EDGES) + 1, len(FIGURES)
    return DeviceReport(
        np.zeros((2 * HUNDREDTHS + 2, tokens, baseline), np.int64),
        np.zeros((GROUPS, tokens, figures), np.int64),
        np.zeros((GROUPS, baseline, figures), np.int64),
    )


def device_report(of: Outcome, k: int, seed: int) -> DeviceReport:
    """Returns the report of person k, in whole-number arithmetic: a change of exactly 0.02 is in its bin everywhere."""
    words, change = max(1, int(of.words[k])), int(of.won[k]) - int(of.lost[k])
    before = int(of.before[k])
    figures = np.array(
        [
            1,
            rounded(before * UNIT, words),
            rounded(change * UNIT, words),
            rounded(change * change * UNIT, words * words),
            100 * change >= GAIN * words,
            100 * change <= -GAIN * words,
            change < 0,
            not of.finite[k],
            int(of.predictions[k]),
            _fixed_nll(of.nll_before[k], of.predictions[k]),
            _fixed_nll(of.nll_after[k], of.predictions[k]),
        ],
        np.int64,
    )
    tokens = int(np.searchsorted(TOKEN_EDGES, int(of.tokens[k]), side="right"))
    baseline = sum(100 * before >= edge * words for edge in BASELINE_EDGES)
    report = empty_report()
    report.bins[min(max(100 * change // words + HUNDREDTHS, -1), 2 * HUNDREDTHS) + 1, tokens, baseline] = 1
    group = int(group_of(of.ids[k : k + 1], seed)[0])
    report.by_tokens[group, tokens] = figures
    report.by_baseline[group, baseline] = figures
    return report


def rounded(a: int, b: int) -> int:
    """Returns a / b, rounded to the nearest whole number."""
    return (2 * a + b) // (2 * b)


def _fixed_nll(nll: float, predictions: int) -> int:
    return round(min(float(nll), WORST * float(predictions)) * NLL_UNIT)


def add(reports: Iterable[Any], start: Any) -> Any:
    """Adds reports, trees of whole numbers, to `start`."""
    for report in reports:
        start = jax.tree.map(np.add, start, report)
    return start


def total(of: Outcome, seed: int) -> DeviceReport:
    """Returns the sum of everybody's reports, which is all that the server gets."""
    return add((device_report(of, k, seed) for k in range(len(of.ids))), empty_report())


def alone(report: DeviceReport) -> int:
    """Returns how many people are alone in a cell (group × slice) of a sum.

    Slices are by tokens or by accuracy before, whichever has more such people.
    """
    return max(int(np.sum(table[..., 0] == 1)) for table in (report.by_tokens, report.by_baseline))


Figures = dict[str, float]


def figures(table: np.ndarray) -> Figures:
    """Returns means and shares from totals [groups, figures], with an interval of the mean change."""
    means = _means(table.sum(axis=0))
    return means | {"ci95": jackknife(table, lambda t: _means(t)["delta_mean"])}


def _means(sums: np.ndarray) -> Figures:
    """Returns means and shares from one row of figures."""
    of = dict(zip(FIGURES, sums.astype(float), strict=True))
    users = max(1.0, of["users"])
    baseline, delta = of["baseline"] / UNIT / users, of["delta"] / UNIT / users
    spread = max(0.0, of["delta_squared"] / UNIT / users - delta**2)
    tokens = max(1.0, of["predictions"]) * NLL_UNIT
    return {
        "users": of["users"],
        "baseline": baseline,
        "delta_mean": delta,
        "delta_sd": float(np.sqrt(spread)),
        "relative": delta / baseline if baseline else 0.0,
        "gain_share": of["gained"] / users,
        "loss_share": of["lost"] / users,
        "worse_share": of["worse"] / users,
        "diverged_share": of["diverged"] / users,
        "perplexity_before": float(np.exp(of["nll_before"] / tokens)),
        "perplexity_after": float(np.exp(of["nll_after"] / tokens)),
    }


def jackknife(table: np.ndarray, estimate: Callable[[np.ndarray], float]) -> float:
    """Returns the half-width of a 95 % interval of `estimate`, leaving out one group at a time; table [groups, …].

    Empty groups, whose first figure is 0, are ignored.
    """
    flat = table.reshape(len(table), -1)
    present = table[flat[:, 0] != 0] if flat.size else table
    return half_width(np.array([estimate(present.sum(axis=0) - one) for one in present]))


def of_half(table: np.ndarray, half: int | None) -> np.ndarray:
    """Returns the groups of one half of the people (None: all)."""
    return table if half is None else table[half::2]


def overall(report: DeviceReport, half: int | None = None) -> Figures:
    """Returns means and shares over everybody, or over one half."""
    return figures(of_half(report.by_tokens, half).sum(axis=1))


def histogram(report: DeviceReport) -> np.ndarray:
    """Returns people by change of accuracy, [42]: below −0.20, in steps of 0.01, 0.20 and above (Figure 2)."""
    return report.bins.sum(axis=(1, 2))


def labels(edges: tuple[int, ...], shape: str) -> list[str]:
    """Returns names of the slices between edges."""
    named = [shape.format(edge) for edge in edges]
    return [f"< {named[0]}", *(f"{a}–{b}" for a, b in pairwise(named)), f"≥ {named[-1]}"]


def slices(report: DeviceReport) -> dict[str, list[dict[str, Any]]]:
    """Returns Figure 3: figures by tokens tuned on and by accuracy before; empty slices are left out."""
    tokens = labels(TOKEN_EDGES, "{}")
    baseline = labels(tuple(BASELINE_EDGES), "0.{:02d}")
    return {
        name: [
            {"slice": label, **figures(table[:, i])} for i, label in enumerate(names) if table[:, i, 0].any()
        ]
        for name, names, table in (
            ("tokens", tokens, report.by_tokens),
            ("baseline", baseline, report.by_baseline),
        )
    }
