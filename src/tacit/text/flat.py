"""Indexes ragged data: runs of different lengths stored one after another in a flat array."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

AT_ONCE = 1 << 20  # cells to move at once, so that their index stays small compared with the array


def ends(sizes: np.ndarray) -> np.ndarray:
    """Returns the start of each run and the end of the last one, [runs + 1] int64.

    >>> ends(np.array([2, 0, 3]))
    array([0, 2, 2, 5])
    """
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def cells(starts: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Returns the indices of all cells of these runs, run after run, int64.

    >>> cells(np.array([10, 5]), np.array([2, 3]))
    array([10, 11,  5,  6,  7])
    """
    begin = ends(sizes)
    return np.arange(begin[-1]) + np.repeat(starts - begin[:-1], sizes)


def parts(sizes: np.ndarray, most: int = 0) -> Iterator[slice]:
    """Yields slices of consecutive runs with at most `most` cells (0: AT_ONCE); a longer run is a slice by itself.

    >>> list(parts(np.array([2, 2, 9, 1]), most=4))
    [slice(0, 2, None), slice(2, 3, None), slice(3, 4, None)]
    """
    begin, stop, most = ends(sizes), 0, most or AT_ONCE
    while (start := stop) < len(sizes):
        stop = max(start + 1, int(np.searchsorted(begin, begin[start] + most, side="right")) - 1)
        yield slice(start, stop)
