"""Builds the GRU language model of papers 1 and 2 (300, 650 or 1500 units, tied or untied).

`model.variant` selects the cell:

`printed`, as the papers print it: the reset gate acts before the product, and gates have no biases,
    z = σ(w_z·[h, x]),  r = σ(w_r·[h, x]),  h̃ = tanh(w·[r∗h, x]),  h ← (1 − z)∗h + z∗h̃
`common`, as libraries and the authors' program compute it: biases, and the reset gate acts after the product,
    n = tanh(W_n x + b_n + r∗(U_n h + c_n)),  h ← (1 − z)∗n + z∗h

Each weight is one leaf of the parameter tree; attentive aggregation calls a leaf a layer.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import LanguageModel, ModelConfig, Params, product, stacked, uniform
from tacit.models.gru_scan import gates, gru_scan
from tacit.models.recurrence import Cell, Multiply, Run, Weights, scan


def gru(config: ModelConfig, vocabulary: int) -> LanguageModel:
    """Returns a GRU language model with `config.layers` layers."""

    def init_layer(key: Array, depth: int) -> Params:
        return _init_layer(key, config.hidden if depth else config.embedding, config.hidden, config.variant)

    return stacked(
        config, vocabulary, "gru", init_layer, _printed if config.variant == "printed" else _common
    )


def _init_layer(key: Array, size: int, hidden: int, variant: str) -> Params:
    scale = hidden**-0.5
    keys = jax.random.split(key, 4)
    if variant == "printed":
        names = ("update", "reset", "candidate")
        return {n: uniform(k, (hidden + size, hidden), scale) for n, k in zip(names, keys, strict=False)}
    return {  # columns: reset, update, candidate
        "input": uniform(keys[0], (size, 3 * hidden), scale),
        "recurrent": uniform(keys[1], (hidden, 3 * hidden), scale),
        "input_bias": uniform(keys[2], (3 * hidden,), scale),
        "recurrent_bias": uniform(keys[3], (3 * hidden,), scale),
    }


def _common(weights: Params, x: Array, keep: Array, config: ModelConfig, run: Run | None) -> Array:
    inputs = product(config)(x, weights["input"]) + weights["input_bias"]  # [batch, time, 3 hidden]
    recurrent, bias = weights["recurrent"], weights["recurrent_bias"]
    if run is None and _by_hand():
        return gru_scan(config, inputs.swapaxes(0, 1), keep.swapaxes(0, 1), recurrent, bias).swapaxes(0, 1)

    def cell(h: Array, at: tuple[Array, Array, Array], multiply: Multiply) -> tuple[Array, Array]:
        a, kept, bias = at
        h = h * kept
        _, z, n = gates(a, multiply("recurrent", h) + bias)
        h = (1 - z) * n + z * h
        return h, h

    return _over_time(cell, config, {"recurrent": recurrent}, inputs, keep, bias, run)


def _by_hand() -> bool:
    """Returns whether to use the derivative of the recurrence that is written by hand; a CPU is faster without it."""
    return jax.default_backend() != "cpu"


def _printed(weights: Params, x: Array, keep: Array, config: ModelConfig, run: Run | None) -> Array:
    dot, hidden = product(config), config.hidden
    gates = jnp.concatenate([weights["update"], weights["reset"]], axis=1)  # [hidden + size, 2 hidden]
    candidate = weights["candidate"]
    inputs = dot(x, jnp.concatenate([gates[hidden:], candidate[hidden:]], axis=1))  # [batch, time, 3 hidden]

    def cell(h: Array, at: tuple[Array, Array, Array], multiply: Multiply) -> tuple[Array, Array]:
        a, kept, _ = at
        h = h * kept
        z, r = jnp.split(jax.nn.sigmoid(a[:, : 2 * hidden] + multiply("gates", h)), 2, axis=-1)
        new = jnp.tanh(a[:, 2 * hidden :] + multiply("candidate", r * h))
        h = (1 - z) * h + z * new
        return h, h

    recurrent = {"gates": gates[:hidden], "candidate": candidate[:hidden]}
    return _over_time(cell, config, recurrent, inputs, keep, jnp.zeros(0), run)


def _over_time(
    cell: Cell,
    config: ModelConfig,
    weights: Weights,
    inputs: Array,
    keep: Array,
    bias: Array,
    run: Run | None,
) -> Array:
    """Runs a cell over inputs [batch, time, …] with a zero state at every `<s>`; returns [batch, time, hidden]."""
    batch, time = inputs.shape[:2]
    start = jnp.zeros((batch, config.hidden), jnp.float32)
    biases = jnp.broadcast_to(bias, (time, *bias.shape))
    at = (inputs.swapaxes(0, 1), keep.swapaxes(0, 1), biases)
    return (run or scan)(cell, product(config), weights, start, at).swapaxes(0, 1)
