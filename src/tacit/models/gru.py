"""The GRU language model of papers 1 and 2 (300, 650 or 1500 units, tied or untied).

Two variants, by option:

`printed`, as the papers write it: the reset gate acts on the state before the product, no gate biases,
    z = σ(w_z·[h, x]),  r = σ(w_r·[h, x]),  h̃ = tanh(w·[r∗h, x]),  h ← (1 − z)∗h + z∗h̃
`common`, what libraries (and the authors' own program) compute: biases, reset after the product,
    n = tanh(W_n x + b_n + r∗(U_n h + c_n)),  h ← (1 − z)∗n + z∗h

Each weight below is one leaf of the parameter tree, which is what attentive aggregation calls a layer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import (
    LanguageModel,
    ModelConfig,
    Params,
    drop,
    product,
    read_out,
    uniform,
    vocabulary_params,
)
from tacit.text.vocabulary import BOS

Step = Callable[[Array, Array], Array]


def gru(config: ModelConfig, vocabulary: int) -> LanguageModel:
    """A GRU language model of `config.layers` layers."""
    return LanguageModel(
        init=partial(_init, config=config, vocabulary=vocabulary),
        features=partial(_features, config=config),
        logits=partial(read_out, config=config),
    )


def _init(key: Array, config: ModelConfig, vocabulary: int) -> Params:
    params: Params = vocabulary_params(key, config, vocabulary)
    for layer in range(config.layers):
        size = config.embedding if layer == 0 else config.hidden
        params[f"gru{layer}"] = _init_layer(
            jax.random.fold_in(key, 100 + layer), size, config.hidden, config.variant
        )
    return params


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


def _features(params: Params, tokens: Array, key: Array | None, config: ModelConfig) -> Array:
    x = drop(params["embedding"][tokens], config.dropout, key, 0)  # [batch, time, embedding]
    layer_of = _printed if config.variant == "printed" else _common
    keep = (tokens != BOS).astype(x.dtype)[..., None]  # [batch, time, 1]: `<s>` forgets what came before
    for layer in range(config.layers):
        out = layer_of(params[f"gru{layer}"], x, keep, config)
        x = x + out if config.residual and layer > 0 else out
        x = drop(x, config.dropout, key, 1 + layer)
    return x  # [batch, time, hidden]


def _common(weights: Params, x: Array, keep: Array, config: ModelConfig) -> Array:
    dot = product(config)
    inputs = dot(x, weights["input"]) + weights["input_bias"]  # [batch, time, 3 hidden]

    def step(h: Array, a: Array) -> Array:
        b = dot(h, weights["recurrent"]) + weights["recurrent_bias"]
        a_r, a_z, a_n = jnp.split(a, 3, axis=-1)
        b_r, b_z, b_n = jnp.split(b, 3, axis=-1)
        z = jax.nn.sigmoid(a_z + b_z)
        n = jnp.tanh(a_n + jax.nn.sigmoid(a_r + b_r) * b_n)
        return (1 - z) * n + z * h

    return _over_time(step, inputs, keep, config.hidden)


def _printed(weights: Params, x: Array, keep: Array, config: ModelConfig) -> Array:
    dot, hidden = product(config), config.hidden
    gates = jnp.concatenate([weights["update"], weights["reset"]], axis=1)  # [hidden + size, 2 hidden]
    candidate = weights["candidate"]
    inputs = dot(x, jnp.concatenate([gates[hidden:], candidate[hidden:]], axis=1))  # [batch, time, 3 hidden]

    def step(h: Array, a: Array) -> Array:
        z, r = jnp.split(jax.nn.sigmoid(a[:, : 2 * hidden] + dot(h, gates[:hidden])), 2, axis=-1)
        new = jnp.tanh(a[:, 2 * hidden :] + dot(r * h, candidate[:hidden]))
        return (1 - z) * h + z * new

    return _over_time(step, inputs, keep, hidden)


def _over_time(step: Step, inputs: Array, keep: Array, hidden: int) -> Array:
    """Scan a recurrent step over [batch, time, …] inputs, from zero at every `<s>`; [batch, time, hidden]."""

    def one(h: Array, at: tuple[Array, Array]) -> tuple[Array, Array]:
        h = step(h * at[1], at[0])
        return h, h

    start = jnp.zeros((inputs.shape[0], hidden), jnp.float32)
    _, states = jax.lax.scan(one, start, (inputs.swapaxes(0, 1), keep.swapaxes(0, 1)))
    return states.swapaxes(0, 1)
