"""What a client minimises: the mean loss of a batch.

An objective is `loss(params, batch, key)`: a batch is a tree of arrays, the key is for dropout (None: off).
It returns the mean loss and how many predictions it averages; empty cells of a batch count for nothing.
Text and images differ only here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import LanguageModel, Params
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
        return _mean_cross_entropy(model.apply(params, batch.inputs, key), batch.targets)

    return loss


def classification_loss(model: Classifier) -> Loss:
    """Cross-entropy of the class, averaged over the batch."""

    def loss(params: Params, batch: Labelled, key: Array | None) -> tuple[Array, Array]:
        del key
        return _mean_cross_entropy(model.apply(params, batch.x), batch.y)

    return loss


def _mean_cross_entropy(logits: Array, targets: Array) -> tuple[Array, Array]:
    real = targets >= 0
    # log-sum-exp minus the target's own score: no second array of the vocabulary's size is kept
    wanted = jnp.take_along_axis(logits, jnp.maximum(targets, 0)[..., None], axis=-1)[..., 0]
    losses = jnp.where(real, jax.nn.logsumexp(logits, axis=-1) - wanted, 0)
    count = real.sum()
    return losses.sum() / jnp.maximum(count, 1), count
