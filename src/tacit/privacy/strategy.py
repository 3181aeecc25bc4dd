"""The strategy matrix C of the matrix mechanism (DP-FTRL), and what one client can change in Cx.

C is a lower triangular Toeplitz matrix; its first column c, with c₀ = 1, says all. It is given in one of two forms:

    banded    c = (1, c₁, …, c_{b−1}), then 0                             (Choquette-Choo et al. 2023)
    buffered  c_t = Σ_i ω_i θ_i^{t−1} for t ≥ 1: a buffered linear Toeplitz matrix, BLT (Dvijotham et al. 2024)

`optimal` finds a good one, `correlated` makes its noise.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError


class Strategy(NamedTuple):
    """The first column of C: given by `column`, or by `decay` θ and `scale` ω."""

    column: tuple[float, ...] = ()
    decay: tuple[float, ...] = ()
    scale: tuple[float, ...] = ()

    @property
    def kept(self) -> int:
        """The number of arrays that the server keeps for each array of noise."""
        return len(self.decay) if self.decay else len(self.column) - 1

    def text(self) -> str:
        """Returns the matrix as the key privacy.coefficients has it.

        >>> Strategy(decay=(0.9, 0.5), scale=(0.2, 0.1)).text()
        'decay 0.9, 0.5 scale 0.2, 0.1'
        """
        if self.decay:
            return f"decay {_listed(self.decay)} scale {_listed(self.scale)}"
        return _listed(self.column)

    def first_column(self, rounds: int) -> np.ndarray:
        """Returns the first column of C, [rounds] float64."""
        c = np.zeros(rounds)
        if self.decay:
            age = np.arange(rounds - 1)[:, None]
            c[1:] = (np.array(self.scale) * np.array(self.decay) ** age).sum(axis=1)
            c[0] = 1.0
        else:
            given = self.column[:rounds]
            c[: len(given)] = given
        return c


def _listed(numbers: tuple[float, ...]) -> str:
    return ", ".join(repr(float(x)) for x in numbers)


def read_strategy(text: str) -> Strategy:
    """Reads C from its form in a configuration.

    >>> read_strategy("1, 0.5, 0.375").column
    (1.0, 0.5, 0.375)
    >>> read_strategy("decay 0.9, 0.5 scale 0.2, 0.1").scale
    (0.2, 0.1)
    """
    wrong = TacitError(
        f"privacy.coefficients = {text[:60]!r} must be '1, c1, c2, …' or 'decay θ1, … scale ω1, …', finite numbers"
    )
    try:
        if not text.strip().startswith("decay"):
            strategy = Strategy(column=_numbers(text))
        else:
            decay, _, scale = text.strip().removeprefix("decay").partition("scale")
            strategy = Strategy(decay=_numbers(decay), scale=_numbers(scale))
    except ValueError:
        raise wrong from None
    _check(strategy, wrong)
    return strategy


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(x) for x in text.split(","))


def _check(strategy: Strategy, wrong: TacitError) -> None:
    """Refuses a matrix whose sensitivity is not known: c must be 1, then fall, and never be negative."""
    if not all(map(math.isfinite, strategy.column + strategy.decay + strategy.scale)):
        raise wrong
    if len(strategy.decay) != len(strategy.scale):
        raise TacitError("privacy.coefficients: a buffered matrix needs as many numbers of decay as of scale")
    if strategy.decay and not (
        all(0 <= x < 1 for x in strategy.decay)
        and all(x >= 0 for x in strategy.scale)
        and sum(strategy.scale) <= 1
    ):
        raise TacitError(
            "privacy.coefficients: a buffered matrix needs decay in [0, 1) and scale ≥ 0 with a sum of at most 1"
        )
    c = strategy.column
    if c and (c[0] != 1 or min(c) < 0 or any(b > a for a, b in pairwise(c))):
        raise TacitError("privacy.coefficients must begin with 1, not rise, and not be negative")


def participations(rounds: int, separation: int) -> int:
    """Returns in how many rounds a client takes part at most, if it waits `separation` rounds each time.

    >>> participations(10, 4)
    3
    """
    return -(-rounds // separation)


def sensitivities(strategy: Strategy, rounds: int, separation: int) -> np.ndarray:
    """Returns the sensitivity of C after each round, [rounds]: the most that one client of norm 1 changes in Cx.

    For a column that never rises and is not negative, the worst client begins in the first round, takes part as often
    as it may and always sends the same (Kalinin and Lampert 2024, theorem 2).
    """
    c = strategy.first_column(rounds)
    change = np.zeros(rounds)
    for begin in range(0, rounds, separation):
        change[begin:] += c[: rounds - begin]
    return np.sqrt(np.cumsum(change**2))
