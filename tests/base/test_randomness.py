"""Draws by address: uniform, independent, and the same for ever."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from tacit.base.randomness import bits, generator, stream, uniform

MASK = (1 << 64) - 1


def by_hand(*counters: int) -> int:
    """The same hash with Python's own whole numbers."""
    state = 0x9E3779B97F4A7C15
    for counter in counters:
        x = (state + (counter & MASK) * 0x9E3779B97F4A7C15 + 1) & MASK
        x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
        state = x ^ (x >> 31)
    return state


@pytest.mark.parametrize("address", [(0,), (1, 2, 3), (2**63, 5), (stream("shuffle"), 2**31 - 1, 7), (-1, 0)])
def test_bits_by_whole_numbers(address):
    assert int(bits(*address)) == by_hand(*address)


def test_golden_values():
    """A change here changes every run ever recorded."""
    assert [int(bits(0)), int(bits(1, 2)), int(bits(7, stream("shuffle"), 3))] == GOLDEN
    assert stream("shuffle") == int.from_bytes(hashlib.sha256(b"shuffle").digest()[:8], "little")
    assert float(uniform(1, 2)) == (GOLDEN[1] >> 11) / 2**53


GOLDEN = [10451216379200822465, 2712848862518318483, 12235591214081530805]


def test_counters_broadcast():
    grid = bits(5, np.arange(3)[:, None], np.arange(4))
    assert grid.shape == (3, 4) and grid.dtype == np.uint64
    assert int(grid[2, 1]) == by_hand(5, 2, 1)
    assert bits(5).shape == () and uniform(1, np.arange(6)).dtype == np.float64


def test_uniform_draws_look_uniform_and_independent():
    n = 20_000
    for draws in (uniform(0, np.arange(n)), uniform(np.arange(n), 0), uniform(3, np.arange(n) << 32)):
        assert draws.min() >= 0 and draws.max() < 1
        cells, _ = np.histogram(draws, 20, (0, 1))
        assert np.sum((cells - n / 20) ** 2 / (n / 20)) < 50.8  # χ² of 19, one in ten thousand
        assert abs(np.corrcoef(draws[:-1], draws[1:])[0, 1]) < 4.5 / np.sqrt(n)
    grid = uniform(1, np.arange(200)[:, None], np.arange(100))
    assert abs(np.corrcoef(grid[:, :-1].ravel(), grid[:, 1:].ravel())[0, 1]) < 4.5 / np.sqrt(grid.size)
    assert abs(np.corrcoef(grid[:-1].ravel(), grid[1:].ravel())[0, 1]) < 4.5 / np.sqrt(grid.size)
    assert len(np.unique(bits(1, np.arange(200)[:, None], np.arange(100)))) == grid.size


def test_streams_and_orders_are_apart():
    assert stream("a") != stream("b")
    assert int(bits(1, 2)) != int(bits(2, 1))
    assert int(bits(0)) != int(bits(0, 0))
    a, b = uniform(stream("a"), np.arange(5000)), uniform(stream("b"), np.arange(5000))
    assert abs(np.corrcoef(a, b)[0, 1]) < 4.5 / np.sqrt(5000)


def test_generators_start_at_their_address():
    assert (
        generator(1, 2).integers(0, 1 << 62, 4).tolist() == generator(1, 2).integers(0, 1 << 62, 4).tolist()
    )
    assert generator(1, 2).random() != generator(1, 3).random()
