"""Jackknife intervals over people: the one formula behind every ± in Tacit.

For n people (or groups of people), with θ_(i) the figure without person i: variance = (n − 1)/n · Σ (θ_(i) − mean)².
"""

from __future__ import annotations

import numpy as np

_NORMAL = 1.96  # a normal distribution has 95 % within this many standard deviations


def half_width(without: np.ndarray) -> float:
    """Returns half the width of a 95 % interval, from the leave-one-out figures [n]; NaN if n < 2.

    >>> round(half_width(np.array([0.4, 0.5, 0.6])), 4), half_width(np.array([0.5]))
    (0.2263, nan)
    """
    n = len(without)
    if n < 2:
        return float("nan")
    return float(_NORMAL * np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
