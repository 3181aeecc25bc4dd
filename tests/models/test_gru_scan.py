"""The GRU's recurrence with its derivative by hand, against a plain loop that JAX differentiates and differences."""

from __future__ import annotations

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.models import ModelConfig, gru_scan, language_model
from tacit.models.base import product

CLIENTS, TIME, BATCH, HIDDEN = 3, 11, 4, 5


def problem(dtype=np.float32):
    """Inputs of several clients, with states that start anew in the middle, and what their states are multiplied by."""
    draw = np.random.default_rng(5)
    a, u, b, pull = (
        jnp.asarray(draw.normal(size=(CLIENTS, *shape)), dtype)
        for shape in (
            (TIME, BATCH, 3 * HIDDEN),
            (HIDDEN, 3 * HIDDEN),
            (3 * HIDDEN,),
            (TIME, BATCH, HIDDEN),
        )
    )
    keep = jnp.asarray(draw.random((CLIENTS, TIME, BATCH, 1)) > 0.2, dtype)
    return (a, u, b), keep, pull


def plain(config, a, keep, u, b):
    """The same states by a loop over time, gate by gate as libraries document them."""
    h, states = jnp.zeros((*a.shape[1:-1], HIDDEN), a.dtype), []
    for x, kept in zip(a, keep, strict=True):
        h = kept * h
        v = product(config)(h, u) + b
        reset = 1 / (1 + jnp.exp(-x[..., :HIDDEN] - v[..., :HIDDEN]))
        update = 1 / (1 + jnp.exp(-x[..., HIDDEN:-HIDDEN] - v[..., HIDDEN:-HIDDEN]))
        h = h + (1 - update) * (jnp.tanh(x[..., -HIDDEN:] + reset * v[..., -HIDDEN:]) - h)
        states.append(h)
    return jnp.stack(states)


def value_and_gradients(states, config, weights, keep, pull):
    """Of a function of the states that is not linear, for every client."""

    def value(weights, keep, pull):
        a, u, b = weights
        h = states(config, a, keep, u, b)
        return (pull * jnp.sin(h)).sum(), h

    (_, h), gradients = jax.jit(jax.vmap(jax.value_and_grad(value, has_aux=True)))(weights, keep, pull)
    return (h, *gradients)


def apart(ours, theirs):
    """The largest relative difference, in norm, of two lists of arrays."""
    pairs = [
        (np.asarray(a, np.float64), np.asarray(b, np.float64)) for a, b in zip(ours, theirs, strict=True)
    ]
    assert all(a.shape == b.shape for a, b in pairs)
    return max(np.linalg.norm(a - b) / np.linalg.norm(b) for a, b in pairs)


@pytest.mark.parametrize("unrolled", [1, 8])  # on a CPU, and on an accelerator: the time is no multiple of it
def test_states_and_gradients_of_many_clients_are_those_of_a_plain_loop(unrolled, monkeypatch):
    monkeypatch.setattr(gru_scan, "unrolling", lambda: unrolled)
    ours, theirs = (value_and_gradients(f, ModelConfig(), *problem()) for f in (gru_scan.gru_scan, plain))
    assert apart(ours, theirs) < 2e-6


def test_bfloat16_gradients_are_those_of_a_plain_loop_with_the_same_products():
    coarse, fine = ModelConfig(precision="bfloat16"), ModelConfig()
    ours, theirs = (value_and_gradients(f, coarse, *problem()) for f in (gru_scan.gru_scan, plain))
    exact = value_and_gradients(plain, fine, *problem())
    assert all(x.dtype == jnp.float32 for x in ours)
    assert apart(ours, theirs) < 1e-3
    assert 1e-3 < apart(ours, exact) < 1.1 * apart(theirs, exact)


def test_gradients_are_those_of_finite_differences():
    with jax.enable_x64(True):
        weights, keep, pull = problem(np.float64)
        config = ModelConfig(precision="float64")  # what no configuration offers: true differences need it

        @jax.jit
        def value(weights):
            h = jax.vmap(lambda a, keep, u, b: gru_scan.gru_scan(config, a, keep, u, b))(
                weights[0], keep, *weights[1:]
            )
            return (pull * jnp.sin(h)).sum()

        gradients = jax.jit(jax.grad(value))(weights)
        draw = np.random.default_rng(6)
        for part in range(3):  # along a random direction of each argument
            way = [np.zeros(w.shape) for w in weights]
            way[part] = draw.normal(size=weights[part].shape)
            ahead, behind = (
                value(tuple(w + s * d for w, d in zip(weights, way, strict=True))) for s in (1e-5, -1e-5)
            )
            found, expected = (gradients[part] * way[part]).sum(), (ahead - behind) / 2e-5
            assert float(found) == pytest.approx(float(expected), rel=1e-7)


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
def test_an_accelerator_takes_it_and_trains_a_whole_model_alike(precision, monkeypatch):
    config = ModelConfig(embedding=6, hidden=6, layers=2, residual=True, dropout=0.3, precision=precision)
    model = language_model(config, 12)
    params = jax.tree.map(
        lambda x: x + 0.1 * jnp.cos(jnp.arange(x.size)).reshape(x.shape), model.init(jax.random.key(1))
    )
    draw = np.random.default_rng(0)
    tokens = jnp.asarray(draw.integers(0, 12, (3, 9)))  # 0 is `<s>`: states start anew in the middle too
    pull = jnp.asarray(draw.normal(size=(3, 9, 12)), jnp.float32)

    def gradients():
        def value(p):
            return jnp.sum(model.apply(p, tokens, jax.random.key(2)) * pull)

        return jax.tree.leaves(jax.jit(jax.grad(value))(params))

    calls, by_hand = [], gru_scan.gru_scan
    module = sys.modules["tacit.models.gru"]  # the package's own name is the function
    monkeypatch.setattr(module, "gru_scan", lambda *given: calls.append(1) or by_hand(*given))
    expected = gradients()
    assert not calls  # a CPU is faster with the other
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    found = gradients()
    assert len(calls) == 2  # once a layer
    assert all(float(jnp.abs(leaf).max()) > 1e-4 for leaf in found)  # every weight is reached
    assert apart(found, expected) < (5e-6 if precision == "float32" else 5e-3)
