"""Defines the interface of a language model and the parts that all of them share.

The parts are embedding, dropout, matrix products in the configured precision, and `stacked`, which builds a model
from recurrent layers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.settings import number
from tacit.models.recurrence import Cell, Product, Run, Weights
from tacit.text.vocabulary import BOS

Params = Any  # a pytree of float32 arrays
State = Any  # the recurrent state: a pytree of [batch, …]


_WIDE = "a matrix of more has over four thousand million weights"


@dataclass(frozen=True)
class ModelConfig:
    """Selects the language model: the table [model] of a configuration."""

    kind: Literal["gru", "lstm"] = "gru"
    embedding: int = number(96, 1, 65_536, _WIDE)
    hidden: int = number(96, 1, 65_536, _WIDE)
    layers: int = number(1, 1, 100, "each layer is compiled by itself")
    tied: bool = True  # the output scores words against the embedding
    variant: Literal["common", "printed"] = "common"  # of the GRU: see tacit.models.gru
    coupled: bool = True  # LSTM: CIFG, the forget gate is one minus the input gate
    groups: int = number(1, 1)  # LSTM: above 1, a group LSTM
    layer_norm: bool = False  # LSTM
    residual: bool = False  # layers after the first add their input to their output
    bias: Literal["zero", "counts"] = (
        "zero"  # of the output, at first; "counts": see tacit.federated.word_counts
    )
    spread: float = number(0.1, 0)  # the embedding starts uniform in ±spread
    dropout: float = number(0.0, 0, 0.95)
    precision: Literal["float32", "bfloat16"] = "float32"  # of matrix products; weights stay float32


class LanguageModel(NamedTuple):
    """A model that reads words and scores the next word at every position.

    `features(params, tokens, key)`: maps tokens [batch, time] int32 to [batch, time, size]; a key turns dropout on.
    `output(params)`: returns the matrix [vocabulary, size] and the bias [vocabulary] that turn features into logits.
    `step(params, state, tokens)`: advances by one word, tokens [batch]. It returns the new state and [batch, size],
    which is what `features` gives at that position without dropout. `<s>` resets the state; None is the initial one.
    """

    config: ModelConfig
    init: Callable[[Array], Params]
    features: Callable[[Params, Array, Array | None], Array]
    output: Callable[[Params], tuple[Array, Array]]
    step: Callable[[Params, State, Array], tuple[State, Array]]

    def logits(self, params: Params, features: Array) -> Array:
        """Returns the logits of all words, [..., vocabulary]."""
        matrix, bias = self.output(params)
        return product(self.config)(features, matrix.T) + bias

    def apply(self, params: Params, tokens: Array, key: Array | None = None) -> Array:
        """Returns the logits of the next word at every position, [batch, time, vocabulary]."""
        return self.logits(params, self.features(params, tokens, key))


def count_parameters(params: Params) -> int:
    """Counts the numbers in a parameter tree."""
    return sum(leaf.size for leaf in jax.tree.leaves(params))


def uniform(key: Array, shape: tuple[int, ...], scale: float) -> Array:
    """Draws weights uniformly from [-scale, scale]."""
    return jax.random.uniform(key, shape, jnp.float32, -scale, scale)


def product(config: ModelConfig) -> Product:
    """Returns x @ w in the configured precision; the weights, the sum and the result stay float32.

    With `float32` the product is true float32, not an accelerator's faster and coarser default.
    """
    return _bfloat16 if config.precision == "bfloat16" else _float32


def short_product(config: ModelConfig) -> Product:
    """Returns x @ w like `product`, with a result that is rounded to the configured precision too; no derivative."""
    if config.precision == "bfloat16":  # a matrix unit adds in float32 and writes bfloat16
        return partial(jnp.matmul, preferred_element_type=jnp.bfloat16)
    return _float32


def _float32(x: Array, w: Array) -> Array:
    return jnp.matmul(x, w, precision=jax.lax.Precision.HIGHEST)


@jax.custom_vjp
def _bfloat16(x: Array, w: Array) -> Array:
    """Multiplies bfloat16 factors with float32 sums, in the backward pass too.

    By default JAX multiplies the gradients in float32, at half the speed, and then rounds them to bfloat16.
    x is [..., inputs] and w [inputs, outputs], or both have the same leading group axis.
    """
    return _coarse(x, w)


def _coarse(x: Array, w: Array) -> Array:
    return jnp.matmul(x.astype(jnp.bfloat16), w.astype(jnp.bfloat16), preferred_element_type=jnp.float32)


def _bfloat16_forward(x: Array, w: Array) -> tuple[Array, tuple[Array, Array]]:
    kept = x.astype(jnp.bfloat16), w.astype(jnp.bfloat16)  # half the memory, the same products
    return _coarse(x, w), kept


def _bfloat16_backward(kept: tuple[Array, Array], gradient: Array) -> tuple[Array, Array]:
    x, w = kept
    dx = _coarse(gradient, w.swapaxes(-1, -2))
    if w.ndim == 2:  # one matrix for all rows of x, whatever its leading axes
        x, gradient = x.reshape(-1, x.shape[-1]), gradient.reshape(-1, gradient.shape[-1])
    return dx, _coarse(x.swapaxes(-1, -2), gradient)


_bfloat16.defvjp(_bfloat16_forward, _bfloat16_backward)


def drop(x: Array, rate: float, key: Array | None, index: int) -> Array:
    """Applies dropout if a key is given, that is, in training; `index` gives each place in a model its own mask."""
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
    """Builds a language model from an embedding, recurrent layers and an output layer.

    `init_layer(key, depth)` makes a layer's weights. `layer(weights, x, keep, config, run)` runs it over x [batch,
    time, size] and resets its state where keep [batch, time, 1] is 0; `run`, if given, replaces the scan over time.
    The weights of the layers are named name0, name1, …
    """

    def init(key: Array) -> Params:
        params: Params = {
            "embedding": uniform(jax.random.fold_in(key, 0), (vocabulary, config.embedding), config.spread),
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
        keep = (tokens != BOS).astype(x.dtype)[..., None]  # `<s>` resets the state
        for depth, run in enumerate(runs):
            out = layer(params[f"{name}{depth}"], x, keep, config, run)
            x = x + out if config.residual and depth > 0 else out
            x = drop(x, config.dropout, key, 1 + depth)
        return x

    def step(params: Params, state: State, tokens: Array) -> tuple[State, Array]:
        after: list[State] = []  # of each layer

        def once(before: State) -> Run:
            """Replaces the scan by a single step from `before` and keeps the state after it."""

            def run(cell: Cell, product: Product, weights: Weights, start: State, inputs: Any) -> Array:
                first = jax.tree.map(lambda x: x[0], inputs)
                state = start if before is None else before
                now, out = cell(state, first, lambda k, v: product(v, weights[k]))
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
    """Returns the path of every leaf as a name, such as "gru0/input"."""

    def part(key: Any) -> str:
        return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))

    return ["/".join(part(k) for k in path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]
