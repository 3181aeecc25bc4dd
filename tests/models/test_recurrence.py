"""Weight gradients formed after the scan are those that differentiating a plain scan gives."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.models import ModelConfig, language_model, recurrence

MODELS = {
    "gru": ModelConfig(embedding=6, hidden=6, layers=2, residual=True),
    "printed": ModelConfig(embedding=6, hidden=5, tied=False, variant="printed"),
    "cifg": ModelConfig(kind="lstm", embedding=6, hidden=10, layer_norm=True, layers=2, residual=True),
    "groups": ModelConfig(kind="lstm", embedding=6, hidden=9, coupled=False, groups=3, layer_norm=True),
}


def plain(cell, product, weights, start, inputs):
    """The same scan, left to JAX to differentiate."""
    return recurrence._run(cell, product, weights, start, inputs, None)[0]


@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_of_a_plain_scan(name, monkeypatch):
    model = language_model(MODELS[name], 12)
    params = model.init(jax.random.key(1))
    params = jax.tree.map(lambda x: x + 0.1 * jnp.cos(jnp.arange(x.size)).reshape(x.shape), params)
    draw = np.random.default_rng(0)
    tokens = jnp.asarray(draw.integers(0, 12, (3, 7)))  # 0 is `<s>`: states start anew in the middle too
    pull = jnp.asarray(draw.normal(size=(3, 7, 12)), jnp.float32)

    def value(p):
        return jnp.sum(model.apply(p, tokens) * pull)

    ours, found = jax.jit(jax.value_and_grad(value))(params)
    for module in ("gru", "lstm"):
        monkeypatch.setattr(
            sys.modules[f"tacit.models.{module}"], "scan", plain
        )  # the package's own name is the function
    theirs, expected = jax.jit(jax.value_and_grad(value))(params)
    assert float(ours) == pytest.approx(float(theirs), rel=1e-5)
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        assert float(jnp.abs(b).max()) > 1e-4  # every weight is reached
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)
