"""Messages as fixed-point vectors: rounding, bounds, widths, refusals."""

from __future__ import annotations

import math
from fractions import Fraction

import jax
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.federated.aggregation import is_plain_sum
from tacit.privacy.secure import codec
from tacit.privacy.secure.codec import Part, Schema, schema_of
from tacit.privacy.secure.graph import Rates
from tacit.privacy.secure.simulated import secured_total

CALM = Rates(dropout=0.2, colluding=0.0)


def flat(*parts: Part) -> Schema:
    return Schema(parts, jax.tree.structure([0] * len(parts)))


@given(
    st.lists(st.floats(-8, 8, width=32), min_size=1, max_size=6), st.integers(0, 50), st.integers(0, 2**32)
)
def test_a_sum_is_exact_up_to_the_stated_rounding(values: list[float], bits: int, seed: int) -> None:
    """By fractions: n · 2^−(f+1), and the conversion to float64."""
    schema = flat(Part("x", (len(values),), 8.0, bits))
    clients = 5
    codec.check(schema, clients)
    rng = np.random.default_rng(seed)
    sent = [np.float32(rng.permutation(values)) for _ in range(clients)]
    words = sum((codec.encode(schema, [x]) for x in sent), start=np.zeros(len(values), np.uint64))
    (summed,) = codec.decode(schema, words, clients)
    for j in range(len(values)):
        exact = sum(Fraction(float(x[j])) for x in sent)
        allowed = Fraction(schema.rounding(clients)[0]) + abs(exact) / 2**53
        assert abs(Fraction(float(summed[j])) - exact) <= allowed


def test_the_width_is_used_to_its_end() -> None:
    """The largest sums of both signs that the check allows come back whole, and a bit more is refused."""
    for bound, clients in ((8.0, 100), (1.0, 3), (1e6, 1000), (0.75, 7)):
        bits = codec.most_bits(bound, clients)
        assert (
            clients * (bound * 2**bits + 1) < 2**63 <= clients * (bound * 2 ** (bits + 1) + 1) or bits == 62
        )
        schema = flat(Part("x", (2,), bound, bits))
        codec.check(schema, clients)
        one = codec.encode(schema, [np.array([bound, -bound])])
        total_words = np.array([int(w) * clients % 2**64 for w in one], np.uint64)
        np.testing.assert_allclose(
            codec.decode(schema, total_words, clients)[0], [clients * bound, -clients * bound]
        )
        if bits < 62:
            with pytest.raises(TacitError, match=f"does not fit 64 bits; take at most {bits} bits"):
                codec.check(flat(Part("x", (2,), bound, bits + 1)), clients)


def test_whole_numbers_are_exact_beyond_float64() -> None:
    big = 2**60 + 1
    schema = flat(Part("n", (2,), 2.0**60 * 1.5, 0))
    codec.check(schema, 4)
    words = codec.encode(schema, [np.array([big, -big])])
    (summed,) = codec.decode(schema, words * np.uint64(4), 4)
    assert summed.dtype == np.int64 and summed.tolist() == [4 * big, -4 * big]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (np.float32([0, np.nan]), "a number that is not finite; its bound is 8. Nothing is sent"),
        (np.float32([0, -np.inf]), "a number that is not finite"),
        (np.float32([8.000001, 0]), "a number beyond its bound 8"),
        (np.array([9, 0]), "a number beyond its bound 8"),
        (np.float32([0, 0, 0]), r"shape \(3,\) instead of \(2,\)"),
        (np.float32(1), r"shape \(\) instead of \(2,\)"),
        (np.array(["a", "b"]), "expected real numbers"),
        (np.array([1j, 0]), "expected real numbers"),
    ],
)
def test_a_client_does_not_send_what_it_must_not(value: np.ndarray, reason: str) -> None:
    schema = flat(Part("layer", (2,), 8.0))
    with pytest.raises(TacitError, match=f"'layer' of a message has .*{reason}"):
        codec.encode(schema, [value])
    replies = [[np.zeros(2, np.float32)]] * 4 + [[value]]
    with pytest.raises(TacitError, match=r"client 4 of a secure sum: 'layer' of a message"):
        secured_total(replies, schema, is_plain_sum=is_plain_sum, least=3, rates=CALM)


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (Part("x", (), 0.0), "the bound is 0; it must be positive"),
        (Part("x", (), math.nan), "the bound is nan"),
        (Part("x", (), math.inf), "the bound is inf"),
        (Part("x", (), 1.0, 63), "63 fractional bits"),
        (Part("x", (), 1.0, -1), "-1 fractional bits"),
        (Part("x", (), 1.0, 32, -5), "-5 quanta"),
        (Part("x", (), 1e19, 0), "does not fit 64 bits"),
    ],
)
def test_a_schema_that_cannot_be_summed(part: Part, reason: str) -> None:
    with pytest.raises(TacitError, match=reason):
        secured_total([[0.0]] * 5, flat(part), is_plain_sum=is_plain_sum, least=3, rates=CALM)


def test_a_message_of_another_structure() -> None:
    schema = schema_of({"a": np.zeros(2)}, bounds=1.0)
    with pytest.raises(TacitError, match="another structure than its schema"):
        codec.encode(schema, {"b": np.zeros(2)})
    with pytest.raises(TacitError, match="the bounds of a secure sum have another structure"):
        schema_of({"a": np.zeros(2)}, bounds={"b": 1.0})
    with pytest.raises(TacitError, match="a sum has 3 words instead of 2"):
        codec.decode(schema, np.zeros(3, np.uint64), 3)


def test_a_sum_that_nobody_can_have_sent() -> None:
    """A client beyond its bounds, in a program that does not check, is seen where the sum shows it."""
    schema = flat(Part("x", (1,), 1.0))
    with pytest.raises(TacitError, match="beyond what 3 clients within their bounds can send"):
        codec.decode(schema, np.array([3 * 2**32 + 4], np.uint64), 3)


def test_the_schema_is_part_of_the_terms() -> None:
    parts = Part("x", (2, 3), 1.0, 32, 0)
    digests = {
        flat(part).digest()
        for part in (
            parts,
            parts._replace(name="y"),
            parts._replace(shape=(3, 2)),
            parts._replace(bound=2.0),
            parts._replace(bits=31),
            parts._replace(quanta=1),
        )
    }
    assert len(digests) == 6


def test_rounding_of_a_quotient_is_as_stated() -> None:
    """With Q quanta in Σu, n clients change Σuδ/Σu by at most about n (1 + |a|) / 2Q."""
    rng = np.random.default_rng(3)
    clients, bits = 50, 20
    schema = flat(Part("uΔ", (200,), 8.0, bits), Part("u", (), 1.0, bits))
    for size in (1e-4, 1e-2):
        u = rng.uniform(0, size, clients)
        delta = rng.uniform(-8, 8, (clients, 200))
        words = sum(
            (codec.encode(schema, [a * d, a]) for a, d in zip(u, delta, strict=True)),
            start=np.zeros(201, np.uint64),
        )
        top, below = codec.decode(schema, words, clients)
        exact = u @ delta / u.sum()
        allowed = clients * (1 + np.abs(exact)) / (2 * u.sum() * 2**bits)
        assert np.all(np.abs(top / below - exact) <= 1.1 * allowed)
