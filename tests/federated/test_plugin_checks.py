"""Rules and optimisers that do not fit a model are refused before a run begins."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import optax
import pytest

from tacit.base.errors import TacitError
from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, AggregationConfig, chosen_rule, rules
from tacit.federated.plugin_checks import check_optimiser, check_rule
from tacit.federated.server import OPTIMISERS, ServerConfig, server_optimiser

MODEL = {"a": jax.ShapeDtypeStruct((3, 2), jnp.float32), "b": jax.ShapeDtypeStruct((2,), jnp.float32)}


def say(params, update, weight):
    return update, weight


def mean(params, message):
    return trees.scale(-1 / message[1], message[0])


@pytest.mark.parametrize(
    ("name", "settings"), [*((name, {}) for name in sorted(rules())), ("attentive", {"bound": 5.0})]
)
def test_every_rule_fits(name, settings):
    check_rule(name, chosen_rule(AggregationConfig(name, settings=settings)), MODEL)


@pytest.mark.parametrize("name", sorted(OPTIMISERS))
def test_every_optimiser_fits(name):
    check_optimiser(name, server_optimiser(ServerConfig(name)), MODEL)


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (Aggregation(lambda params, update: update, mean), "message: TypeError: .*takes 2 positional"),
        (Aggregation(say, mean, with_steps=True), "message: TypeError: .*takes 3 positional"),
        (Aggregation(lambda *_: None, mean), "message returns no arrays"),
        (Aggregation(lambda *_: 1 / 0, mean), "message: ZeroDivisionError: division by zero"),
        (Aggregation(say, lambda w, m: None), r"combine leaves out \['a'\]"),
        (Aggregation(say, lambda w, m: m[1]), "combine returns a bare array"),
        (Aggregation(say, lambda w, m: {"a": m[0]["a"]}), r"combine leaves out \['b'\]"),
        (Aggregation(say, lambda w, m: {**m[0], "c": m[1]}), r"combine returns \['c'\]"),
        (
            Aggregation(say, lambda w, m: jax.tree.map(jnp.mean, m[0])),
            r"combine returns \['a'\] of shape \[\], expected \[3, 2\]",
        ),
        (Aggregation(say, lambda w, m: mean(w, m) if m[1] > 0 else w), "combine: TracerBoolConversionError"),
    ],
)
def test_a_rule_that_does_not_fit(rule, named):
    with pytest.raises(TacitError, match=f"aggregation.rule = 'mine': {named}") as told:
        check_rule("mine", rule, MODEL)
    assert "\n" not in str(told.value)


def still(init=lambda w: (), update=lambda g, s, w=None: (g, s)):
    return optax.GradientTransformation(init, update)


@pytest.mark.parametrize(
    ("optimiser", "named"),
    [
        (optax.lion(0.1, mu_dtype=jnp.bfloat16), "its state holds bfloat16, which a checkpoint cannot"),
        (still(lambda w: jax.random.key(0)), "its state holds key"),
        (still(update=lambda g, s, w=None: None), "update returns NoneType"),
        (still(update=lambda g, s, w=None: (g["a"], s)), "update returns a bare array"),
        (
            still(update=lambda g, s, w=None: (jax.tree.map(jnp.sum, g), s)),
            r"update returns \['a'\] of shape",
        ),
        (still(update=lambda g, s, w=None: (g, g)), r"update's state returns \['a'\]"),
        (still(init=lambda: 0), "init: TypeError"),
    ],
)
def test_an_optimiser_that_does_not_fit(optimiser, named):
    with pytest.raises(TacitError, match=f"server.optimiser = 'mine': {named}"):
        check_optimiser("mine", optimiser, MODEL)
