"""What a server of a network refuses: a table of bad updates, each with the reason."""

from __future__ import annotations

from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.incoming import acceptable, check_update, expected
from tacit.federated.local import Sending
from tacit.federated.private import Private
from tacit.privacy.config import PrivacyConfig

MODEL = {"gru": {"input": np.zeros((2, 3), np.float32)}, "bias": np.zeros(3, np.float32)}
ACCEPTS = expected(MODEL, round_=7, max_norm=10.0, max_weight=500)
SENDING = Sending(aggregation(AggregationConfig()), max_norm=5.0)


def good():
    return {"gru/input": np.full((2, 3), 0.5, np.float32), "bias": np.ones(3, np.float32)}


def test_a_good_update_is_accepted():
    assert check_update(ACCEPTS, good(), 3, 7) == ""
    assert check_update(ACCEPTS, good(), np.float32(500), 7) == ""
    assert check_update(ACCEPTS, good(), 0, 7) == ""
    assert check_update(expected(MODEL, 7), {**good(), "bias": np.full(3, 1e30, np.float32)}, 1e12, 7) == ""


def one(bad):
    spoilt = np.ones(3, np.float32)
    spoilt[1] = bad
    return spoilt


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"bias": one(np.nan)}, "'bias' holds a number that is not finite"),
        ({"bias": one(np.inf)}, "'bias' holds a number that is not finite"),
        ({"bias": one(-np.inf)}, "'bias' holds a number that is not finite"),
        ({"bias": np.ones(1, np.float32)}, "'bias' has shape (1,), expected (3,)"),  # would be broadcast
        ({"bias": np.ones((3, 1), np.float32)}, "'bias' has shape (3, 1), expected (3,)"),
        ({"bias": np.ones((), np.float32)}, "'bias' has shape (), expected (3,)"),
        ({"gru/input": np.ones((3, 2), np.float32)}, "'gru/input' has shape (3, 2), expected (2, 3)"),
        ({"bias": np.ones(3)}, "'bias' holds float64, expected float32"),
        ({"bias": np.ones(3, np.float16)}, "'bias' holds float16, expected float32"),
        ({"bias": np.ones(3, ">f4")}, "'bias' holds >f4, expected float32"),
        ({"bias": np.ones(3, np.int32)}, "'bias' holds int32, expected float32"),
        ({"bias": np.array([1, "x", None], object)}, "'bias' holds object, expected float32"),
        ({"bias": [1.0, 1.0, 1.0]}, "'bias' is list, expected an array"),
        ({"bias": np.ma.ones(3, np.float32)}, "'bias' is MaskedArray, expected an array"),
        ({"bias": None}, "'bias' is NoneType, expected an array"),
        ({"extra": np.ones(3, np.float32)}, "it has an array 'extra' that the model does not have"),
        ({7: np.ones(3, np.float32)}, "it has an array 7 that the model does not have"),
        ({"bias": np.full(3, 6, np.float32)}, "its norm is 10.46, above the limit of 10"),
        ({"bias": np.full(3, 3e38, np.float32)}, "its norm is 5.196e+38, above the limit of 10"),
    ],
)
def test_a_bad_array_is_refused_with_the_reason(changes, reason):
    assert check_update(ACCEPTS, {**good(), **changes}, 3, 7) == reason


def test_a_norm_that_float32_cannot_hold_is_refused_without_a_limit():
    told = check_update(expected(MODEL, 7), {**good(), "bias": np.full(3, 3e38, np.float32)}, 1, 7)
    assert told == "its norm is 5.196e+38, above the limit of 3.403e+38"


@pytest.mark.parametrize("update", [None, [], b"pickle", good()["bias"], object()])
def test_what_is_no_mapping_is_refused(update):
    assert "expected arrays by name" in check_update(ACCEPTS, update, 3, 7)


def test_a_missing_array_is_refused():
    assert check_update(ACCEPTS, {"bias": good()["bias"]}, 3, 7) == "it has no array 'gru/input'"


@pytest.mark.parametrize(
    ("weight", "reason"),
    [
        (-1, "its weight is -1; it must be finite and not negative"),
        (float("nan"), "its weight is nan; it must be finite and not negative"),
        (float("inf"), "its weight is inf; it must be finite and not negative"),
        (10**12, "its weight is 1000000000000, above the limit of 500"),
        ("3", "its weight is '3', not a number"),
        (True, "its weight is True, not a number"),
        (None, "its weight is None, not a number"),
        (np.ones(3), "its weight is array([1., 1., 1.]), not a number"),
    ],
)
def test_a_bad_weight_is_refused(weight, reason):
    assert check_update(ACCEPTS, good(), weight, 7) == reason
    assert check_update(ACCEPTS, good(), 10**400, 7).endswith("above the limit of 500")


@pytest.mark.parametrize("round_", [6, 8, -7, 7.0, "7", True, None])
def test_another_round_is_refused(round_):
    assert check_update(ACCEPTS, good(), 3, round_).endswith("expected 7")


@pytest.mark.parametrize(
    ("changes", "fits"),
    [
        ({}, True),
        ({"norm": np.nan}, False),
        ({"norm": np.inf}, False),
        ({"norm": 5.1}, False),
        ({"loss": np.nan}, False),
        ({"weight": -1.0}, False),
        ({"weight": np.inf}, False),
        ({"carried": ([np.array([1.0, np.nan])], 2.0)}, False),
        ({"carried": ([np.array([1.0, 2.0])], 2.0)}, True),
    ],
)
def test_what_the_simulator_leaves_out(changes, fits):
    told = {"norm": 5.0, "loss": 1.0, "weight": 2.0, "carried": ()} | changes
    report = SimpleNamespace(norm=jnp.float32(told["norm"]), loss=jnp.float32(told["loss"]))
    reply = SimpleNamespace(report=report, carried=told["carried"])
    assert bool(acceptable(SENDING, reply, jnp.float32(told["weight"]))) == fits
    private = SENDING._replace(private=Private(PrivacyConfig("gaussian", clip=1.0, noise=1.0), 4.0))
    assert bool(acceptable(private, reply, jnp.float32(told["weight"])))  # it has sent zeros
