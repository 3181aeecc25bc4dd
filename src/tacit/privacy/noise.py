"""Normal noise from the system's secure random bytes.

A generator with a small key could be guessed, and its noise subtracted. Here every normal number is made from 8 fresh
bytes of the operating system's source by the Box–Muller transform, in float64. `normals` is a pure function of bytes,
so a test can give it any. A digest of the bytes goes into the ledger: an audit sees noise that was used twice.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.randomness import generator, stream

_SEEDED = stream("privacy noise")
_CHUNK = 1 << 18  # pairs at once, so that intermediate arrays stay small


class Drawn(NamedTuple):
    """The noise of one round."""

    values: NDArray[np.float32]  # [count], standard normal
    digest: str  # short hash of the bytes behind it


def normals(data: bytes) -> NDArray[np.float32]:
    """Returns standard normal numbers, one for each 8 bytes; the bytes come in pairs of 8.

    Box–Muller: √(−2 ln u)·(cos 2πv, sin 2πv), u in (0, 1] and v in [0, 1) with 53 bits each.

    >>> [round(x, 3) for x in normals(bytes(16)).tolist()]  # u = 2⁻⁵³, v = 0: the largest there is
    [8.572, 0.0]
    """
    pairs = np.frombuffer(data, "<u8").reshape(-1, 2)
    values = np.empty(pairs.shape, np.float32)
    for begin in range(0, len(pairs), _CHUNK):
        part = pairs[begin : begin + _CHUNK] >> np.uint64(11)
        radius = np.sqrt(-2 * np.log((part[:, 0] + 1.0) * 2.0**-53))
        angle = part[:, 1] * (2 * np.pi * 2.0**-53)
        values[begin : begin + _CHUNK, 0] = radius * np.cos(angle)
        values[begin : begin + _CHUNK, 1] = radius * np.sin(angle)
    return values.reshape(-1)


def digest(data: bytes) -> str:
    """Returns a short hash of random bytes."""
    return hashlib.sha256(data).hexdigest()[:16]


def drawn(count: int, source: Callable[[int], bytes] = os.urandom) -> Drawn:
    """Draws `count` standard normal numbers from a source of bytes."""
    data = source(16 * (-(-count // 2)))
    return Drawn(normals(data)[:count], digest(data))


def seeded(seed: int, t: int) -> Callable[[int], bytes]:
    """Returns a repeatable source of bytes for round t, for tests and experiments: its noise hides nothing."""
    return generator(seed, _SEEDED, t).bytes


class NoiseThread:
    """Draws noise in a thread while the devices train; `os.urandom` and numpy let other threads run."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "noise")

    def begin(self, count: int, source: Callable[[int], bytes] = os.urandom) -> Future[Drawn]:
        """Starts to draw `count` numbers."""
        return self._pool.submit(drawn, count, source)
