"""FedAttOpt: a step down the gradient of the attentive loss (paper 2, equations 1 to 10, Algorithm 3).

    L′ = Σ_k (log a_k + log d_k),   a = softmax(s),   s_k = θᵀθ_k/√n,   d_k = ‖θ − θ_k‖₂

over the whole parameter vector of n numbers. The paper's gradient does not follow from its loss, so both
are here; `aggregation.form` chooses:

exact       ∇L′ = (Σθ_k − m Σ a_k θ_k)/√n + Σ (θ − θ_k)/d_k²
as-printed  ∇   = Σθ_k/√n + (Σ 1/d_k) · 2 Σ (θ − θ_k),   d_k = ‖θ − θ_k‖²

As printed, (9) leaves out the softmax's normaliser, so its term is Σθ_k/√n and pulls every weight toward
zero; (10) sums over clients inside a term that belongs to one; and d is the squared norm of Algorithm 3,
line 7. Both forms need only a few sums over clients. A client that did not move (d_k = 0) adds nothing to the
distance term.
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated import trees
from tacit.federated.aggregation.sums import Aggregation, ClientMessage, Peaked
from tacit.models.base import Params, count_parameters


def attentive_loss(form: Literal["exact", "as-printed"] = "exact") -> Aggregation:
    """Returns FedAttOpt's rule in one of its two forms."""
    return _exact() if form == "exact" else _as_printed()


def _inverse(x: Array) -> Array:
    """Returns 1/x, and 0 where x is 0."""
    return jnp.where(x > 0, 1 / jnp.where(x > 0, x, 1), 0)


def _exact() -> Aggregation:
    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del weight
        client = trees.add(params, update)
        score = trees.dot(params, client) / count_parameters(params) ** 0.5
        return {
            "attended": Peaked(score, (client, jnp.float32(1))),  # Σ e^s θ_k, Σ e^s
            "models": client,  # Σ θ_k
            "pull": trees.scale(-_inverse(trees.dot(update, update)), update),  # Σ (θ − θ_k)/d_k²
            "clients": jnp.float32(1),  # m
        }

    def combine(params: Params, message: ClientMessage) -> Params:
        models, mass = message["attended"].values
        m, root_n = message["clients"], count_parameters(params) ** 0.5

        def leaf(summed: Array, attended: Array, pull: Array) -> Array:
            return (summed - m * attended / jnp.maximum(mass, 1e-30)) / root_n + pull

        return jax.tree.map(leaf, message["models"], models, message["pull"])

    return Aggregation(message, combine)


def _as_printed() -> Aggregation:
    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del weight
        return {
            "models": trees.add(params, update),  # Σ θ_k
            "nearness": _inverse(trees.dot(update, update)),  # Σ 1/d_k
            "updates": update,  # Σ (θ_k − θ)
        }

    def combine(params: Params, message: ClientMessage) -> Params:
        root_n = count_parameters(params) ** 0.5
        return jax.tree.map(
            lambda models, updates: models / root_n - 2 * message["nearness"] * updates,
            message["models"],
            message["updates"],
        )

    return Aggregation(message, combine)


RULES = {"attentive-loss": attentive_loss}
