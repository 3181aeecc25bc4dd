"""Learning-rate schedules over rounds, for clients, the server and the central baseline.

`constant`; `linear` and `cosine` fall to a hundredth of the rate at the last round; `inverse` is the
decay that FedAvg's convergence needs (paper 5, section 5.4), rate · γ/(γ + t) with γ = a tenth of the rounds.
"""

from __future__ import annotations

import math

from tacit.base.settings import Schedule

_LAST = 0.01  # share of the rate in the last round


def rate(schedule: Schedule, warmup: int, t: int, rounds: int) -> float:
    """Returns the factor on the learning rate in round t = 0, 1, … of a run of `rounds`.

    >>> rate("constant", 0, 5, 10), rate("linear", 0, 0, 10), rate("linear", 2, 0, 10)
    (1.0, 1.0, 0.5)
    """
    if t < warmup:
        return (t + 1) / warmup
    done = (t - warmup) / max(1, rounds - 1 - warmup)
    if schedule == "linear":
        return 1 - (1 - _LAST) * min(1.0, done)
    if schedule == "cosine":
        return _LAST + (1 - _LAST) * 0.5 * (1 + math.cos(math.pi * min(1.0, done)))
    if schedule == "inverse":
        gamma = max(1.0, rounds / 10)
        return gamma / (gamma + (t - warmup))
    return 1.0
