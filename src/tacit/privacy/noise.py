"""Normal noise from the system's secure random bytes.

A generator with a small key could be guessed, and its noise subtracted. Here every normal number is made from 8 fresh
bytes of the operating system's source by the Box–Muller transform, in float64. `normals` is a pure function of bytes,
so a test can give it any.

A sum of noise that cannot be larger than some bound tells where it cannot come from. So the uniform number behind a
radius has 70 bits: no number is beyond 9.85 standard deviations, which 10¹² numbers would reach with probability 10⁻⁹.

A digest goes into the ledger, by which an audit sees noise that was used twice. It is made of 5 bits of each 16 bytes,
which the noise does not use: a hash of the noise itself would let anybody who guesses a client's text check the guess.

The bytes are drawn and transformed in pieces, on several threads: an accelerator trains a cohort in less time than one
thread needs for a million numbers.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.randomness import generator, stream

_SEEDED = stream("privacy noise")
_PIECE = 1 << 16  # pairs at once: a thread's share, and small enough for a processor's cache
_THREADS = 8
_FEWEST = 16  # pairs that are drawn at least: fewer leave too few bits for a digest


class Drawn(NamedTuple):
    """The noise of one round."""

    values: NDArray[np.float32]  # [count], standard normal
    digest: str  # short hash of the bits that were drawn with it and not used


def normals(data: bytes) -> NDArray[np.float32]:
    """Returns standard normal numbers, one for each 8 bytes; the bytes come in pairs of 8.

    Box–Muller: √(−2 ln u)·(cos 2πv, sin 2πv), u in (0, 1] with 70 bits and v in [0, 1) with 53.

    >>> [round(x, 3) for x in normals(bytes(16)).tolist()]  # u = 2⁻⁷⁰, v = 0: the largest there is
    [9.851, 0.0]
    """
    pairs = np.frombuffer(data, "<u8").reshape(-1, 2)
    values = np.empty(pairs.shape, np.float32)
    first, second = pairs[:, 0], pairs[:, 1]
    more = second >> np.uint64(5) & np.uint64(63)
    radius = np.sqrt(-2 * np.log((64.0 * first + more + 1.0) * 2.0**-70))
    angle = (second >> np.uint64(11)) * (2 * np.pi * 2.0**-53)
    values[:, 0] = radius * np.cos(angle)
    values[:, 1] = radius * np.sin(angle)
    return values.reshape(-1)


def drawn(count: int, source: Callable[[int], bytes] = os.urandom, pool: Executor | None = None) -> Drawn:
    """Draws `count` standard normal numbers from a source of bytes, on the threads of a pool if there is one.

    Several threads ask the system's source at once; any other source is asked in order, for one piece after another.

    >>> drawn(3, bytes).values.tolist() == normals(bytes(32))[:3].tolist()
    True
    """
    each = pool.map if pool else map
    pairs = max(_FEWEST, -(-count // 2))
    sizes = [16 * min(_PIECE, pairs - first) for first in range(0, pairs, _PIECE)]
    if source is os.urandom:
        pieces = list(each(lambda size: _piece(source(size)), sizes))
    else:
        pieces = list(each(_piece, map(source, sizes)))
    digest = hashlib.sha256(b"".join(code for _, code in pieces)).hexdigest()[:16]
    values = np.concatenate([numbers for numbers, _ in pieces])
    return Drawn(values[:count], digest)


def _piece(data: bytes) -> tuple[NDArray[np.float32], bytes]:
    return normals(data), hashlib.sha256(unused_bits(data)).digest()


def unused_bits(data: bytes) -> bytes:
    """Returns the bits of random bytes that no number is made of: the lowest 5 of the second half of each 16 bytes.

    >>> unused_bits(bytes([255] * 16)).hex(), unused_bits(bytes([255] * 8 + [224] + [255] * 7)).hex()
    ('1f', '00')
    """
    return (np.frombuffer(data, "<u8")[1::2] & np.uint64(31)).astype(np.uint8).tobytes()


def seeded(seed: int, t: int) -> Callable[[int], bytes]:
    """Returns a repeatable source of bytes for round t, for tests and experiments: its noise hides nothing."""
    return generator(seed, _SEEDED, t).bytes


class NoiseThread:
    """Draws noise in threads while the devices train; `os.urandom` and numpy let other threads run."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "noise")
        self._pool = ThreadPoolExecutor(min(_THREADS, os.cpu_count() or 1), "noise piece")

    def begin(self, count: int, source: Callable[[int], bytes] = os.urandom) -> Future[Drawn]:
        """Starts to draw `count` numbers."""
        return self._thread.submit(drawn, count, source, self._pool)
