"""Noise for counts: Laplace and normal numbers straight from the system's secure source.

Each number comes from 117 random bits of its own by the inverse of the distribution function, so no state of a
generator could be guessed, and it is cut off only where 2⁻¹¹⁶ of all numbers lie. Sums are released on a coarse grid
(`on_grid`): the last digits of a floating-point number tell which sums are possible, and with it who is in them
(Mironov 2012).
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
_FEWEST = 256  # bytes that are drawn at least: fewer leave too few bits for a digest


def laplace(size: int, scale: float, source: Source = os.urandom) -> Floats:
    """Returns numbers of density e^(−|x| / scale) / (2 scale), [size].

    >>> laplace(2, 1.0, lambda n: bytes(n)).round(2).tolist()  # the smallest that there are
    [-80.41, -80.41]
    """
    u, sign = _uniform(size, source)
    return -scale * sign * np.log(u)


def normal(size: int, std: float, source: Source = os.urandom) -> Floats:
    """Returns normal numbers of mean 0, [size]."""
    u, sign = _uniform(size, source)
    return -std * sign * np.asarray(ndtri(u / 2))


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


def _uniform(size: int, source: Source) -> tuple[Floats, Floats]:
    """Returns numbers in (0, 1] with 116 bits each, and signs ±1, from 16 bytes each, whose `unused_bits` stay so."""
    pairs = np.frombuffer(source(16 * size), "<u8").reshape(-1, 2)
    first, second = pairs[:, 0], pairs[:, 1]
    u = (2.0**52 * first + (second >> np.uint64(12)) + 1.0) * 2.0**-116
    return u, np.where(second >> np.uint64(11) & np.uint64(1), 1.0, -1.0)
