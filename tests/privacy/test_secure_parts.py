"""The parts of secure sums, against check values of their standards and plain statements of them."""

from __future__ import annotations

import doctest
import importlib
import itertools
import math
import random as python_random
import sys
from collections.abc import Callable

import numpy as np
import pytest
import secure_reference as plain
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from tacit.base.errors import TacitError
from tacit.privacy.secure import graph, masks, primitives, shamir
from tacit.privacy.secure.errors import Refused
from tacit.privacy.secure.graph import Rates, choose, neighbours

# RFC 7748, section 6.1
ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
ALICE_PUBLIC = "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
BOB_PUBLIC = "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
SHARED = "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742"


@pytest.mark.parametrize("name", ["shamir", "graph", "codec", "simulated"])
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(f"tacit.privacy.secure.{name}")).failed == 0


def seeded(seed: int) -> Callable[[int], bytes]:
    return python_random.Random(seed).randbytes


def test_without_its_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.delitem(sys.modules, "tacit.privacy.secure.primitives")
    with pytest.raises(TacitError, match=r"pip install 'tacit\[privacy\]'"):
        importlib.import_module("tacit.privacy.secure.primitives")


def test_x25519_has_the_check_values_of_rfc_7748() -> None:
    assert primitives.public_key(ALICE).hex() == plain.x25519(ALICE, plain.BASE).hex() == ALICE_PUBLIC
    assert primitives.public_key(BOB).hex() == BOB_PUBLIC
    assert primitives.agree(ALICE, bytes.fromhex(BOB_PUBLIC)).hex() == SHARED
    assert primitives.agree(BOB, bytes.fromhex(ALICE_PUBLIC)).hex() == SHARED
    assert plain.x25519(BOB, bytes.fromhex(ALICE_PUBLIC)).hex() == SHARED


@pytest.mark.parametrize("point", [bytes(32), bytes([1]) + bytes(31)])
def test_a_point_of_small_order_is_refused(point: bytes) -> None:
    with pytest.raises(Refused, match="small order"):
        primitives.agree(ALICE, point)


