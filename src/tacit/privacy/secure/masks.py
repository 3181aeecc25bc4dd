"""Masks: AES-256-CTR streams as vectors of uint64, added modulo 2⁶⁴.

The mask of a key is its CTR stream from counter block 0 (16 bytes, big-endian), read as little-endian uint64. The
stream can be entered anywhere, so each thread adds all masks to its own range of the vector, a piece at a time that
stays in the processor's cache. AES and numpy's addition release Python's lock.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.secure.primitives import key_stream

_PIECE = 1 << 14  # words: 128 kB
_OPEN = 256  # streams at once
_ZEROS = bytes(8 * _PIECE)

Vector = NDArray[np.uint64]


def add_masks(total: Vector, plus: Sequence[bytes], minus: Sequence[bytes], threads: int = 0) -> None:
    """Adds the masks of the keys `plus` to `total` [words], in place, and subtracts those of `minus`.

    `threads` = 0 takes every core.
    """
    keys = [(key, np.add) for key in plus] + [(key, np.subtract) for key in minus]
    pieces = -(-len(total) // _PIECE)
    threads = min(threads or os.cpu_count() or 1, pieces)
    if threads <= 1:
        return _add_range(total, 0, len(total), keys)
    edges = [_PIECE * (pieces * i // threads) for i in range(threads)] + [len(total)]
    with ThreadPoolExecutor(threads) as pool:
        for done in [pool.submit(_add_range, total, edges[i], edges[i + 1], keys) for i in range(threads)]:
            done.result()


def _add_range(total: Vector, first: int, last: int, keys: Sequence[tuple[bytes, np.ufunc]]) -> None:
    buffer = bytearray(8 * _PIECE + 15)  # `update_into` asks for a block less one byte to spare
    stretch = np.frombuffer(buffer, "<u8", _PIECE)
    for begin in range(0, len(keys), _OPEN):
        block = first // 2  # a block is two words; `first` is even
        streams = [(key_stream(key, block), add) for key, add in keys[begin : begin + _OPEN]]
        for start in range(first, last, _PIECE):
            piece = total[start : min(start + _PIECE, last)]
            zeros = memoryview(_ZEROS)[: piece.nbytes]
            for stream, add in streams:
                stream.update_into(zeros, buffer)
                add(piece, stretch[: len(piece)], out=piece)
