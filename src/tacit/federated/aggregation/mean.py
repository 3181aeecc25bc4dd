"""Means: FedAvg's, and the averaging schemes of paper 5's Table 4.

A client sends (a Δ, a). A scheme defines a and how the server uses the two sums:

    uniform, I, transformed II   Σ aΔ / Σ a              a = n_k (FedAvg), or 1 (`aggregation.uniform`)
    original                     Σ aΔ                     a = p_k = n_k / n: absent clients keep w_t
    II                           Σ a w_k − w_t            a = p_k N/K: the weights need not add up to one

The private mean sends only a Δ, with a ≤ 1 and so a norm of at most the clip S, and is divided by the expected number
of clients: a denominator that depended on who reports would say something about them.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated import trees
from tacit.federated.aggregation.sums import Aggregation, ClientMessage, Terms
from tacit.models.base import Params
from tacit.privacy.bounds import Bounds


def _weighted(params: Params, update: Params, weight: Array) -> ClientMessage:
    del params
    return trees.scale(weight, update), weight


def mean(uniform: bool = False) -> Aggregation:
    """Returns FedAvg's rule: the mean of the updates by weight, or (`uniform`) with every client weighing the same."""

    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        return _weighted(params, update, jnp.ones_like(weight) if uniform else weight)

    def combine(params: Params, message: ClientMessage) -> Params:
        update, weight = message
        return trees.scale(-1 / jnp.maximum(weight, 1e-12), update)

    def private(terms: Terms) -> Aggregation:
        return Aggregation(
            lambda params, update, weight: message(params, update, weight)[0],
            lambda params, total: trees.scale(-1 / terms.clients, total),
            bounds=lambda params, clip: Bounds(clip),
        )

    return Aggregation(message, combine, private=private)


def absent_keep() -> Aggregation:
    """Returns the rule of the original scheme: clients that were not sampled keep the model w_t."""
    return Aggregation(_weighted, lambda params, message: trees.scale(-1.0, message[0]))


def rescaled() -> Aggregation:
    """Returns the rule of scheme II: w ← Σ a w_k. Where Σ a ≠ 1 it scales the whole model, as the formula says."""

    def combine(params: Params, message: ClientMessage) -> Params:
        update, weight = message
        return jax.tree.map(lambda w, u: -(u + (weight - 1) * w), params, update)

    return Aggregation(_weighted, combine)


RULES = {"mean": mean}
