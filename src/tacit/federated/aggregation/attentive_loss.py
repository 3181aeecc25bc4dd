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

In the private forms a client sends only what its clipped update Δ = θ_k − θ bounds: θ itself is known. With ‖Δ‖ ≤ S the
score θᵀΔ/√n (θᵀθ cancels in the softmax) is at most c = ‖θ‖S/√n, so u = e^{s−c} ≤ 1. Distances below d₀, a share of S,
count as d₀. The fixed expected number m of clients takes the place of the number that reported:

exact       parts uΔ (≤ S), u (≤ 1), Δ (≤ S), −Δ/max(d, d₀)² (≤ 1/d₀);  ∇ = (ΣΔ − m ΣuΔ/Σu)/√n + Σ pull
as-printed  parts Δ (≤ S), 1/max(d, d₀)² (≤ 1/d₀²);                      ∇ = (mθ + ΣΔ)/√n − 2 (Σ 1/max²) ΣΔ
"""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated import trees
from tacit.federated.aggregation.sums import Aggregation, ClientMessage, Peaked, Terms
from tacit.models.base import Params, count_parameters
from tacit.privacy.bounds import Bounds

# shares of the protection: in the exact form all but the pull is divided by √n
_EXACT = {"attended": 0.05, "mass": 0.05, "updates": 0.05, "pull": 0.85}
_ROOM = 1 + 1e-5  # for the rounding of float32 in a quotient
_PRINTED = {"nearness": 0.1, "updates": 0.9}


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

    return Aggregation(message, combine, private=_private_exact)


def _private_exact(terms: Terms) -> Aggregation:
    def most(params: Params) -> Array:
        """Returns c, the largest score of an update of norm S."""
        return trees.norm(params) * terms.clip / count_parameters(params) ** 0.5

    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del weight
        score = trees.dot(params, update) / count_parameters(params) ** 0.5
        u = jnp.exp(jnp.minimum(score - most(params), 0))
        return {
            "attended": trees.scale(u, update),
            "mass": u,
            "updates": update,
            "pull": trees.scale(-_nearness(update, terms), update),
        }

    def bounds(params: Params, clip: Array) -> Bounds:
        norms = {"attended": clip, "mass": 1.0, "updates": clip, "pull": _ROOM / (terms.floor * clip)}
        return Bounds(norms, _EXACT, {part: part == "mass" for part in norms})

    def combine(params: Params, message: ClientMessage) -> Params:
        root_n, m = count_parameters(params) ** 0.5, terms.clients
        deviation = terms.noise / _EXACT["mass"] ** 0.5  # of the noise on Σu
        if m < 2 * deviation:
            raise TacitError(
                f"aggregation.rule = 'attentive-loss' divides by a sum of at most {m:g}, and the noise on it is "
                f"{deviation:.3g}: no step would ever be made; raise sampling.clients or lower privacy.noise"
            )
        least = jnp.maximum(m * jnp.exp(-2 * most(params)) / 2, 2 * deviation)
        usable, mass = message["mass"] >= least, jnp.maximum(message["mass"], least)

        def leaf(updates: Array, attended: Array, pull: Array) -> Array:
            return jnp.where(usable, (updates - m * attended / mass) / root_n + pull, 0)

        return jax.tree.map(leaf, message["updates"], message["attended"], message["pull"])

    return Aggregation(message, combine, bounds=bounds)


def _nearness(update: Params, terms: Terms) -> Array:
    """Returns 1/max(d, d₀)²."""
    return 1 / jnp.maximum(trees.dot(update, update), jnp.square(terms.floor * terms.clip))


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

    return Aggregation(message, combine, private=_private_as_printed)


def _private_as_printed(terms: Terms) -> Aggregation:
    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del params, weight
        return {"nearness": _nearness(update, terms), "updates": update}

    def bounds(params: Params, clip: Array) -> Bounds:
        return Bounds({"nearness": _ROOM / jnp.square(terms.floor * clip), "updates": clip}, _PRINTED)

    def combine(params: Params, message: ClientMessage) -> Params:
        root_n, nearness = count_parameters(params) ** 0.5, message["nearness"]
        return jax.tree.map(
            lambda theta, updates: (terms.clients * theta + updates) / root_n - 2 * nearness * updates,
            params,
            message["updates"],
        )

    return Aggregation(message, combine, bounds=bounds)


RULES = {"attentive-loss": attentive_loss}
