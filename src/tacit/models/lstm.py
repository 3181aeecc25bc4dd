"""Builds the keyboard's LSTM: CIFG (coupled input and forget gates) with a recurrent projection, or a group LSTM.

Paper 4 (section 7.1, Table 2) and paper 5 (section 6.1) use one cell with options:

    i, o, g = gates(W x + U r + b)        f = 1 − i           (CIFG: the forget gate is coupled)
    c ← f∗c + i∗tanh(g)                   r ← P (σ(o)∗tanh(c))  (projection to the embedding's size)

- Layer normalisation acts on each gate's pre-activation and on the cell before its tanh, each with gain and shift.
- A residual layer adds its input to its output.
- The uncoupled cell has a separate forget gate.
- A group LSTM (Kuchaiev and Ginsburg 2017) splits inputs and states into k independent groups, so W and U have
  one k-th of their weights. The projection mixes the groups.

A coupled, normalised layer has 3Nh·2Ne + 3Nh + Nh·Ne + 8Nh parameters. An uncoupled, normalised cell has no gate
bias, because the normalisation's shift takes its place; so P4K-G has 2,718,080 parameters, and 2.71M are published.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import LanguageModel, ModelConfig, Params, product, stacked, uniform
from tacit.models.recurrence import Multiply, Run, scan


def lstm(config: ModelConfig, vocabulary: int) -> LanguageModel:
    """Returns an LSTM language model: CIFG if `config.coupled`, with `config.groups` groups."""
    return stacked(config, vocabulary, "lstm", lambda key, depth: _init_layer(key, config), _layer)


def _gates(config: ModelConfig) -> int:
    return 3 if config.coupled else 4


def _init_layer(key: Array, config: ModelConfig) -> Params:
    size, hidden, groups, gates = config.embedding, config.hidden, config.groups, _gates(config)
    keys = jax.random.split(key, 3)
    shape = (groups, size // groups, gates * hidden // groups)
    scale = (size // groups) ** -0.5
    weights: Params = {
        "input": uniform(keys[0], shape, scale),
        "recurrent": uniform(keys[1], shape, scale),
        "projection": uniform(keys[2], (hidden, size), hidden**-0.5),
    }
    if config.coupled or not config.layer_norm:
        weights["bias"] = jnp.zeros((gates, hidden), jnp.float32)
    if config.layer_norm:
        weights |= {
            "gate_gain": jnp.ones((gates, hidden), jnp.float32),
            "gate_shift": jnp.zeros((gates, hidden), jnp.float32),
            "cell_gain": jnp.ones(hidden, jnp.float32),
            "cell_shift": jnp.zeros(hidden, jnp.float32),
        }
    return weights


def _normalise(x: Array, gain: Array, shift: Array) -> Array:
    mean = x.mean(-1, keepdims=True)
    variance = jnp.square(x - mean).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * gain + shift


def _layer(weights: Params, x: Array, keep: Array, config: ModelConfig, run: Run | None) -> Array:
    batch, time, size = x.shape
    hidden, groups, gates, dot = config.hidden, config.groups, _gates(config), product(config)

    def grouped(v: Array) -> Array:
        """Splits [rows, size] into groups, [groups, rows, size/groups]; unchanged if there is one group."""
        return v if groups == 1 else v.reshape(-1, groups, size // groups).swapaxes(0, 1)

    def joined(a: Array) -> Array:
        """Joins the groups' pre-activations, [rows, gates, hidden]."""
        if groups == 1:
            return a.reshape(-1, gates, hidden)
        a = a.swapaxes(0, 1).reshape(-1, groups, gates, hidden // groups)
        return a.swapaxes(1, 2).reshape(-1, gates, hidden)

    def matrix(w: Array) -> Array:
        return w[0] if groups == 1 else w

    inputs = joined(dot(grouped(x.reshape(-1, size)), matrix(weights["input"]))).reshape(
        batch, time, gates, hidden
    )
    # weights that act elementwise enter as inputs of every step; the broadcast copies cost nothing
    small = {k: v for k, v in weights.items() if k not in ("input", "recurrent", "projection")}
    small = {k: jnp.broadcast_to(v, (time, *v.shape)) for k, v in small.items()}

    def cell(
        state: tuple[Array, Array], at: tuple[Array, Array, Params], multiply: Multiply
    ) -> tuple[tuple[Array, Array], Array]:
        a, kept, vectors = at
        r, c = state[0] * kept, state[1] * kept
        a = a + joined(multiply("recurrent", grouped(r))) + vectors.get("bias", 0.0)
        if config.layer_norm:
            a = _normalise(a, vectors["gate_gain"], vectors["gate_shift"])
        i, o, g = jax.nn.sigmoid(a[:, 0]), jax.nn.sigmoid(a[:, 1]), jnp.tanh(a[:, 2])
        f = 1 - i if config.coupled else jax.nn.sigmoid(a[:, 3] + 1.0)  # + 1: the initial cell remembers
        c = f * c + i * g
        normal = _normalise(c, vectors["cell_gain"], vectors["cell_shift"]) if config.layer_norm else c
        r = multiply("projection", o * jnp.tanh(normal))
        return (r, c), r

    start = (jnp.zeros((batch, size), jnp.float32), jnp.zeros((batch, hidden), jnp.float32))
    recurrent = {"recurrent": matrix(weights["recurrent"]), "projection": weights["projection"]}
    at = (inputs.swapaxes(0, 1), keep.swapaxes(0, 1), small)
    return (run or scan)(cell, dot, recurrent, start, at).swapaxes(0, 1)  # [batch, time, embedding]
