"""Finds a strategy matrix for the matrix mechanism, with jax-privacy: the least error × sensitivity.

blt     a buffer for each term in the server's memory, two to five
banded  as many buffers as bands
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from tacit.base.progress import Progress, no_progress
from tacit.privacy.accounting import library
from tacit.privacy.strategy import Strategy, participations, sensitivities

Form = Literal["blt", "banded"]
FORMS: tuple[Form, ...] = ("blt", "banded")
_BUFFERS = 5
_WORTH = 1.01  # what one more buffer must gain


def prefix_error(strategy: Strategy, rounds: int) -> float:
    """Returns the error of the sums of all updates up to a round: root mean square over rounds, for white noise of 1.

    Independent noise (C = I) has √((rounds + 1) / 2).
    """
    from scipy.signal import lfilter  # type: ignore[import-untyped]

    c = strategy.first_column(rounds)
    # column of (prefix sums) · C⁻¹: it solves C b = 1, which is a recursive filter
    b = lfilter([1.0], c, np.ones(rounds))
    return float(np.sqrt(np.cumsum(b**2).mean()))


def optimal(
    rounds: int, separation: int, form: Form = "blt", bands: int = 0, progress: Progress = no_progress
) -> Strategy:
    """Returns the matrix with the least error × sensitivity that jax-privacy finds.

    `bands` is for banded matrices; 0 is as many as the separation allows.
    """
    if rounds == 1:
        return Strategy(column=(1.0,))
    if form == "banded":
        return _banded(rounds, min(bands or separation, rounds), progress)
    return _buffered(rounds, separation, progress)


def _banded(rounds: int, bands: int, progress: Progress) -> Strategy:
    progress(f"finding a matrix of {bands} bands", 0.0)
    toeplitz = library("jax_privacy.matrix_factorization.toeplitz")
    column = np.asarray(toeplitz.optimize_banded_toeplitz(rounds, bands), np.float64)
    falling = np.minimum.accumulate(np.maximum(column / column[0], 0.0))  # float32 may rise by a rounding
    return Strategy(column=tuple(falling.tolist()))


def _buffered(rounds: int, separation: int, progress: Progress) -> Strategy:
    """Takes more buffers as long as each lowers the loss by 1 %. Most matrices need two, so it begins there."""
    best, least = Strategy(column=(1.0,)), math.inf
    for buffers in range(2, _BUFFERS + 1):
        progress(f"finding a matrix of {buffers} buffers", (buffers - 2) / (_BUFFERS - 1))
        strategy = _of_buffers(buffers, rounds, separation)
        if strategy is None and buffers == 2:
            strategy = _of_buffers(1, rounds, separation)
        if strategy is None:
            break
        loss = sensitivities(strategy, rounds, separation)[-1] * prefix_error(strategy, rounds)
        if loss * _WORTH > least:
            break
        best, least = strategy, loss
    return best


def _of_buffers(buffers: int, rounds: int, separation: int) -> Strategy | None:
    """Returns the best matrix with so many buffers; None if no valid one is found."""
    blt = library("jax_privacy.matrix_factorization.buffered_toeplitz")
    most = participations(rounds, separation)
    try:
        optimised = blt.optimize(
            n=rounds,
            min_sep=separation,
            max_participations=most,
            min_buffers=buffers,
            max_buffers=buffers,
        )
    except RuntimeError:
        return None
    decay, scale = (np.asarray(x, np.float64).tolist() for x in (optimised.buf_decay, optimised.output_scale))
    return Strategy(decay=tuple(decay), scale=tuple(scale))
