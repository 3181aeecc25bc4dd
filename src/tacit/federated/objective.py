"""What a client minimises: the mean loss of a batch.

An objective is `loss(params, batch, key)`: a batch is a tree of arrays, the key is for dropout (None: off).
It returns the mean loss and how many predictions it averages; empty cells of a batch count for nothing.
Text and images differ only here.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tacit.models.base import LanguageModel, ModelConfig, Params, product
from tacit.models.images import Classifier
from tacit.text.packed import Rows


class Labelled(NamedTuple):
    """Feature vectors with a class each."""

    x: Any  # [examples, features]
    y: Any  # [examples] int32, −1 where absent


Loss: TypeAlias = Callable[[Params, Any, Array | None], tuple[Array, Array]]


def next_word_loss(model: LanguageModel) -> Loss:
    """Cross-entropy of the next word, averaged over every word and sentence end of the batch."""

    def loss(params: Params, batch: Rows, key: Array | None) -> tuple[Array, Array]:
        features = model.features(params, batch.inputs, key)
        flat, targets = features.reshape(-1, features.shape[-1]), batch.targets.reshape(-1)
        return fused_cross_entropy(model.config, flat, *model.output(params), targets), (targets >= 0).sum()

    return loss


def classification_loss(model: Classifier) -> Loss:
    """Cross-entropy of the class, averaged over the batch."""

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
    """Mean cross-entropy of softmax(features · matrixᵀ + bias), with the scores kept once.

    features [cells, size], matrix [vocabulary, size], targets [cells], −1 where empty. The scores are the largest
    array of all (cells × vocabulary); they are kept in the precision of the products, the log-sum-exp over them
    is float32, and the gradient is made from them in one pass.
    """
    return _cross_entropy(config, features, matrix, bias, targets)[0]


def _cross_entropy(
    config: ModelConfig, features: Array, matrix: Array, bias: Array, targets: Array
) -> tuple[Array, Any]:
    scores = (product(config)(features, matrix.T) + bias).astype(config.precision)  # [cells, vocabulary]
    real = targets >= 0
    log_sum = jax.nn.logsumexp(scores.astype(jnp.float32), axis=-1)
    wanted = jnp.take_along_axis(scores, jnp.maximum(targets, 0)[:, None], axis=-1)[:, 0].astype(jnp.float32)
    count = jnp.maximum(real.sum(), 1)
    mean = jnp.where(real, log_sum - wanted, 0).sum() / count
    return mean, (scores, log_sum, features, matrix, targets, count)


def _cross_entropy_gradient(
    config: ModelConfig, kept: Any, gradient: Array
) -> tuple[Array, Array, Array, None]:
    scores, log_sum, features, matrix, targets, count = kept
    share = jnp.where(targets >= 0, gradient / count, 0)[:, None]
    hit = jnp.arange(len(matrix)) == targets[:, None]
    d = (jnp.exp(scores.astype(jnp.float32) - log_sum[:, None]) - hit) * share  # softmax less the target
    d = d.astype(config.precision)
    dot = product(config)
    return dot(d, matrix), dot(d.T, features), d.astype(jnp.float32).sum(axis=0), None


fused_cross_entropy.defvjp(_cross_entropy, _cross_entropy_gradient)
