"""Normal noise from bytes: against scipy's distribution, and number by number."""

from __future__ import annotations

import math
import os

import numpy as np
from scipy import stats

from tacit.privacy import noise
from tacit.privacy.laplace import Traced, laplace, normal
from tacit.privacy.noise import NoiseThread, drawn, normals, seeded


def test_a_million_draws_are_normal():
    draws = normals(os.urandom(8_000_000)).astype(np.float64)
    assert len(draws) == 1_000_000
    assert abs(draws.std() - 1) < 0.01
    assert abs(draws.mean()) < 0.006
    assert stats.kstest(draws, "norm").pvalue > 1e-6
    assert abs(np.corrcoef(draws[::2], draws[1::2])[0, 1]) < 0.006  # the two of a pair
    assert 4 < np.abs(draws).max() < 8.6


def test_box_muller_written_out():
    words = [0, 31, 5, 2**11 - 1, 0, 2**64 - 1, 2**63, 2**62, 123456789012345678, 9876543210987654321]
    data = b"".join(w.to_bytes(8, "little") for w in words)
    expected = []
    for a, b in zip(words[::2], words[1::2], strict=True):
        u, v = ((a << 6) + (b >> 5) % 64 + 1) / 2**70, (b >> 11) / 2**53
        expected += [
            math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v),
            math.sqrt(-2 * math.log(u)) * math.sin(2 * math.pi * v),
        ]
    np.testing.assert_allclose(normals(data), expected, rtol=1e-6, atol=1e-7)


def test_noise_is_fresh_and_seeded_noise_is_not():
    assert drawn(5).digest != drawn(5).digest
    assert len(drawn(5).values) == 5
    assert len(drawn(0).values) == 0
    again = [drawn(9, seeded(3, 1)) for _ in range(2)]
    np.testing.assert_array_equal(again[0].values, again[1].values)
    assert again[0].digest == again[1].digest != drawn(9, seeded(3, 2)).digest
    asked = []
    found = NoiseThread().begin(3, lambda n: asked.append(n) or bytes(range(n))).result()
    assert asked == [256]  # the digest needs some bits of its own
    assert found.digest == drawn(3, lambda n: bytes(range(n))).digest


def test_pieces_on_threads_are_the_numbers_of_all_bytes_in_order(monkeypatch):
    monkeypatch.setattr(noise, "_PIECE", 7)
    data, digests = os.urandom(16 * 50), list[str]()
    for at in (None, 8, 16 * 50 - 8, 3, 16 * 50 - 1):
        changed = bytearray(data)
        if at is not None:
            changed[at] ^= 1
        left = memoryview(bytes(changed))

        def source(size):
            nonlocal left
            piece, left = bytes(left[:size]), left[size:]
            return piece

        found = NoiseThread().begin(99, source).result()
        np.testing.assert_array_equal(found.values, normals(bytes(changed))[:99])
        digests.append(found.digest)
    assert len(set(digests)) == 3
    # other numbers and the same digest: it says nothing about the noise, so that no guess can be checked by it
    assert digests[3] == digests[4] == digests[0]


def test_the_digest_of_counts_noise_says_nothing_about_it():
    def changed(at):
        data = bytearray(seeded(4, 0)(256))
        data[at] ^= 1
        return lambda size: bytes(data[:size])

    def found(at):
        source = Traced(changed(at))
        return normal(10, 1.0, source).tolist(), laplace(1, 1.0, source).tolist(), source.digest

    (one, two, mark), (other, more, same), (_, _, low) = found(23), found(7), found(8)
    assert one != other and two != more and mark == same != low


def test_threads_draw_fresh_bytes_for_every_piece(monkeypatch):
    monkeypatch.setattr(noise, "_PIECE", 50)
    values = NoiseThread().begin(100_001).result().values
    assert len(np.unique(values)) > 99_000 and abs(values.std() - 1) < 0.02
