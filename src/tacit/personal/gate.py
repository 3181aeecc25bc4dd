"""Implements the gate: a personal model is used only if it helps on text that it was not tuned on.

A model is tuned on the first part of a person's text (64 %), evaluated on the second (16 %), and accepted only if
accuracy there is better by a margin. A `Condition` may also require enough text to tune on, and a global model that is
not already good for this person, because paper 3 (Figure 3) finds that both decide who gains. The effect is measured on
the third part (20 %), which neither tuning nor the gate uses. Paper 3 (section 2) proposes such a gate and leaves its
condition to the practitioner.

People must not choose the strategy and margin that are reported for them, so each half chooses for the other. A device
sends one report of whole numbers: which margins it passed, and the change on the last part. From the sum of one half's
reports the server computes the effect of every margin. Figures are over both halves.

"Significantly worse" is McNemar's exact test, one-sided, 5 %: of n words on which the two models differ, b were right
before and wrong now; worse if P(Bin(n, ½) ≥ b) ≤ 0.05. It is applied to people with at least 300 words in the last
part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jax.scipy.special import betainc

from tacit.base.errors import TacitError
from tacit.personal.sums import GROUPS, UNIT, Outcome, add, group_of, jackknife, of_half, rounded

MARGINS = (0.0, 0.0025, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05)
LEVEL = 0.05  # of the test
LEAST_WORDS = 300  # in the last part, for the test to apply
HARM = 0.02  # share of those tested that may be significantly worse, or one person
ENOUGH = 0.95  # of the highest mean gain: a larger margin is taken if it keeps this much


class Condition(NamedTuple):
    """Holds what a person needs for a personal model, besides the gain that the margin requires."""

    least_tokens: int = 0  # words and ends in the first two parts
    most_baseline: float = 1.0  # accuracy of the global model on the second part, at most


ANYBODY = Condition()

FIGURES = ("users", "baseline", "delta", "worse", "tested", "significantly_worse")


def check_margin(margin: float) -> float:
    """Returns the margin, a difference of accuracies; refuses one that is not between 0 and 1."""
    if not 0 <= margin <= 1:
        raise TacitError(f"--margin {margin:g} must lie between 0 and 1: a gain of accuracy, like 0.01")
    return margin


def check_condition(condition: Condition) -> Condition:
    """Returns the condition; refuses one that nobody or everybody meets by mistake."""
    if condition.least_tokens < 0:
        raise TacitError(f"--gate-tokens {condition.least_tokens} must be at least 0")
    if not 0 < condition.most_baseline <= 1:
        raise TacitError(
            f"--gate-baseline {condition.most_baseline:g} must be above 0 and at most 1: an accuracy, like 0.2"
        )
    return condition


def in_words(condition: Condition) -> str:
    """Returns what the condition adds to a margin, in words.

    >>> in_words(ANYBODY), in_words(Condition(500, 0.2))
    ('', ', from 500 tokens to tune on, where accuracy before is at most 0.2')
    """
    tokens = f", from {condition.least_tokens:,} tokens to tune on" if condition.least_tokens else ""
    below = condition.most_baseline < 1
    return tokens + (f", where accuracy before is at most {condition.most_baseline:g}" if below else "")


def passes(won: np.ndarray, lost: np.ndarray, words: np.ndarray, margin: float) -> np.ndarray:
    """Returns whether accuracy is better, and by at least `margin`, [users] bool.

    >>> passes(np.array([2, 1]), np.array([0, 1]), np.array([100, 100]), 0.02).tolist()
    [True, False]
    """
    change = won - lost
    return (change > 0) & (change >= margin * words - 1e-9)


def mcnemar(lost: np.ndarray, won: np.ndarray) -> np.ndarray:
    """Returns P(Bin(lost + won, ½) ≥ lost): the p-value of so many losses if both models are equally good.

    >>> [round(float(p), 4) for p in mcnemar(np.array([5, 0, 3]), np.array([0, 4, 3]))]
    [0.0312, 1.0, 0.6562]
    """
    lost, won = np.asarray(lost, np.float32), np.asarray(won, np.float32)
    tail = np.asarray(betainc(np.maximum(lost, 1), won + 1, 0.5))
    return np.where(lost > 0, tail, 1.0)


def significantly_worse(last: Outcome) -> np.ndarray:
    """Returns who is significantly worse on the last part, [users] bool; False where it is too short."""
    return (last.words >= LEAST_WORDS) & (mcnemar(last.lost, last.won) <= LEVEL)


def level(look: Outcome, margins: Sequence[float], condition: Condition = ANYBODY) -> np.ndarray:
    """Returns how many of the rising margins each person's second part passes, [users]; 0 without the condition."""
    passed = np.stack([passes(look.won, look.lost, look.words, m) for m in margins])
    may = (
        look.finite
        & (look.tokens >= condition.least_tokens)
        & (look.before <= condition.most_baseline * look.words + 1e-9)
    )
    return np.where(may, passed.sum(axis=0), 0).astype(np.int64)


