"""Computes the recurrence of the GRU in its `common` form, with its derivative written by hand.

At each time step, h′ being the state before it (zero where a sentence begins), a the inputs' part and v = h′U + b:
    r = σ(a_r + v_r),  z = σ(a_z + v_z),  n = tanh(a_n + r∗v_n),  h = (1 − z)∗n + z∗h′

Let g be the whole gradient of h at a step. The gradient of v is e = g∗c, where the coefficients c hold no gradient:
    c_n = (1 − z)∗(1 − n²)∗r,  c_r = (1 − z)∗(1 − n²)∗v_n∗r∗(1 − r),  c_z = (h′ − n)∗z∗(1 − z)
and that of h′ is g∗z + eUᵀ. So only this last line must be computed step by step. The gates, c, and the
gradients of U and b are computed for all time steps at once. An accelerator then launches two kernels a time step
in each direction, one for the product and one for the rest. Differentiating the scan costs it several more.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import ModelConfig, product
from tacit.models.recurrence import unrolling


def gates(a: Array, v: Array) -> tuple[Array, Array, Array]:
    """Returns r, z and n from the inputs' part and the state's part, both [..., 3 hidden]: reset, update, candidate."""
    a_r, a_z, a_n = jnp.split(a, 3, axis=-1)
    v_r, v_z, v_n = jnp.split(v, 3, axis=-1)
    r, z = jax.nn.sigmoid(a_r + v_r), jax.nn.sigmoid(a_z + v_z)
    return r, z, jnp.tanh(a_n + r * v_n)


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def gru_scan(config: ModelConfig, a: Array, keep: Array, u: Array, b: Array) -> Array:
    """Returns the states of a GRU that starts at zero, [time, batch, hidden].

    a [time, batch, 3 hidden], u [hidden, 3 hidden], b [3 hidden]. The state before a step is multiplied by keep
    [time, batch, 1], which counts as a constant.
    """
    return _forward(config, a, keep, u, b)[0]


def _forward(config: ModelConfig, a: Array, keep: Array, u: Array, b: Array) -> tuple[Array, Any]:
    dot = product(config)
    u = u.astype(config.precision)  # once, not at every step

    def step(h: Array, at: tuple[Array, Array]) -> tuple[Array, tuple[Array, Array]]:
        a, kept = at
        h = h * kept
        v = dot(h, u) + b
        _, z, n = gates(a, v)
        h = (1 - z) * n + z * h
        return h, (h, v)

    start = jnp.zeros((a.shape[1], len(u)), a.dtype)
    h, v = jax.lax.scan(step, start, (a, keep), unroll=unrolling())[1]
    return h, (a, keep, u, h, v)


def _backward(config: ModelConfig, kept: Any, gradient: Array) -> tuple[Array, None, Array, Array]:
    a, keep, u, h, v = kept
    dot, hidden = product(config), h.shape[-1]
    before = jnp.concatenate([jnp.zeros_like(h[:1]), h[:-1]]) * keep
    r, z, n = gates(a, v)
    of_input = (1 - z) * (1 - n * n)  # what g is multiplied by to give the gradient of a_n
    c_r, c_z = of_input * v[..., 2 * hidden :] * r * (1 - r), (before - n) * z * (1 - z)
    c = jnp.concatenate([c_r, c_z, of_input * r], axis=-1)

    def step(later: Array, at: tuple[Array, Array, Array, Array]) -> tuple[Array, Array]:
        g, c, z, kept = at
        g = g + later
        return (g * z + dot(_thrice(g) * c, u.T)) * kept, g

    _, g = jax.lax.scan(step, jnp.zeros_like(h[0]), (gradient, c, z, keep), reverse=True, unroll=unrolling())
    e = _thrice(g) * c
    flat = e.reshape(-1, 3 * hidden)
    return (
        jnp.concatenate([e[..., : 2 * hidden], g * of_input], axis=-1),
        None,
        dot(before.reshape(-1, hidden).T, flat),
        flat.sum(0),
    )


def _thrice(g: Array) -> Array:
    return jnp.concatenate([g, g, g], axis=-1)


gru_scan.defvjp(_forward, _backward)
