"""Compression: each form against numpy, its mean and its errors, and cohorts whose clients compress."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest
import worlds
from scipy.linalg import hadamard as hadamard_matrix

from tacit.base import memory
from tacit.base.errors import TacitError
from tacit.federated import hosts
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm, round_key
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import first_moments
from tacit.federated.compression import CompressionConfig, bytes_of, check, compression
from tacit.federated.compression.dense import bf16, int8, moments8
from tacit.federated.compression.feedback import no_residuals
from tacit.federated.compression.partial import random_mask, top_k
from tacit.federated.compression.sketch import sketch
from tacit.federated.executors import cohort_training
from tacit.federated.lanes import Plan, lay_out
from tacit.federated.local import Broadcast, Sending
from tacit.federated.message_sizes import bytes_of_a_client
from tacit.federated.rounds import federation
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.slow import slow_replies, slow_training
from tacit.models.base import count_parameters
from tacit.privacy.config import PrivacyConfig

KEY = jax.random.key(3)
_draw = np.random.default_rng(8)
MATRIX = (_draw.normal(size=(4, 70)) * np.array([[1], [1e-4], [0], [30]])).astype(np.float32)
VECTOR = _draw.normal(size=600).astype(np.float32)
SQUARES = np.square(_draw.normal(size=(4, 70)) * 10.0 ** _draw.integers(-4, 2, (4, 70))).astype(np.float32)
FORMS = {
    "bf16": (bf16(), {"values": (np.uint16, 2)}),
    "int8": (int8(), {"codes": (np.int8, 1), "scales": (np.float32, 4)}),
    "top-k": (top_k(0.1), {"values": (np.uint16, 2), "positions": (np.int32, 4)}),
    "random-mask": (random_mask(0.1), {"values": (np.float32, 4), "seed": (np.uint32, 4)}),
    "sketch": (
        sketch(0.5, 4),
        {
            "codes": (np.uint8, 1),
            "least": (np.float32, 4),
            "scales": (np.float32, 4),
            "seed": (np.uint32, 4),
        },
    ),
    "moments": (moments8(), {"codes": (np.uint8, 1), "scales": (np.float32, 4)}),
}
# bytes for 600 numbers: scales are of blocks of 256, a sketch has 512 of 1024 rotated numbers in one row
BYTES = {
    "bf16": 1200,
    "int8": 600 + 12,
    "top-k": 60 * 6,
    "random-mask": 60 * 4 + 8,
    "sketch": 256 + 16,
    "moments": 600 + 12,
}


def once(codec, x):
    """What travels of an array, and what is decoded of it."""

    def both(key):
        parts = codec.encode(key, x)
        return parts, codec.decode(parts, x.shape)

    return jax.tree.map(np.asarray, jax.jit(both)(KEY))


def many(codec, x, draws):
    """What is decoded of the same array, encoded with many keys: [draws, …]."""
    keys = jax.random.split(KEY, draws)
    return np.asarray(jax.jit(jax.vmap(lambda key: codec.decode(codec.encode(key, x), x.shape)))(keys))


@pytest.mark.parametrize("name", FORMS)
def test_what_travels_has_these_types_and_bytes(name):
    codec, types = FORMS[name]
    for shape in ((600,), (4, 70), (2, 3, 5)):
        x = jax.ShapeDtypeStruct(shape, np.float32)
        parts = jax.eval_shape(codec.encode, KEY, x)
        assert {k: (a.dtype, a.dtype.itemsize) for k, a in parts.items()} == types
        y = jax.eval_shape(lambda a, shape=shape: codec.decode(a, shape), parts)
        assert y.shape == shape and y.dtype == np.float32
        if len(shape) == 1:
            assert bytes_of(parts) == BYTES[name]
    real = jax.tree.map(np.asarray, jax.jit(codec.encode)(KEY, np.abs(MATRIX)))
    assert codec.fault(real, MATRIX.shape) == ""


@pytest.mark.parametrize("name", ["int8", "random-mask", "sketch", "moments"])
def test_the_mean_of_what_is_decoded_is_the_array(name):
    """Within five standard errors everywhere, and on average as a mean of this many draws is."""
    x, draws = SQUARES if name == "moments" else MATRIX, 400
    decoded = many(FORMS[name][0], jnp.asarray(x), draws).astype(np.float64)
    error, deviation = decoded.mean(axis=0) - x, decoded.std(axis=0, ddof=1)
    # a number far below the lowest level is rarely anything but 0: there the deviation says nothing
    seen = deviation > 1e-6 * np.abs(x).max(axis=-1, keepdims=True)
    assert seen.mean() > 0.3
    z = error[seen] / (deviation[seen] / draws**0.5)
    assert np.abs(z).max() < 5 and 0.8 < np.sqrt(np.mean(z**2)) < 1.2
    assert np.abs(error[~seen]).max(initial=0) <= 1e-5 * np.abs(x).max()


def test_int8_is_numpys_stochastic_rounding():
    for x, rows in ((MATRIX, MATRIX), (VECTOR, np.pad(VECTOR, (0, 168)).reshape(3, 256))):
        up = np.asarray(jax.random.uniform(KEY, rows.shape))
        scales = np.abs(rows).max(axis=1) / np.float32(127)
        with np.errstate(invalid="ignore"):
            codes = np.where(scales[:, None] > 0, np.floor(rows / scales[:, None] + up), 0)
        parts, y = once(int8(), jnp.asarray(x))
        np.testing.assert_allclose(parts["scales"], scales, rtol=1e-6)
        off = np.asarray(parts["codes"], int) - codes.ravel()[: x.size]
        assert np.abs(off).max() <= 1 and np.mean(off != 0) < 0.01  # where rounding meets a whole number
        spread = np.repeat(scales, rows.shape[1])[: x.size].reshape(x.shape)
        assert np.all(np.abs(y - x) <= spread * (1 + 1e-5))
        assert not np.any(y[x == 0])  # zeros stay


def test_bf16_is_that_of_ml_dtypes_and_toward_zero_nothing_grows():
    x = np.concatenate([VECTOR, VECTOR * 1e-30, [0.0, 3e38]]).astype(np.float32)
    near, below = (once(codec, jnp.asarray(x))[1] for codec in (bf16(), bf16(toward_zero=True)))
    np.testing.assert_array_equal(near, x.astype(ml_dtypes.bfloat16).astype(np.float32))
    assert np.all(np.abs(below) <= np.abs(x)) and np.all(np.abs(below - x) <= 2.0**-7 * np.abs(x))
    assert np.any(np.abs(near) > np.abs(x))
    private = compression(CompressionConfig("bf16"), private=True)
    (read, weight), _ = private.through(KEY, ((x, np.float32(1.001)), ()))
    np.testing.assert_array_equal(read, below)
    assert weight == np.float32(1.001)


def test_moments_are_never_negative_and_keep_their_relative_size():
    decoded = many(moments8(), jnp.asarray(SQUARES), 50)
    assert decoded.min() >= 0
    large = SQUARES.max(axis=1, keepdims=True) * 2.0**-31 < SQUARES
    assert large.mean() > 0.5
    ratio = decoded[:, large] / SQUARES[large]
    assert ratio.max() < 2 ** (1 / 8) + 1e-5 and ratio.min() > 2 ** (-1 / 8) - 1e-5
    nothing = jnp.zeros((3, 70))
    assert not np.any(many(moments8(), nothing, 2))


def test_top_k_is_numpys_largest():
    for x in (MATRIX, VECTOR, np.float32([[1, -1, 1]])):
        count = max(1, int(np.ceil(0.1 * x.size)))
        largest = np.sort(np.argsort(-np.abs(x.ravel()), kind="stable")[:count])
        parts, y = once(top_k(0.1), jnp.asarray(x))
        assert np.asarray(parts["positions"]).tolist() == largest.tolist()
        expected = np.zeros(x.size, np.float32)
        expected[largest] = x.ravel()[largest].astype(ml_dtypes.bfloat16).astype(np.float32)
        np.testing.assert_array_equal(y, expected.reshape(x.shape))


def test_a_mask_takes_one_number_of_each_stretch_and_each_as_often():
    size, share = 95, 0.2
    ones = jnp.ones(size)
    decoded = many(random_mask(share), ones, 3000)
    edges = np.arange(20) * size // 19
    for first, last in itertools.pairwise(edges):
        stretch = decoded[:, first:last]
        assert np.all((stretch > 0).sum(axis=1) == 1) and set(np.unique(stretch)) == {0, last - first}
    often = (decoded > 0).mean(axis=0)
    np.testing.assert_allclose(often, 1 / np.repeat(np.diff(edges), np.diff(edges)), atol=0.05)


@pytest.mark.parametrize("bits", [1, 4])
def test_a_sketch_is_undone_by_plain_matrices(bits):
    """Numpy unpacks the codes, puts them where the mask says, and multiplies by the transposed matrices."""
    x, codec = VECTOR, sketch(0.5, bits)
    parts, found = once(codec, jnp.asarray(x))
    count = 512
    unpacked = np.unpackbits(parts["codes"], bitorder="little").reshape(-1, bits) @ (1 << np.arange(bits))
    assert len(unpacked) == count and unpacked.max() == 2**bits - 1
    values = parts["least"][0] + unpacked * parts["scales"][0]
    mask = random_mask(0.5).decode({"seed": parts["seed"], "values": values.astype(np.float32)}, (1024,))
    key = jax.random.fold_in(jax.random.wrap_key_data(parts["seed"]), 1)
    signs = np.asarray(jax.random.rademacher(key, (1, 1024), jnp.float32))[0]
    rotation = hadamard_matrix(1024) * signs / 32
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(1024), atol=1e-6)
    expected = (rotation.T @ np.asarray(mask))[:600]
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_whole_sketch_loses_only_the_rounding():
    """A step of 255 in a row of 1024 numbers that spread over at most eight deviations."""
    y = once(sketch(1.0, 8), jnp.asarray(VECTOR))[1]
    assert 0 < np.linalg.norm(y - VECTOR) < 8 / 255 * np.linalg.norm(VECTOR)


@pytest.mark.parametrize(
    ("name", "part", "wrong"),
    [
        ("int8", "scales", lambda a: -a),
        ("int8", "codes", lambda a: np.full_like(a, -128)),
        ("moments", "scales", lambda a: -a),
        ("sketch", "scales", lambda a: -a - 1),
        ("top-k", "positions", lambda a: a + 600),
        ("top-k", "positions", lambda a: a - 600),
        ("top-k", "positions", lambda a: a[::-1]),
        ("top-k", "positions", lambda a: np.full_like(a, 7)),
    ],
)
def test_what_no_client_encodes_is_a_fault(name, part, wrong):
    codec, _ = FORMS[name]
    parts = jax.tree.map(np.asarray, jax.jit(codec.encode)(KEY, np.abs(VECTOR)))
    assert codec.fault({**parts, part: wrong(parts[part])}, VECTOR.shape) != ""


ADAM = ClientConfig(batch=2, lr=0.3, optimiser="adam", carry="v", settings={"beta1": 0.0})
SENT = Broadcast(worlds.START, [x + 1 for x in first_moments(ADAM, worlds.START)])
MEAN = aggregation(AggregationConfig())
IDS = np.array([3, 0, 4, 2, 1])


@pytest.mark.parametrize(("form", "executor"), [("int8", "map"), ("random-mask", "vmap")])
def test_fast_cohorts_are_the_slow_ones(form, executor):
    """A number whose rounding is at the edge may go the other way: a level, in a few places."""
    sending = Sending(MEAN, compression=compression(CompressionConfig(form, share=0.3), ("v", "v", "count")))
    cohort = worlds.labelled_cohort(ADAM, IDS, t=2, present=[True, True, True, False, True])
    key, lr = jax.random.key(11), jnp.float32(ADAM.lr)
    judged = slow_training(worlds.LOSS, ADAM, sending)(SENT, cohort, lr, key)
    plain = slow_training(worlds.LOSS, ADAM, Sending(MEAN))(SENT, cohort, lr, key)
    lanes = lay_out(cohort, Plan(len(jax.devices()), 0) if executor == "map" else Plan(2, 3))
    found = cohort_training(worlds.LOSS, ADAM, sending, executor)(SENT, lanes, lr, key)
    off = [
        np.abs(np.asarray(a) - np.asarray(b)).ravel() > 1e-4 * (1 + np.abs(np.asarray(b)).ravel())
        for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(judged), strict=True)
    ]
    assert np.mean(np.concatenate(off)) < 0.1
    assert float(found.message[1]) == float(plain.message[1])  # the weight travels as it is
    assert not np.allclose(judged.message[0]["weight"], plain.message[0]["weight"], atol=1e-6)
    assert all(np.min(v) >= 0 for v in found.carried[0])


def algorithm(form="top-k", client=ADAM, **settings):
    config = CompressionConfig(form, **settings)
    sampling = SamplingConfig(clients=3)
    return Algorithm(client, AggregationConfig(), ServerConfig(), sampling, compression=config)


def test_error_feedback_is_a_plain_loop_over_clients():
    """Three rounds with other clients each; client 1 is refused in the second, and keeps its residual."""
    client = ClientConfig(batch=2, lr=0.3)
    cohorts = [worlds.labelled_cohort(client, ids, t=t) for t, ids in enumerate([(0, 1, 3), (1, 4), (3, 1)])]
    cohorts[1] = cohorts[1]._replace(factor=np.float32([np.nan, 1]))
    chosen = algorithm(client=client, share=0.2)
    trainer = federation(
        lambda key: worlds.START, worlds.LOSS, chosen, cohorts.__getitem__, 5, 3, "slow", population=5
    )
    state = trainer.init(KEY)
    replies = slow_replies(worlds.LOSS, client, Sending(MEAN))
    w, residuals = dict(worlds.START), {}
    for t, cohort in enumerate(cohorts):
        state, facts = trainer.round(state, t)
        ids, stacked, _ = replies(Broadcast(w), cohort, jnp.float32(client.lr), round_key(5, t))
        sums, weight = dict.fromkeys(w, 0.0), 0.0
        for row, number in enumerate(ids.tolist()):
            for name in w:
                message = np.asarray(stacked.message[0][name][row]) + residuals.get((number, name), 0)
                count = int(np.ceil(0.2 * message.size))
                largest = np.argsort(-np.abs(message.ravel()), kind="stable")[:count]
                sent = np.zeros(message.size, np.float32)
                sent[largest] = message.ravel()[largest].astype(ml_dtypes.bfloat16)
                residuals[number, name] = message - sent.reshape(message.shape)
                sums[name] = sums[name] + sent.reshape(message.shape)
            weight += float(stacked.message[1][row])
        w = {name: w[name] + sums[name] / weight for name in w}
        for name in w:
            np.testing.assert_allclose(state.params[name], w[name], atol=1e-6)
    assert set(residuals) == {(n, name) for n in (0, 1, 3, 4) for name in w}
    for (number, name), residual in residuals.items():
        np.testing.assert_allclose(state.residuals[0][name][number], residual, atol=1e-6)
    assert not np.any(state.residuals[0]["weight"][2])  # nobody asked client 2
    one = bytes_of_a_client(chosen, worlds.START)
    # of nine weights two travel, of three biases one, six bytes each, and the weight
    assert one == {"up": 3 * 6 + 4, "down": 4 * 12}
    assert facts["bytes_up"] == 2 * one["up"] and facts["bytes_down"] == 2 * one["down"]


def test_residuals_that_do_not_fit_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "limit", lambda: 10**9)
    shapes = jax.ShapeDtypeStruct((1000, 1000), jnp.float32)
    with pytest.raises(TacitError, match="error feedback for 100 clients"):
        no_residuals(shapes, 100)


def test_feedback_in_several_processes_is_refused(monkeypatch):
    monkeypatch.setattr(hosts, "together", lambda: True)
    with pytest.raises(TacitError, match="leave out --coordinator"):
        federation(lambda key: worlds.START, worlds.LOSS, algorithm(), lambda t: None, 0, 1, population=5)


def test_the_bytes_of_a_message_with_moments():
    """Rows of 70 have a scale each; the vector of 5 has one. Counts and weights take four bytes."""
    model = {"w": np.zeros((4, 70), np.float32), "b": np.zeros(5, np.float32)}
    client = dataclasses.replace(ADAM, carry_form="factored")
    numbers = 280 + 5
    whole = 4 * (numbers + 1 + (4 + 70 + 5 + 1) + 1)
    assert bytes_of_a_client(algorithm("none", client), model) == {
        "up": whole,
        "down": 4 * (numbers + (4 + 70 + 5 + 1)),
    }
    moments = (4 + 4) + (70 + 4) + (5 + 4) + 4 + 4  # rows, columns, the vector, the count, their weight
    expected = {
        "bf16": 2 * numbers + 4 + 2 * (4 + 70 + 5) + 4 + 4,
        "int8": (280 + 4 * 4) + (5 + 4) + 4 + moments,
        "top-k": 6 * (28 + 1) + 4 + moments,
        "random-mask": 4 * (28 + 1) + 2 * 8 + 4 + moments,
    }
    assert count_parameters(model) == numbers
    for form, up in expected.items():
        assert bytes_of_a_client(algorithm(form, client), model)["up"] == up, form


PRIVATE = PrivacyConfig(mechanism="gaussian", clip=1.0, noise=1.0)


@pytest.mark.parametrize(
    ("config", "rule", "privacy", "why"),
    [
        (CompressionConfig(share=0.2), {}, PrivacyConfig(), "compression.share would do nothing"),
        (CompressionConfig("int8", bits=2), {}, PrivacyConfig(), "compression.bits would do nothing"),
        (CompressionConfig("sketch", bits=3), {}, PrivacyConfig(), "must be 1, 2, 4 or 8"),
        (CompressionConfig("int8"), {"rule": "attentive-loss"}, PrivacyConfig(), "whole models"),
        (CompressionConfig("sketch"), {"max_norm": 2.0}, PrivacyConfig(), "would refuse honest clients"),
        (CompressionConfig("int8"), {}, PRIVATE, "may exceed the bound"),
        (
            CompressionConfig("bf16"),
            {},
            dataclasses.replace(PRIVATE, mechanism="local"),
            "may exceed the bound",
        ),
        (CompressionConfig("bf16"), {}, dataclasses.replace(PRIVATE, secure=True), "masked number"),
    ],
)
def test_what_does_not_go_together_is_refused_in_one_line(config, rule, privacy, why):
    with pytest.raises(TacitError, match=why) as refused:
        check(config, AggregationConfig(**rule), privacy)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("rule", "why"), [("attentive", "plainly added"), ("median", "is for sums")])
def test_rules_that_are_no_plain_sums_are_refused(rule, why):
    chosen = algorithm("int8")._replace(aggregation=AggregationConfig(rule))
    with pytest.raises(TacitError, match=why):
        federation(lambda key: worlds.START, worlds.LOSS, chosen, lambda t: None, 0, 1)
