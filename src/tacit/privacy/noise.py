"""Normal noise from the system's secure random bytes.

A generator with a small key could be guessed, and its noise subtracted. Here every normal number is made from 8 fresh
bytes of the operating system's source by the Box–Muller transform, in float64. `normals` is a pure function of bytes,
so a test can give it any. A digest goes into the ledger, by which an audit sees noise that was used twice. It is made
of the 11 bits of each number that the noise does not use: a hash of the noise itself would let anybody who guesses a
client's text check the guess.

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
_FEWEST = 4  # pairs that are drawn at least: fewer leave too few bits for a digest
_UNUSED = np.uint64(2**11 - 1)  # the low bits of 8 bytes, of which a number uses 53


class Drawn(NamedTuple):
    """The noise of one round."""

    values: NDArray[np.float32]  # [count], standard normal
    digest: str  # short hash of the bits that were drawn with it and not used


def normals(data: bytes) -> NDArray[np.float32]:
    """Returns standard normal numbers, one for each 8 bytes; the bytes come in pairs of 8.

    Box–Muller: √(−2 ln u)·(cos 2πv, sin 2πv), u in (0, 1] and v in [0, 1) with 53 bits each.

    >>> [round(x, 3) for x in normals(bytes(16)).tolist()]  # u = 2⁻⁵³, v = 0: the largest there is
    [8.572, 0.0]
    """
    pairs = np.frombuffer(data, "<u8").reshape(-1, 2)
    values = np.empty(pairs.shape, np.float32)
    bits = pairs >> np.uint64(11)
    radius = np.sqrt(-2 * np.log((bits[:, 0] + 1.0) * 2.0**-53))
    angle = bits[:, 1] * (2 * np.pi * 2.0**-53)
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
    """Returns the bits of random bytes that no number is made of: the lowest 11 of each 8 bytes.

    >>> unused_bits(bytes([255] * 8)).hex(), unused_bits(bytes([0, 0] + [255] * 6)).hex()
    ('ff07', '0000')
    """
    return (np.frombuffer(data, "<u8") & _UNUSED).astype("<u2").tobytes()


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
