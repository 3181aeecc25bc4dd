"""Computes the recurrence of an 8-bit network in numpy, word by word.

The formulas are those of tacit.models.gru and tacit.models.lstm; a test compares them. Weights are 8-bit, states and
sums are float32. A caller that keeps the `State` pays one step and one product with the output matrix for each word.
For a letter of the next word it only looks up scores of words with that prefix.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.lm.network8.reader import Architecture, Float32s, Matrix, Network8, times
from tacit.text.vocabulary import BOS

_EPSILON = np.float32(1e-5)  # of the layer normalisation


class State(NamedTuple):
    """The state of a network after some words of n messages."""

    layers: tuple[tuple[Float32s, ...], ...]  # of each layer: h [n, H], or r [n, E] and c [n, H]
    features: Float32s  # [n, size], input of the output layer


def step(model: Network8, state: State | None, ids: NDArray[np.integer]) -> State:
    """Returns the state after one more word of n messages, ids [n]; None is the initial state. `<s>` resets it."""
    a, n = model.architecture, len(ids)
    embedding = model.matrices["embedding"]
    x = embedding.codes[ids].astype(np.float32) * embedding.scale[ids, None]
    if state is None:
        sizes = (a.hidden,) if a.kind == "gru" else (a.embedding, a.hidden)
        layers = tuple(tuple(np.zeros((n, s), np.float32) for s in sizes) for _ in range(a.layers))
    else:
        keep = (ids != BOS).astype(np.float32)[:, None]
        layers = tuple(tuple(part * keep for part in layer) for layer in state.layers)
    after = []
    for depth, before in enumerate(layers):
        at = f"{a.kind}{depth}"
        now = _lstm(model, at, before, x) if a.kind == "lstm" else _gru(model, at, before, x)
        after.append(now)
        x = x + now[0] if a.residual and depth else now[0]
    return State(tuple(after), x)


def _gru(model: Network8, at: str, before: tuple[Float32s, ...], x: Float32s) -> tuple[Float32s, ...]:
    (h,), m, v = before, model.matrices, model.vectors
    if model.architecture.variant == "printed":
        both = np.concatenate([h, x], axis=1)
        z, r = _sigmoid(times(m[f"{at}/update"], both)), _sigmoid(times(m[f"{at}/reset"], both))
        new = np.tanh(times(m[f"{at}/candidate"], np.concatenate([r * h, x], axis=1)))
        return ((1 - z) * h + z * new,)
    a_r, a_z, a_n = np.split(times(m[f"{at}/input"], x) + v[f"{at}/input_bias"], 3, axis=1)
    b_r, b_z, b_n = np.split(times(m[f"{at}/recurrent"], h) + v[f"{at}/recurrent_bias"], 3, axis=1)
    z = _sigmoid(a_z + b_z)
    return ((1 - z) * np.tanh(a_n + _sigmoid(a_r + b_r) * b_n) + z * h,)


def _lstm(model: Network8, at: str, before: tuple[Float32s, ...], x: Float32s) -> tuple[Float32s, ...]:
    (r, c), a, v = before, model.architecture, model.vectors
    gates = _grouped(model.matrices[f"{at}/input"], x, a)  # [n, gates, H]
    gates = gates + _grouped(model.matrices[f"{at}/recurrent"], r, a)
    if f"{at}/bias" in v:
        gates += v[f"{at}/bias"].reshape(a.gates, a.hidden)
    if a.layer_norm:
        gain, shift = (v[f"{at}/gate_{name}"].reshape(a.gates, a.hidden) for name in ("gain", "shift"))
        gates = _normalise(gates, gain, shift)
    i, o, g = _sigmoid(gates[:, 0]), _sigmoid(gates[:, 1]), np.tanh(gates[:, 2])
    c = (1 - i if a.coupled else _sigmoid(gates[:, 3] + 1)) * c + i * g
    normal = _normalise(c, v[f"{at}/cell_gain"], v[f"{at}/cell_shift"]) if a.layer_norm else c
    return times(model.matrices[f"{at}/projection"], o * np.tanh(normal)), c


def _grouped(matrix: Matrix, x: Float32s, a: Architecture) -> Float32s:
    """Returns the block-diagonal product of a group LSTM, [n, gates, H]."""
    n, rows = len(x), a.gates * a.hidden // a.groups
    parts = [
        times(Matrix(matrix.codes[k * rows : (k + 1) * rows], matrix.scale[k * rows : (k + 1) * rows]), some)
        for k, some in enumerate(np.split(x, a.groups, axis=1))
    ]
    return np.concatenate([p.reshape(n, a.gates, a.hidden // a.groups) for p in parts], axis=2)


def _sigmoid(x: Float32s) -> Float32s:
    return np.float32(0.5) * (np.tanh(np.float32(0.5) * x) + np.float32(1))  # never overflows


def _normalise(x: Float32s, gain: Float32s, shift: Float32s) -> Float32s:
    away = x - x.mean(-1, keepdims=True)
    return away / np.sqrt(np.square(away).mean(-1, keepdims=True) + _EPSILON) * gain + shift


def log_probs(model: Network8, state: State) -> Float32s:
    """Returns log p of every word after each of n messages, [n, V]."""
    output = model.matrices["embedding" if model.architecture.tied else "output"]
    scores = times(output, state.features) + model.vectors["output_bias"]
    scores -= scores.max(1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(1, keepdims=True))


def state_after(model: Network8, words: Sequence[str]) -> State:
    """Returns the state after the words of a message; of a long one, after its last words only."""
    recent = words[max(0, len(words) - model.longest) :]
    state = step(model, None, np.array([BOS]))
    for word in recent:
        state = step(model, state, np.array([model.id(word)]))
    return state
