"""Runs of flat arrays: where things of different lengths lie one after another."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

AT_ONCE = 1 << 20  # cells that are moved together, so that an index of them is small beside the array


def ends(sizes: np.ndarray) -> np.ndarray:
    """Where each thing starts and the last one ends, [things + 1] int64.

    >>> ends(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def cells(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """The places of all these runs, one run after another, int64.

    >>> cells(np.array([10, 5]), np.array([2, 3]))
    array([10, 11,  5,  6,  7])
    """
    begin = ends(sizes)
    return np.arange(begin[-1]) + np.repeat(starts - begin[:-1], sizes)


def parts(sizes: np.ndarray, most: int = 0) -> Iterator[slice]:
    """Things in parts of at most `most` cells (0: AT_ONCE); a larger thing is a part of its own.

    >>> list(parts(np.array([2, 2, 9, 1]), most=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    begin, stop, most = ends(sizes), 0, most or AT_ONCE
    while (start := stop) < len(sizes):
        stop = max(start + 1, int(np.searchsorted(begin, begin[start] + most, side="right")) - 1)
        yield slice(start, stop)