def gate_report(
    look: Outcome,
    last: Outcome,
    k: int,
    margins: Sequence[float],
    seed: int,
    condition: Condition = ANYBODY,
) -> np.ndarray:
    """Returns the report of person k: figures of the last part by margins passed, [groups, margins + 1, figures]."""
    one = Outcome(*(field[k : k + 1] for field in last))
    words, change = max(1, int(last.words[k])), int(last.won[k]) - int(last.lost[k])
    report = empty_report(margins)
    passed = level(Outcome(*(field[k : k + 1] for field in look)), margins, condition)[0]
    report[int(group_of(last.ids[k : k + 1], seed)[0]), passed] = [
        1,
        rounded(int(last.before[k]) * UNIT, words),
        rounded(change * UNIT, words),
        change < 0,
        int(last.words[k]) >= LEAST_WORDS,
        bool(significantly_worse(one)[0]),
    ]
    return report


def empty_report(margins: Sequence[float]) -> np.ndarray:
    """Returns a report of zeros, which changes no total."""
    return np.zeros((GROUPS, len(margins) + 1, len(FIGURES)), np.int64)


def total(
    look: Outcome, last: Outcome, margins: Sequence[float], seed: int, condition: Condition = ANYBODY
) -> np.ndarray:
    """Returns the sum of everybody's reports, which is all that the server gets."""
    every = range(len(last.ids))
    reports = (gate_report(look, last, k, margins, seed, condition) for k in every)
    return add(reports, empty_report(margins))


_EFFECT = (
    "users",
    "accepted",
    "baseline",
    "delta",
    "delta_without",
    "worse",
    "worse_without",
    "tested",
    "significantly_worse",
    "significantly_worse_without",
)


def effect(totals: np.ndarray, place: int) -> np.ndarray:
    """Returns the effect of margin number `place`, [groups, 10]: people who pass it get the personal model."""
    of = dict(zip(FIGURES, np.moveaxis(totals, 2, 0), strict=True))  # each [groups, margins + 1]
    inside = slice(place + 1, None)
    columns = [
        of["users"].sum(1),
        of["users"][:, inside].sum(1),
        of["baseline"].sum(1),
        of["delta"][:, inside].sum(1),
        of["delta"].sum(1),
        of["worse"][:, inside].sum(1),
        of["worse"].sum(1),
        of["tested"].sum(1),
        of["significantly_worse"][:, inside].sum(1),
        of["significantly_worse"].sum(1),
    ]
    return np.stack(columns, axis=1)


def effect_sums(table: np.ndarray) -> dict[str, float]:
    """Returns the sums of an effect over all groups, by name."""
    return dict(zip(_EFFECT, table.sum(axis=0).astype(float), strict=True))


def effect_figures(table: np.ndarray) -> dict[str, float]:
    """Returns shares and means of an effect, with intervals of the means."""

    def means(row: np.ndarray) -> dict[str, float]:
        of = dict(zip(_EFFECT, row.astype(float), strict=True))
        users, tested = max(1.0, of["users"]), max(1.0, of["tested"])
        with_, without = of["delta"] / UNIT / users, of["delta_without"] / UNIT / users
        return {
            "users": of["users"],
            "baseline": of["baseline"] / UNIT / users,
            "accepted_share": of["accepted"] / users,
            "delta_mean": with_,
            "delta_mean_without": without,
            "kept": with_ / without if without > 0 else float("nan"),
            "worse_share": of["worse"] / users,
            "worse_share_without": of["worse_without"] / users,
            "tested": of["tested"],
            "significantly_worse_share": of["significantly_worse"] / tested,
            "significantly_worse_share_without": of["significantly_worse_without"] / tested,
        }

    whole = means(table.sum(axis=0))
    for name in ("delta_mean", "delta_mean_without", "accepted_share"):
        whole[f"ci95_{name}"] = jackknife(table, lambda row: means(row)[name])  # noqa: B023, called at once
    return whole


def choose(totals: np.ndarray, half: int | None = None) -> int:
    """Returns the number of the margin that fits these people's totals best.

    Of the margins at which at most 2 % of those tested (or one person, who among few is no evidence) are significantly
    worse, it is the largest that keeps 95 % of the highest mean gain; if there is none, the one with the fewest.
    """
    places = range(totals.shape[1] - 1)
    effects = [effect_figures(effect(of_half(totals, half), place)) for place in places]
    harm = [f["significantly_worse_share"] * f["tested"] for f in effects]  # people
    gain = [f["delta_mean"] for f in effects]
    safe = [p for p in places if harm[p] <= max(1.0, HARM * effects[p]["tested"]) + 1e-9]
    if not safe:
        return min(places, key=lambda p: (harm[p], -p))
    best = max(gain[p] for p in safe)
    return max(p for p in safe if gain[p] >= min(best, ENOUGH * best))


def reported(totals: Sequence[np.ndarray], places: Sequence[int]) -> np.ndarray:
    """Returns the effect on both halves: half 1 under half 0's choice (totals[0], places[0]), and the reverse."""
    table = np.zeros_like(effect(totals[0], 0))
    for chooser in (0, 1):
        table[1 - chooser :: 2] = effect(totals[chooser], places[chooser])[1 - chooser :: 2]
    return table


def json_figures(figures: dict[str, float], margin: float) -> dict[str, Any]:
    """Returns the figures of the gate that `--json` prints."""
    names = (
        "accepted_share",
        "delta_mean",
        "delta_mean_without",
        "worse_share",
        "worse_share_without",
        "significantly_worse_share",
    )
    return {"margin": margin, **{name: figures[name] for name in names}}
