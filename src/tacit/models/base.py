"""What every language model here is made of: its shape as functions, and the few parts they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.settings import number
from tacit.models.recurrence import Cell, Product, Run, Weights
from tacit.text.vocabulary import BOS

Params = Any  # a pytree of float32 arrays
State = Any  # what a model remembers of the words before: a pytree of [batch, …]


@dataclass(frozen=True)
class ModelConfig:
    """Which language model: the table [model] of a configuration."""

    kind: Literal["gru", "lstm"] = "gru"
    embedding: int = number(96, 1)
    hidden: int = number(96, 1)
    layers: int = number(1, 1)
    tied: bool = True  # the output scores words against the embedding
    variant: Literal["common", "printed"] = "common"  # of the GRU: see tacit.models.gru
    coupled: bool = True  # LSTM: CIFG, the forget gate is one minus the input gate
    groups: int = number(1, 1)  # LSTM: above 1, a group LSTM
    layer_norm: bool = False  # LSTM
    residual: bool = False  # layers after the first add their input to their output
    dropout: float = number(0.0, 0, 0.95)
    precision: Literal["float32", "bfloat16"] = "float32"  # of matrix products; weights stay float32


class LanguageModel(NamedTuple):
    """A model that reads words and scores the next one at every position.

    `features(params, tokens, key)`: tokens [batch, time] int32 to [batch, time, size]; a key turns dropout on.
    `output(params)`: the matrix [vocabulary, size] and bias [vocabulary] that make features into scores.
    `step(params, state, tokens)`: one word further, tokens [batch] to the state after it and [batch, size], what
    `features` gives there without dropout. `<s>` forgets the state; None is the state before any word.
    """

    config: ModelConfig
    init: Callable[[Array], Params]
    features: Callable[[Params, Array, Array | None], Array]
    output: Callable[[Params], tuple[Array, Array]]
    step: Callable[[Params, State, Array], tuple[State, Array]]

    def logits(self, params: Params, features: Array) -> Array:
        """Scores of all words, [..., vocabulary]."""
        matrix, bias = self.output(params)
        return product(self.config)(features, matrix.T) + bias

    def apply(self, params: Params, tokens: Array, key: Array | None = None) -> Array:
        """Logits of the next word at every position, [batch, time, vocabulary]."""
        return self.logits(params, self.features(params, tokens, key))


def count_parameters(params: Params) -> int:
    """How many numbers a model has."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def uniform(key: Array, shape: tuple[int, ...], scale: float) -> Array:
    """Weights drawn from [-scale, scale]."""
    return jax.random.uniform(key, shape, jnp.float32, -scale, scale)


def product(config: ModelConfig) -> Product:
    """x @ w in the configured precision; the weights, the sum and the result stay float32.

    float32 means float32: an accelerator's faster, coarser default is not taken silently.
    """
    return _bfloat16 if config.precision == "bfloat16" else _float32


def _float32(x: Array, w: Array) -> Array:
    return jnp.matmul(x, w, precision=jax.lax.Precision.HIGHEST)


@jax.custom_vjp
def _bfloat16(x: Array, w: Array) -> Array:
    """Factors in bfloat16, sums in float32, and so for both gradients: left to itself, JAX multiplies those in
    float32, at half the speed, and then rounds them to bfloat16. x is [..., inputs] and w [inputs, outputs], or both
    have the same groups in front."""
    return _coarse(x, w)


def _coarse(x: Array, w: Array) -> Array:
    return jnp.matmul(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)


def _bfloat16_forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
    kept = x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)  # half the memory, the same products
    return _coarse(x, w), kept


def _bfloat16_backward(kept: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, w = kept
    dx = _coarse(gradient, w.swapaxes(-1, -2))
    if w.ndim == 2:  # one matrix for all rows of x, however they are arranged
        x, gradient = x.reshape(-1, x.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
    return dx, _coarse(x.swapaxes(-1, -2), gradient)


_bfloat16.defvjp(_bfloat16_forward, _bfloat16_backward)


def drop(x: Array, rate: float, key: Array | None, index: int) -> Array:
    """Dropout, on only while training (a key is given); `index` separates its places in a model."""
    if key is None or rate == 0.0:
        return x
    keep = jax.random.bernoulli(jax.random.fold_in(key, index), 1 - rate, x.shape)
    return jnp.where(keep, x / (1 - rate), 0)


def stacked(
    config: ModelConfig,
    vocabulary: int,
    name: str,
    init_layer: Callable[[Array, int], Params],
    layer: Callable[[Params, Array, Array, ModelConfig, Run | None], Array],
) -> LanguageModel:
    """A language model of recurrent layers between an embedding and a score for every word.

    `init_layer(key, depth)` makes a layer's weights; `layer(weights, x, keep, config, run)` runs it over x [batch,
    time, size], forgetting its state where keep [batch, time, 1] is 0; `run` takes the place of the scan over
    time. Weights stand under name0, name1, …
    """

    def init(key: Array) -> Params:
        params: Params = {
            "embedding": uniform(jax.random.fold_in(key, 0), (vocabulary, config.embedding), 0.1),
            "output_bias": jnp.zeros(vocabulary, jnp.float32),
        }
        if not config.tied:
            params["output"] = uniform(jax.random.fold_in(key, 1), (vocabulary, config.hidden), 0.1)
        for depth in range(config.layers):
            params[f"{name}{depth}"] = init_layer(jax.random.fold_in(key, 100 + depth), depth)
        return params

    def features(params: Params, tokens: Array, key: Array | None) -> Array:
        return through(params, tokens, key, [None] * config.layers)

    def through(params: Params, tokens: Array, key: Array | None, runs: Sequence[Run | None]) -> Array:
        x = drop(params["embedding"][tokens], config.dropout, key, 0)  # [batch, time, embedding]
        keep = (tokens != BOS).astype(x.dtype)[..., None]  # `<s>` forgets what came before
        for depth, run in enumerate(runs):
            out = layer(params[f"{name}{depth}"], x, keep, config, run)
            x = x + out if config.residual and depth > 0 else out
            x = drop(x, config.dropout, key, 1 + depth)
        return x

    def step(params: Params, state: State, tokens: Array) -> tuple[State, Array]:
        after: list[State] = []  # of each layer

        def once(before: State) -> Run:
            """In place of the scan: the one step there is, from `before`, with the state after it kept."""

            def run(cell: Cell, product: Product, weights: Weights, start: State, inputs: Any) -> Array:
                at = jax.tree.map(lambda x: x[0], inputs)
                now, out = cell(start if before is None else before, at, lambda k, v: product(v, weights[k]))
                after.append(now)
                return out[None]

            return run

        states = [None] * config.layers if state is None else state
        x = through(params, tokens[:, None], None, [once(before) for before in states])
        return after, x[:, 0]

    def output(params: Params) -> tuple[Array, Array]:
        return params["embedding"] if config.tied else params["output"], params["output_bias"]

    return LanguageModel(config, init, features, output, step)


def tree_names(tree: Any) -> list[str]:
    """A name for every leaf, from its place in the tree."""

    def part(key: Any) -> str:
        return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))

    return ["/".join(part(k) for k in path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
