"""A lower bound on ε from guesses (Steinke, Nasr and Jagielski 2023, *Privacy auditing with one training run*).

Each of k canaries takes part or not, by the toss of a coin. An attacker who sees only what was released scores the
canaries, guesses "in" for the highest and "out" for the lowest, and may abstain on the rest. If the release is
(ε, δ)-differentially private, then the number of right guesses among r is at most a binomial of r tosses that come up
right with probability e^ε/(1 + e^ε), but for a correction by δ (their Theorem 5.2). So many right guesses refute every
small ε: the largest refuted one is the lower bound, at the confidence that was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats  # type: ignore[import-untyped]

_MOST = 60.0  # no larger ε is looked for: e^60 is beyond any number of canaries


class LowerBound(NamedTuple):
    """What the guesses show."""

    epsilon: float  # at least this much, at the confidence asked for; 0 where nothing is shown
    guesses: int
    right: int


def chance(right: int, guesses: int, epsilon: float, canaries: int, delta: float) -> float:
    """Returns a bound on the probability of so many right guesses under (ε, δ)-differential privacy.

    >>> round(chance(10, 10, 0.0, 10, 0.0), 6) == round(0.5**10, 6)
    True
    """
    p = 1 / (1 + np.exp(-epsilon))
    tail = float(stats.binom.sf(right - 1, guesses, p))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    # δ may move mass from further below: over every distance i, what lies within i below `right`, shared among i
    below = stats.binom.pmf(np.arange(right - 1, -1, -1), guesses, p).cumsum()
    spread = float(np.max(below / np.arange(1, right + 1)))
    return min(1.0, tail + 2 * canaries * delta * spread)


def lower_bound(
    scores: NDArray[np.float64],
    took_part: NDArray[np.bool_],
    delta: float,
    confidence: float = 0.999,
    shares: Sequence[float] = (0.05, 0.2, 0.5, 1.0),
) -> LowerBound:
    """Returns the largest ε that the guesses refute, over several shares of canaries that are guessed.

    The confidence holds for the largest of them: each share is tested at its part of the allowed error.
    """
    k, error = len(scores), (1 - confidence) / len(shares)
    order = np.argsort(-scores, kind="stable")
    best = LowerBound(0.0, 0, 0)
    for share in shares:
        half = max(1, int(share * k / 2))
        right = int(took_part[order[:half]].sum() + (~took_part[order[k - half :]]).sum())
        epsilon = _refuted(right, 2 * half, k, delta, error)
        if epsilon > best.epsilon or not best.guesses:
            best = LowerBound(epsilon, 2 * half, right)
    return best


def _refuted(right: int, guesses: int, canaries: int, delta: float, error: float) -> float:
    """Returns the largest ε at which so many right guesses have a chance of at most `error`; 0 if there is none."""
    if chance(right, guesses, 0.0, canaries, delta) > error:
        return 0.0
    low, high = 0.0, _MOST
    for _ in range(60):
        middle = (low + high) / 2
        if chance(right, guesses, middle, canaries, delta) <= error:
            low = middle
        else:
            high = middle
    return low
