"""Measures whether a count has converged, in three ways (paper 4, section 3.2 and Figure 3).

The Z-statistic compares two samples, X of size m₁ and Y of size m₂ (Bhattacharya & Valiant 2015):

    Z = Σ_i [(m₂ X_i − m₁ Y_i)² − (m₂² X_i + m₁² Y_i)] / (X_i + Y_i)        over words with X_i + Y_i > 0

For independent Poisson samples of one distribution its mean is 0. The paper compares the counts after k/2 and
after k rounds. The second sample contains the first, so they agree too well and Z falls below 0. `halves` also
compares the first k/2 rounds with the next k/2, which are disjoint. Neither kind of count is Poisson: people repeat
their words, which raises Z, and a clipped count is smaller than one, which lowers it (at λ = 1 the term m₂²X + m₁²Y
dominates). So Z is a diagnostic, not a test. It is most informative at λ = ∞.

Z grows like the cube of the sample. `distance` divides this growth out. It estimates the χ² distance Σ (p − q)² / r,
where r is the mixture of both by size, and goes to 0 as the count converges.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats
from tacit.text.flat import ends


class Z(NamedTuple):
    """Holds the Z-statistic of two samples, and the χ² distance that it estimates."""

    statistic: float
    distance: float


def z_statistic(x: Floats, y: Floats) -> Z:
    """Returns Z of the counts x and y over the same words, [V] each; 0 where one of them is empty.

    >>> z_statistic(np.array([3.0, 1.0, 0.0]), np.array([2.0, 2.0, 0.0])).statistic  # −64/5 − 32/3
    -23.46666666666667
    """
    m1, m2 = float(x.sum()), float(y.sum())
    if not (m1 > 0 and m2 > 0):
        return Z(0.0, 0.0)
    seen = x + y > 0
    x, y = x[seen], y[seen]
    z = float(np.sum(((m2 * x - m1 * y) ** 2 - (m2**2 * x + m1**2 * y)) / (x + y)))
    return Z(z, z * (m1 + m2) / (m1 * m2) ** 2)


def halves(half: Floats, whole: Floats) -> dict[str, Z]:
    """Returns Z of the counts after k/2 and k rounds (nested), and of the first and second k/2 (disjoint).

    >>> {name: z.statistic for name, z in halves(np.array([3.0, 1.0]), np.array([5.0, 3.0])).items()}
    {'nested': -56.0, 'disjoint': -23.46666666666667}
    """
    return {"nested": z_statistic(half, whole), "disjoint": z_statistic(half, whole - half)}


def rounds_between_new(new: NDArray[np.int64], window: int = 50) -> Floats:
    """Returns the rounds until a new word, as a moving average; ∞ if the window has no new word.

    new [rounds]: how many words each round saw for the first time. At round k, of the last `window` rounds (of all k
    of them, earlier): rounds divided by those that brought a new word.

    >>> rounds_between_new(np.array([9, 2, 0, 1, 0, 0]), window=2).tolist()
    [1.0, 1.0, 2.0, 2.0, 2.0, inf]
    """
    brought = ends(new > 0)  # [rounds + 1]
    k = np.arange(1, len(new) + 1)
    width = np.minimum(k, window)
    hits = brought[k] - brought[k - width]
    return np.divide(width, hits, out=np.full(len(new), np.inf), where=hits > 0)


def compared_at(rounds: int, most: int = 100) -> list[int]:
    """Returns the even rounds k at which counts after k/2 and k are compared: at most `most`, the last included.

    Every comparison needs the counts after k/2 kept until round k, so not every round of thousands has one.

    >>> compared_at(7), compared_at(1000, most=4)
    ([2, 4, 6], [250, 500, 750, 1000])
    """
    pairs = rounds // 2
    return (
        2 * np.unique(np.linspace(pairs, 0, min(most, pairs), endpoint=False).round().astype(int))
    ).tolist()