def test_keys_are_hkdf_of_rfc_5869() -> None:
    """The plain HKDF has the check values of test case 1, and the program's keys are the plain one's."""
    salt, info = bytes(range(13)), bytes(range(0xF0, 0xFA))
    assert plain.hkdf(b"\x0b" * 22, salt, info, 42).hex() == (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    context = bytes(range(32))
    label = b"tacit secure sum 1 mask" + bytes([0, 0, 0, 3, 0, 0, 1, 0])
    shared = bytes.fromhex(SHARED)
    for one, other in ((3, 256), (256, 3)):
        key = primitives.mask_key(ALICE, bytes.fromhex(BOB_PUBLIC), context, one, other)
        assert key == plain.hkdf(shared, context, label)


def test_the_stream_has_nists_check_values() -> None:
    """SP 800-38A, F.5.5: AES-256 in counter mode."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    stream = primitives.key_stream(key, int("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff", 16))
    assert stream.update(bytes.fromhex("6bc1bee22e409f96e93d7e117393172a")).hex() == (
        "601ec313775789a5b7a7f504bbf3d228"
    )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("words", [1, 2, 77, 3 * masks._PIECE + 5])
def test_masks_are_the_blocks_of_aes_one_after_another(words: int, threads: int) -> None:
    """With any number of threads, over the edges of pieces; modulo 2⁶⁴."""
    keys = [bytes([i]) * 32 for i in range(3)]
    total = np.full(words, 2**64 - 1, np.uint64)
    masks.add_masks(total, keys[:2], keys[2:], threads)
    some = sorted(
        {0, words - 1, *(i for i in range(words) if i % masks._PIECE in (0, 1)), min(40, words - 1)}
    )
    streams = [plain.mask(key, words) for key in keys]
    for i in some:
        a, b, c = (int(stream[i]) for stream in streams)
        assert int(total[i]) == (2**64 - 1 + a + b - c) % 2**64


def test_more_masks_than_are_opened_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = [bytes([i]) * 32 for i in range(7)]
    one, other = np.zeros(9, np.uint64), np.zeros(9, np.uint64)
    masks.add_masks(one, keys, [])
    monkeypatch.setattr(masks, "_OPEN", 2)
    masks.add_masks(other, keys, [])
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(one, sum(plain.mask(key, 9) for key in keys))


# Shamir.


def test_the_fields_modulus_is_the_smallest_prime_above_256_bits() -> None:
    def is_prime(n: int) -> bool:  # Miller and Rabin's test, with 40 bases
        odd, twos = n - 1, 0
        while odd % 2 == 0:
            odd, twos = odd // 2, twos + 1
        return all(
            pow(a, odd, n) == 1 or any(pow(a, odd << i, n) == n - 1 for i in range(twos))
            for a in range(2, 42)
        )

    assert [i for i in range(298) if is_prime(2**256 + i)] == [297]
    assert shamir.P == 2**256 + 297 == plain.FIELD


def test_any_threshold_of_shares_gives_the_secret_and_one_less_does_not() -> None:
    secret, xs = seeded(1)(32), [1, 2, 5, 100_000, 2**32]
    shares = shamir.split(secret, xs, 3, seeded(2))
    for some in itertools.combinations(xs, 3):
        points = {x: int.from_bytes(shares[x]) for x in some}
        assert plain.interpolated(points) == int.from_bytes(secret)
        assert shamir.join({x: shares[x] for x in some}, 3) == secret
    for two in itertools.combinations(xs, 2):
        assert plain.interpolated({x: int.from_bytes(shares[x]) for x in two}) != int.from_bytes(secret)
        with pytest.raises(TacitError, match="too few"):
            shamir.join({x: shares[x] for x in two}, 3)


def test_two_shares_of_three_fit_every_secret() -> None:
    """Below the threshold shares say nothing: for any other secret there is a polynomial through them."""
    shares = shamir.split(bytes(32), [1, 2, 3], 3, seeded(3))
    for secret in (1, 2**256 - 1):
        points = {0: secret, 1: int.from_bytes(shares[1]), 2: int.from_bytes(shares[2])}
        at_3 = plain.interpolated({x - 3: y for x, y in points.items()})
        made = shamir.join({1: shares[1], 2: shares[2], 3: at_3.to_bytes(33)}, 3)
        assert int.from_bytes(made) == secret


@given(st.binary(min_size=32, max_size=32), st.integers(1, 6), st.integers(0, 4), st.integers(0, 2**32))
def test_shares_of_any_secret(secret: bytes, threshold: int, more: int, seed: int) -> None:
    xs = python_random.Random(seed).sample(range(1, 50), threshold + more)
    shares = shamir.split(secret, xs, threshold, seeded(seed))
    drawn = seeded(seed)
    coefficients = [int.from_bytes(secret)] + [int.from_bytes(drawn(48)) for _ in range(threshold - 1)]
    assert shares == {x: plain.share(coefficients, x).to_bytes(33) for x in xs}
    assert shamir.join(dict(list(shares.items())[more:]), threshold) == secret


def test_wrong_shares_are_refused() -> None:
    with pytest.raises(TacitError, match="32 bytes"):
        shamir.split(b"short", [1, 2], 2, seeded(0))
    with pytest.raises(TacitError, match="threshold"):
        shamir.split(bytes(32), [1, 2], 3, seeded(0))
    with pytest.raises(TacitError, match="different places"):
        shamir.split(bytes(32), [0, 2], 2, seeded(0))  # the share at 0 would be the secret itself
    with pytest.raises(TacitError, match="no number of the field"):
        shamir.join({1: b"\xff" * 33, 2: bytes(33)}, 2)
    with pytest.raises(TacitError, match="one secret"):
        shamir.join({1: (2**256 + 3).to_bytes(33)}, 1)


# The graph.


def failures(clients: int, degree: int, threshold: int, rates: Rates) -> tuple[float, float]:
    """The stated probabilities, by scipy's hypergeometric distribution."""
    absent, colluding = round(rates.dropout * clients), round(rates.colluding * clients)
    both = clients * hypergeom.sf(2 * threshold - degree - 1, clients - 1, colluding, degree)
    row = 0.0
    if degree < clients - 1:
        row = clients * hypergeom.pmf(degree // 2, clients, absent + colluding, degree // 2)
    lost = clients * hypergeom.cdf(threshold - 1, clients - 1, clients - 1 - absent, degree)
    return max(both, row), lost


@pytest.mark.parametrize("rates", [Rates(), Rates(0.1, 0.05), Rates(0.2, 0.1, 2.0**-20, 1e-3)])
@pytest.mark.parametrize("clients", [20, 100, 1000])
def test_the_smallest_degree_keeps_to_the_probabilities(clients: int, rates: Rates) -> None:
    degree, threshold = choose(clients, rates)
    privacy, loss = failures(clients, degree, threshold, rates)
    assert privacy <= rates.privacy and loss <= rates.loss and 2 * threshold > degree
    less = degree - (1 if degree == clients - 1 and degree % 2 else 2)
    for t in range(less // 2 + 1, less + 1):
        privacy, loss = failures(clients, less, t, rates)
        assert privacy > rates.privacy or loss > rates.loss


def test_degrees_grow_with_the_logarithm() -> None:
    rates = Rates(dropout=0.1, colluding=0.05)
    degrees = [choose(10**e, rates).degree for e in (2, 3, 4, 5)]
    assert degrees == sorted(degrees) and degrees[-1] < 120
    assert choose(1000, rates, least=500) == choose(1000, rates)
    nobody = Rates(dropout=0.0, colluding=0.0)
    assert [choose(100, nobody, least).degree for least in (3, 21, 100)] == [2, 20, 32]  # 2, 20, 31 or more


def test_the_graph_is_regular_symmetric_and_connected_by_any_gap_that_is_shorter() -> None:
    ids = list(range(3, 43))
    near = neighbours(ids, 8, b"s" * 32)
    assert near != neighbours(ids, 8, b"t" * 32) and set(near) == set(ids)
    assert all(len(set(js)) == 8 and i not in js and js == sorted(js) for i, js in near.items())
    assert all(i in near[j] for i, js in near.items() for j in js)

    def parts(left: set[int]) -> int:
        found = 0
        while left:
            todo = [left.pop()]
            found += 1
            while todo:
                reached = left & set(near[todo.pop()])
                left -= reached
                todo += reached
        return found

    rng = np.random.default_rng(0)
    assert parts(set(ids)) == 1
    cut = [parts(set(ids) - set(rng.choice(ids, 20, replace=False).tolist())) > 1 for _ in range(400)]
    assert 0 < np.mean(cut) <= graph.disconnected(40, 8, 20)  # half are gone: it happens, no more than stated
    assert graph.disconnected(40, 8, 3) == 0


@pytest.mark.parametrize(
    "rates", [Rates(dropout=1.0), Rates(colluding=-0.1), Rates(privacy=0), Rates(loss=math.nan)]
)
def test_rates_that_are_none(rates: Rates) -> None:
    with pytest.raises(TacitError, match=r"no share|no probability"):
        choose(100, rates)


def test_more_drop_outs_than_any_graph_bears() -> None:
    with pytest.raises(TacitError, match="bears 50 that drop out and 10 that collude"):
        choose(100, Rates(dropout=0.5))
    with pytest.raises(TacitError, match="even degree"):
        neighbours(range(9), 3, bytes(32))
