"""Independent statements of what the package computes: plain numpy, float64, one step at a time.

Nothing here imports the code it judges. Tests of several rooms use it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

Weights = Mapping[str, Any]


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def float64(tree: Any) -> Any:
    """The same tree of dictionaries with float64 leaves."""
    if isinstance(tree, Mapping):
        return {k: float64(v) for k, v in tree.items()}
    return np.asarray(tree, np.float64)


def shaken(tree: Any, seed: int, scale: float = 0.5) -> Any:
    """The same tree with every leaf (also zero biases, unit gains) drawn anew, so that each one matters."""
    draw = np.random.default_rng(seed)

    def leaf(node: Any) -> Any:
        if isinstance(node, Mapping):
            return {k: leaf(node[k]) for k in sorted(node)}
        return draw.normal(0, scale, node.shape).astype(np.float32)

    return leaf(tree)


# Recurrent cells, as the papers and the libraries write them.


def gru_common(w: Weights, xs: np.ndarray) -> np.ndarray:
    """cuDNN's and PyTorch's GRU: columns reset, update, new; the reset gate acts after the product."""
    size = w["recurrent"].shape[0]
    W = [w["input"][:, i * size : (i + 1) * size] for i in range(3)]
    U = [w["recurrent"][:, i * size : (i + 1) * size] for i in range(3)]
    b = [w["input_bias"][i * size : (i + 1) * size] for i in range(3)]
    c = [w["recurrent_bias"][i * size : (i + 1) * size] for i in range(3)]
    h, out = np.zeros(size), []
    for x in xs:
        r = sigmoid(x @ W[0] + b[0] + h @ U[0] + c[0])
        z = sigmoid(x @ W[1] + b[1] + h @ U[1] + c[1])
        n = np.tanh(x @ W[2] + b[2] + r * (h @ U[2] + c[2]))
        h = (1 - z) * n + z * h
        out.append(h)
    return np.array(out)


def gru_printed(w: Weights, xs: np.ndarray) -> np.ndarray:
    """Papers 1 and 2: z = σ(w_z·[h, x]), r = σ(w_r·[h, x]), h̃ = tanh(w·[r∗h, x]), h = (1 − z)∗h + z∗h̃."""
    h, out = np.zeros(w["update"].shape[1]), []
    for x in xs:
        hx = np.concatenate([h, x])
        z, r = sigmoid(hx @ w["update"]), sigmoid(hx @ w["reset"])
        new = np.tanh(np.concatenate([r * h, x]) @ w["candidate"])
        h = (1 - z) * h + z * new
        out.append(h)
    return np.array(out)


def _layer_norm(x: np.ndarray, gain: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return (x - np.mean(x)) / np.sqrt(np.var(x) + 1e-5) * gain + shift


def lstm_layer(w: Weights, xs: np.ndarray, coupled: bool, groups: int, layer_norm: bool) -> np.ndarray:
    """One projected LSTM layer: gates input, output, candidate and, where not coupled, forget."""
    hidden, size = w["projection"].shape
    gates = 3 if coupled else 4
    part, unit = size // groups, hidden // groups
    r, c, out = np.zeros(size), np.zeros(hidden), []
    for x in xs:
        a = []
        for gate in range(gates):
            pieces = []
            for k in range(groups):
                columns = slice(gate * unit, (gate + 1) * unit)
                mine = slice(k * part, (k + 1) * part)
                pieces.append(x[mine] @ w["input"][k][:, columns] + r[mine] @ w["recurrent"][k][:, columns])
            value = np.concatenate(pieces)
            if "bias" in w:
                value = value + w["bias"][gate]
            if layer_norm:
                value = _layer_norm(value, w["gate_gain"][gate], w["gate_shift"][gate])
            a.append(value)
        i = sigmoid(a[0])
        f = 1 - i if coupled else sigmoid(a[3] + 1)
        c = f * c + i * np.tanh(a[2])
        cell = _layer_norm(c, w["cell_gain"], w["cell_shift"]) if layer_norm else c
        r = (sigmoid(a[1]) * np.tanh(cell)) @ w["projection"]
        out.append(r)
    return np.array(out)


Layer = Callable[[Weights, np.ndarray], np.ndarray]


def sentence_logits(
    params: Weights, tokens: Sequence[int], layer: Layer, name: str, residual: bool = False
) -> Any:
    """Features and logits of one sentence (`<s>` first), layer upon layer, tied or with an output matrix."""
    p = float64(params)
    x = p["embedding"][np.asarray(tokens)]
    number = 0
    while f"{name}{number}" in p:
        out = layer(p[f"{name}{number}"], x)
        x = x + out if residual and number > 0 else out
        number += 1
    read = p["output" if "output" in p else "embedding"].T
    return x, x @ read + p["output_bias"]


# Multinomial logistic regression with gradients by hand.


def softmax_rows(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return odds / odds.sum(axis=-1, keepdims=True)


def logistic_loss(w: Weights, x: np.ndarray, y: np.ndarray) -> float:
    p = softmax_rows(x @ w["weight"] + w["bias"])
    return float(-np.mean(np.log(p[np.arange(len(y)), y])))


def logistic_gradient(w: Weights, x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    error = softmax_rows(x @ w["weight"] + w["bias"])
    error[np.arange(len(y)), y] -= 1
    return {"weight": x.T @ error / len(y), "bias": error.mean(axis=0)}


def local_sgd(
    start: Weights,
    batches: Sequence[tuple[np.ndarray, np.ndarray]],
    lr: float,
    momentum: float = 0.0,
    clip: float = 0.0,
    prox: float = 0.0,
    scale: float = 1.0,
) -> dict[str, np.ndarray]:
    """z ← βz + s·clip(∇L(w) + μ/s (w − w_t)); w ← w − ηz; over these batches. Returns the model."""
    w0 = float64(start)
    w = {k: v.copy() for k, v in w0.items()}
    z = {k: np.zeros_like(v) for k, v in w.items()}
    for x, y in batches:
        g = logistic_gradient(w, x, y)
        g = {k: g[k] + prox / scale * (w[k] - w0[k]) for k in g}
        norm = np.sqrt(sum(np.sum(v**2) for v in g.values()))
        if clip and norm > clip:
            g = {k: v * clip / norm for k, v in g.items()}
        z = {k: momentum * z[k] + scale * g[k] for k in g}
        w = {k: w[k] - lr * z[k] for k in w}
    return w


def next_words(model, params, ids, k: int, allowed=None) -> list[tuple[int, float]]:
    """The k likeliest next words of a network after ids (`<s>` first), from all probabilities put in order."""
    logits = np.asarray(model.apply(params, np.asarray(ids)[None])[0, -1], np.float64)
    odds = softmax_rows(logits)
    words = [w for w in range(3, len(odds)) if allowed is None or allowed[w]]
    return [(w, float(odds[w])) for w in sorted(words, key=lambda w: (-odds[w], w))[:k]]
