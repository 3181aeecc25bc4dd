"""Intervals over people, by leaving out one at a time: the one formula behind every ± in Tacit.

With n people (or groups of them) and θ_(i) a figure without person i: variance = (n − 1)/n · Σ (θ_(i) − mean)².
"""

from __future__ import annotations

import numpy as np

_NORMAL = 1.96  # standard deviations on either side that hold 95 %


def half_width(without: np.ndarray) -> float:
    """Half the width of a 95 % interval, from the figure without each of them, [n]; NaN where there are fewer than two.

    >>> round(half_width(np.array([0.4, 0.5, 0.6])), 4), half_width(np.array([0.5]))
    (0.2263, nan)
    """
    n = len(without)
    if n < 2:
        return float("nan")
    return float(_NORMAL * np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2)))
