"""Draws from ranked lists, in which the rank of an item gives its probability (Zipf-Mandelbrot)."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Sequence
from itertools import accumulate
from random import Random
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T")


class Ranked(NamedTuple, Generic[T]):
    """Items and their cumulative probabilities; the last is 1."""

    items: Sequence[T]
    cdf: Sequence[float]

    def place(self, rng: Random) -> int:
        # min: rounding can leave the last cumulative probability slightly below 1
        return min(bisect(self.cdf, rng.random()), len(self.items) - 1)

    def draw(self, rng: Random) -> T:
        return self.items[self.place(rng)]


def weighted(items: Sequence[T], weights: Iterable[float]) -> Ranked[T]:
    """Returns items with probabilities proportional to their weights."""
    sums = list(accumulate(weights))
    return Ranked(items, [s / sums[-1] for s in sums])


def zipf(items: Sequence[T], exponent: float = 0.9, offset: float = 2.0) -> Ranked[T]:
    """Returns items with probabilities proportional to 1 / (rank + offset)^exponent.

    >>> [round(p, 2) for p in zipf("abc", exponent=1.0, offset=0.0).cdf]
    [0.55, 0.82, 1.0]
    """
    return weighted(items, ((rank + offset) ** -exponent for rank in range(1, len(items) + 1)))
