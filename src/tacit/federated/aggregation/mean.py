"""Means: FedAvg's, and the averaging schemes of paper 5's Table 4.

A client says (a Δ, a). What a is and what is made of the sums is the scheme:

    uniform, I, transformed II   Σ aΔ / Σ a              a = n_k (FedAvg), or 1
    original                     Σ aΔ                     a = p_k = n_k / n: those absent keep w_t
    II                           Σ a w_k − w_t            a = p_k N/K: the weights need not add up to one
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated import trees
from tacit.federated.aggregation.sums import Aggregation, Message
from tacit.models.base import Params


def _say(params: Params, update: Params, weight: Array) -> Message:
    del params
    return trees.scale(weight, update), weight


def mean() -> Aggregation:
    """The mean of the updates, weighted by what the clients say they weigh."""

    def combine(params: Params, message: Message) -> Params:
        update, weight = message
        return trees.scale(-1 / jnp.maximum(weight, 1e-12), update)

    return Aggregation(_say, combine)


def absent_keep() -> Aggregation:
    """The original scheme: clients that were not sampled stand for the model they already have."""
    return Aggregation(_say, lambda params, message: trees.scale(-1.0, message[0]))


def rescaled() -> Aggregation:
    """Scheme II: w ← Σ a w_k. Where Σ a ≠ 1 the whole model is scaled by it, as the formula says."""

    def combine(params: Params, message: Message) -> Params:
        update, weight = message
        return jax.tree.map(lambda w, u: -(u + (weight - 1) * w), params, update)

    return Aggregation(_say, combine)


RULES = {"mean": lambda config: mean()}
