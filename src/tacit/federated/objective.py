"""The client's objective: the mean loss of a batch.

An objective is `loss(params, batch, key)`: a batch is a tree of arrays, the key is for dropout (None: off). It returns
the mean loss and the number of predictions in it; empty cells of a batch do not count. Training on text and on images
differs only here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tacit.models.base import LanguageModel, ModelConfig, Params, product, short_product
from tacit.models.images import Classifier
from tacit.text.packed import Rows


class Labelled(NamedTuple):
    """Feature vectors with a class each."""

    x: Any  # [examples, features]
    y: Any  # [examples] int32, −1 where absent


_NEVER = -1e30  # the score of padding

Loss: TypeAlias = Callable[[Params, Any, Array | None], tuple[Array, Array]]


def next_word_loss(model: LanguageModel) -> Loss:
    """Returns the cross-entropy of the next word, averaged over every word and sentence end of the batch."""

    def loss(params: Params, batch: Rows, key: Array | None) -> tuple[Array, Array]:
        features = model.features(params, batch.inputs, key)
        flat, targets = features.reshape(-1, features.shape[-1]), batch.targets.reshape(-1)
        return fused_cross_entropy(model.config, flat, *model.output(params), targets), (targets >= 0).sum()

    return loss


def classification_loss(model: Classifier) -> Loss:
    """Returns the cross-entropy of the class, averaged over the batch."""

    def loss(params: Params, batch: Labelled, key: Array | None) -> tuple[Array, Array]:
        del key
        real = batch.y >= 0
        losses = optax.softmax_cross_entropy_with_integer_labels(
            model.apply(params, batch.x), jnp.maximum(batch.y, 0)
        )
        count = real.sum()
        return jnp.where(real, losses, 0).sum() / jnp.maximum(count, 1), count

    return loss


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def fused_cross_entropy(
    config: ModelConfig, features: Array, matrix: Array, bias: Array, targets: Array
) -> Array:
    """Returns the mean cross-entropy of softmax(features · matrixᵀ + bias), keeping the scores once.

    features [cells, size], matrix [vocabulary, size], targets [cells], −1 where empty. The scores are the largest
    array of all (cells × vocabulary). The product writes them in its own precision, and the bias is added wherever
    they are read. The log-sum-exp over them is float32, and the gradient is made from them in one pass. Both sizes
    are rounded up for the products: a matrix unit reads rows that begin at odd addresses several times slower.
    """
    return _cross_entropy(config, features, matrix, bias, targets)[0]


def alignment() -> int:
    """Returns the multiple to which sizes of large products are rounded up; on a CPU it does not matter."""
    return 1 if jax.default_backend() == "cpu" else 16


def _cross_entropy(
    config: ModelConfig, features: Array, matrix: Array, bias: Array, targets: Array
) -> tuple[Array, Any]:
    words, size = -len(matrix) % alignment(), -matrix.shape[1] % alignment()  # to add
    wide = jnp.pad(features.astype(config.precision), ((0, 0), (0, size)))
    large = jnp.pad(matrix.astype(config.precision), ((0, words), (0, size)))
    scores = short_product(config)(wide, large.T)  # [cells, vocabulary + words]
    padded = jnp.pad(bias, (0, words), constant_values=_NEVER)
    log_sum = jax.nn.logsumexp(scores.astype(jnp.float32) + padded, axis=-1)
    real, at = targets >= 0, jnp.maximum(targets, 0)
    wanted = jnp.take_along_axis(scores, at[:, None], axis=-1)[:, 0].astype(jnp.float32) + bias[at]
    count = jnp.maximum(real.sum(), 1)
    mean = jnp.where(real, log_sum - wanted, 0).sum() / count
    return mean, (scores, padded, log_sum, wide, large, matrix, targets, count)


def _cross_entropy_gradient(
    config: ModelConfig, kept: Any, gradient: Array
) -> tuple[Array, Array, Array, None]:
    scores, padded, log_sum, wide, large, matrix, targets, count = kept
    words, size = matrix.shape
    share = jnp.where(targets >= 0, gradient / count, 0)[:, None]
    hit = jnp.arange(len(large)) == targets[:, None]
    softmax = jnp.exp(scores.astype(jnp.float32) + padded - log_sum[:, None])
    d = ((softmax - hit) * share).astype(config.precision)
    dot = product(config)
    bias = d.astype(jnp.float32).sum(axis=0)
    return dot(d, large)[:, :size], dot(d.T, wide)[:words, :size], bias[:words], None


fused_cross_entropy.defvjp(_cross_entropy, _cross_entropy_gradient)
