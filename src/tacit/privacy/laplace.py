"""Noise for counts: Laplace and normal numbers straight from the system's secure source.

Each number comes from 52 random bits of its own by the inverse of the distribution function, so no state of a
generator could be guessed. Sums are released on a coarse grid (`on_grid`): the last digits of a floating-point number
tell which sums are possible, and with it who is in them (Mironov 2012).
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable

import numpy as np
from scipy.special import ndtri  # type: ignore[import-untyped]

from tacit.base.arrays import Floats
from tacit.privacy.noise import unused_bits

Source = Callable[[int], bytes]
_FEWEST = 64  # bytes that are drawn at least: fewer leave too few bits for a digest


def laplace(size: int, scale: float, source: Source = os.urandom) -> Floats:
    """Returns numbers of density e^(−|x| / scale) / (2 scale), [size].

    >>> laplace(2, 1.0, lambda n: bytes(n)).round(2).tolist()  # the smallest that 52 bits can give
    [-36.04, -36.04]
    """
    u = _uniform(size, source)
    half = np.where(u < 0.5, u, 1 - u)  # in (0, ½]; exact, because u is a multiple of 2⁻⁵³
    return np.where(u < 0.5, 1.0, -1.0) * scale * np.log(2 * half)


def normal(size: int, std: float, source: Source = os.urandom) -> Floats:
    """Returns normal numbers of mean 0, [size]."""
    return std * np.asarray(ndtri(_uniform(size, source)))


def on_grid(values: Floats, scale: float) -> Floats:
    """Rounds noised sums to whole numbers, or to a finer grid if the noise is small.

    >>> on_grid(np.array([12.34, -0.2]), scale=100.0).tolist(), on_grid(np.array([0.3]), scale=1.0).tolist()
    ([12.0, -0.0], [0.25])
    """
    grid = min(1.0, 2.0 ** (math.floor(math.log2(scale)) - 3))
    return np.asarray(np.rint(values / grid) * grid)


class Traced:
    """A source of bytes with a digest for the ledger: a hash of the bits that no number is made of (`noise`)."""

    def __init__(self, source: Source | None = None) -> None:
        self._source, self._hash = source or os.urandom, hashlib.sha256()

    def __call__(self, size: int) -> bytes:
        data = self._source(max(size, _FEWEST))
        self._hash.update(unused_bits(data))
        return data[:size]

    @property
    def digest(self) -> str:
        """The digest of all that was drawn so far."""
        return self._hash.hexdigest()[:16]


def _uniform(size: int, source: Source) -> Floats:
    """Returns numbers in (0, 1) from 52 bits each: (k + ½) / 2⁵², which float64 holds exactly."""
    bits = np.frombuffer(source(8 * size), np.uint64) >> np.uint64(12)
    return np.asarray((bits.astype(np.float64) + 0.5) * 2.0**-52)
