"""The fused cross-entropy against optax and JAX's own differentiation."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from tacit.federated import objective
from tacit.federated.objective import fused_cross_entropy
from tacit.models import ModelConfig

DRAW = np.random.default_rng(0)
FEATURES, MATRIX, BIAS = (jnp.asarray(DRAW.normal(size=s), jnp.float32) for s in ((9, 4), (11, 4), (11,)))
TARGETS = jnp.asarray([3, -1, 0, 10, 10, -1, 2, 5, 7])


def obvious(features, matrix, bias):
    losses = optax.softmax_cross_entropy_with_integer_labels(
        features @ matrix.T + bias, jnp.maximum(TARGETS, 0)
    )
    return jnp.where(TARGETS >= 0, losses, 0).sum() / 7


@pytest.mark.parametrize(("precision", "tolerance"), [("float32", 1e-5), ("bfloat16", 2e-2)])
@pytest.mark.parametrize("aligned", [1, 16])  # on a CPU, and on an accelerator
def test_value_and_gradients(precision, tolerance, aligned, monkeypatch):
    monkeypatch.setattr(objective, "alignment", lambda: aligned)
    config = ModelConfig(precision=precision)

    def fused(*arrays):
        return 3 * fused_cross_entropy(config, *arrays, TARGETS)

    value, gradients = jax.value_and_grad(fused, (0, 1, 2))(FEATURES, MATRIX, BIAS)
    expected, theirs = jax.value_and_grad(obvious, (0, 1, 2))(FEATURES, MATRIX, BIAS)
    assert float(value) == pytest.approx(3 * float(expected), rel=tolerance)
    for found, wanted in zip(gradients, theirs, strict=True):
        assert found.dtype == jnp.float32
        np.testing.assert_allclose(found, 3 * wanted, atol=tolerance, rtol=tolerance)


def test_a_score_is_rounded_before_the_bias_is_added():
    """The bias is the larger part of many scores; their rounding must not grow with it."""
    draw = np.random.default_rng(1)
    features, matrix, bias = (
        jnp.asarray(draw.normal(size=s) * k, jnp.float32)
        for s, k in (((9, 16), 0.5), ((1000, 16), 0.2), ((1000,), 3))
    )

    def coarse(x):
        return x.astype(jnp.bfloat16).astype(jnp.float32)

    def rounded_after(features, matrix, bias):
        scores = coarse(coarse(features) @ coarse(matrix).T + bias)
        softmax = coarse(
            (jax.nn.softmax(scores) - jax.nn.one_hot(TARGETS, 1000)) / 7 * (TARGETS >= 0)[:, None]
        )
        return softmax @ coarse(matrix), softmax.T @ coarse(features), softmax.sum(0)

    exact, ours = (
        jax.grad(lambda config, *a: fused_cross_entropy(config, *a, TARGETS), (1, 2, 3))(
            ModelConfig(precision=precision), features, matrix, bias
        )
        for precision in ("float32", "bfloat16")
    )
    for found, other, wanted in zip(ours, rounded_after(features, matrix, bias), exact, strict=True):
        assert jnp.linalg.norm(found - wanted) < 0.8 * jnp.linalg.norm(other - wanted)


def test_an_empty_batch_costs_nothing():
    nothing = jnp.full(9, -1)
    value, gradient = jax.value_and_grad(fused_cross_entropy, 1)(
        ModelConfig(), FEATURES, MATRIX, BIAS, nothing
    )
    assert float(value) == 0 and not jnp.any(gradient)


def test_large_scores_do_not_overflow():
    value, gradient = jax.value_and_grad(fused_cross_entropy, 1)(
        ModelConfig(), 1e3 * FEATURES, MATRIX, BIAS, TARGETS
    )
    assert jnp.isfinite(value) and jnp.all(jnp.isfinite(gradient))
