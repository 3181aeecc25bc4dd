"""The keyboard's LSTM: CIFG with a recurrent output projection, and its group variant.

Paper 4 (section 7.1, Table 2) and paper 5 (section 6.1) use one cell with options:

    i, o, g = gates(W x + U r + b)        f = 1 − i           (CIFG: the forget gate is coupled)
    c ← f∗c + i∗tanh(g)                   r ← P (σ(o)∗tanh(c))  (projection to the embedding's size)

Layer normalisation acts on each gate's pre-activation and on the cell before its tanh (gain and shift
each), and residual layers add a layer's input to its output. The uncoupled cell has its own forget
gate. In a group LSTM (Kuchaiev and Ginsburg 2017) inputs and states are cut into k groups that do not
see one another, so W and U keep one k-th of their weights; the projection mixes the groups again.

Parameters of a coupled, normalised layer: 3Nh·2Ne + 3Nh + Nh·Ne + 8Nh. The uncoupled cell leaves its
gate bias to the normalisation's shift, which is what brings P4K-G to its published 2.71M.
"""

from __future__ import annotations

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


def lstm(config: ModelConfig, vocabulary: int) -> LanguageModel:
    """An LSTM language model: CIFG where `config.coupled`, in `config.groups` groups."""
    return LanguageModel(
        init=partial(_init, config=config, vocabulary=vocabulary),
        features=partial(_features, config=config),
        logits=partial(read_out, config=config),
    )


def _gates(config: ModelConfig) -> int:
    return 3 if config.coupled else 4


def _init(key: Array, config: ModelConfig, vocabulary: int) -> Params:
    params: Params = vocabulary_params(key, config, vocabulary)
    for layer in range(config.layers):
        params[f"lstm{layer}"] = _init_layer(jax.random.fold_in(key, 100 + layer), config)
    return params


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


def _features(params: Params, tokens: Array, key: Array | None, config: ModelConfig) -> Array:
    x = drop(params["embedding"][tokens], config.dropout, key, 0)  # [batch, time, embedding]
    keep = (tokens != BOS).astype(x.dtype)[..., None]  # [batch, time, 1]: `<s>` forgets what came before
    for layer in range(config.layers):
        out = _layer(params[f"lstm{layer}"], x, keep, config)
        x = x + out if config.residual and layer > 0 else out
        x = drop(x, config.dropout, key, 1 + layer)
    return x


def _layer(weights: Params, x: Array, keep: Array, config: ModelConfig) -> Array:
    batch, time, size = x.shape
    hidden, groups, gates, dot = config.hidden, config.groups, _gates(config), product(config)

    def grouped(v: Array, w: Array) -> Array:
        """[rows, size] to pre-activations [rows, gates, hidden], group by group."""
        if groups == 1:
            return dot(v, w[0]).reshape(-1, gates, hidden)
        parts = v.reshape(-1, groups, size // groups).swapaxes(0, 1)  # [groups, rows, size/groups]
        out = dot(parts, w).swapaxes(0, 1)  # [rows, groups, gates·hidden/groups]
        return out.reshape(-1, groups, gates, hidden // groups).swapaxes(1, 2).reshape(-1, gates, hidden)

    inputs = grouped(x.reshape(-1, size), weights["input"]).reshape(batch, time, gates, hidden)

    def step(state: tuple[Array, Array], at: tuple[Array, Array]) -> tuple[tuple[Array, Array], Array]:
        a, kept = at
        r, c = state[0] * kept, state[1] * kept
        a = a + grouped(r, weights["recurrent"]) + weights.get("bias", 0.0)
        if config.layer_norm:
            a = _normalise(a, weights["gate_gain"], weights["gate_shift"])
        i, o, g = jax.nn.sigmoid(a[:, 0]), jax.nn.sigmoid(a[:, 1]), jnp.tanh(a[:, 2])
        f = 1 - i if config.coupled else jax.nn.sigmoid(a[:, 3] + 1.0)  # remember at first
        c = f * c + i * g
        cell = _normalise(c, weights["cell_gain"], weights["cell_shift"]) if config.layer_norm else c
        r = dot(o * jnp.tanh(cell), weights["projection"])
        return (r, c), r

    start = (jnp.zeros((batch, size), jnp.float32), jnp.zeros((batch, hidden), jnp.float32))
    _, outputs = jax.lax.scan(step, start, (inputs.swapaxes(0, 1), keep.swapaxes(0, 1)))
    return outputs.swapaxes(0, 1)  # [batch, time, embedding]
