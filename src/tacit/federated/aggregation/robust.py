"""Rules that withstand some hostile clients: medians, trimmed means, Krum.

A mean can be moved anywhere by one client. These rules compare the updates Δ_k of a cohort of n clients, so they are no
sums (`CohortRule`):

    median            g = −median_k Δ_k, number by number                                       Yin et al. 2018
    trimmed-mean      the mean without the β n largest and the β n smallest, number by number   Yin et al. 2018
    krum              the one update whose n − f − 2 nearest others are nearest                 Blanchard et al. 2017
    multi-krum        the mean of the m updates that krum scores best                           Blanchard et al. 2017
    geometric-median  the point with the least sum of distances to all updates                  Pillutla et al. 2019

Every client counts once: its weight is its own word, and a liar would give itself a large one. Only geometric-median
can use weights, as its paper does (`aggregation.weighted`).
"""

from __future__ import annotations

import math
from typing import Annotated

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.settings import Range
from tacit.federated import trees
from tacit.federated.aggregation.sums import CohortRule
from tacit.models.base import Params


def median() -> CohortRule:
    """Returns the median of every number; with an even number of clients, the mean of the two in the middle."""

    def combine(params: Params, updates: Params, weights: Array) -> Params:
        del params, weights
        return jax.tree.map(lambda u: -jnp.median(u, axis=0), updates)

    return CohortRule(combine)


def trimmed_mean(share: Annotated[float, Range(0, 0.5)] = 0.2) -> CohortRule:
    """Returns the mean of every number without its largest and smallest values: `share` of the clients at either end.

    The number left out is rounded up; at least one value stays.
    """

    def combine(params: Params, updates: Params, weights: Array) -> Params:
        del params
        clients = weights.shape[0]
        out = min(math.ceil(share * clients - 1e-9), (clients - 1) // 2)  # 0.2 · 15 is a little above 3
        return jax.tree.map(lambda u: -jnp.mean(jnp.sort(u, axis=0)[out : clients - out], axis=0), updates)

    return CohortRule(combine)


def squared_distances(updates: Params) -> Array:
    """Returns ‖Δ_i − Δ_j‖² for all pairs, [clients, clients]; from differences, for products would cancel."""
    leaves = [jnp.asarray(u) for u in jax.tree.leaves(updates)]

    def from_one(i: Array) -> Array:
        each = [jnp.sum(jnp.square(u - u[i]), axis=range(1, u.ndim)) for u in leaves]
        return sum(each, start=jnp.float32(0))

    return jax.lax.map(from_one, jnp.arange(leaves[0].shape[0]))


def multi_krum(attackers: Annotated[int, Range(0)] = 1, chosen: Annotated[int, Range(0)] = 0) -> CohortRule:
    """Returns the mean of the `chosen` updates with the best scores (0: n − f − 2, the most); `attackers` is f.

    The score of an update is the sum of squared distances to its n − f − 2 nearest others; n must be at least 2 f + 3.
    """

    def combine(params: Params, updates: Params, weights: Array) -> Params:
        del params
        near = weights.shape[0] - attackers - 2
        sorted_ = jnp.sort(squared_distances(updates), axis=1)  # [clients, clients]; first itself, at 0
        scores = jnp.sum(sorted_[:, 1 : near + 1], axis=1)
        best = jnp.argsort(scores)[: chosen or near]  # of equal scores, the lower id
        return jax.tree.map(lambda u: -jnp.mean(u[best], axis=0), updates)

    return CohortRule(combine, least=max(2 * attackers + 3, chosen + attackers + 2))


def krum(attackers: Annotated[int, Range(0)] = 1) -> CohortRule:
    """Returns the one update with the best score of `multi_krum`; `attackers` is f, and n at least 2 f + 3."""
    return multi_krum(attackers, chosen=1)


def geometric_median(
    iterations: Annotated[int, Range(1, 10_000)] = 10,
    smoothing: Annotated[float, Range(1e-30)] = 1e-6,
    weighted: bool = False,
) -> CohortRule:
    """Returns the geometric median by Weiszfeld's algorithm, smoothed:

        v ← Σ b_k Δ_k / Σ b_k,   b_k = a_k / max(ν, ‖Δ_k − v‖),   beginning with no update, v = 0

    a_k is 1, or (`weighted`) the client's weight; ν is `smoothing`.
    """

    def combine(params: Params, updates: Params, weights: Array) -> Params:
        a = weights if weighted else jnp.ones_like(weights)

        def mean(b: Array) -> Params:
            b = b / jnp.maximum(jnp.sum(b), 1e-30)
            return jax.tree.map(lambda u: jnp.sum(u * b.reshape(-1, *[1] * (u.ndim - 1)), axis=0), updates)

        def closer(_: int, v: Params) -> Params:
            squared = jax.vmap(lambda u: trees.dot(trees.subtract(u, v), trees.subtract(u, v)))(updates)
            return mean(a / jnp.maximum(smoothing, jnp.sqrt(squared)))

        return trees.scale(-1.0, jax.lax.fori_loop(0, iterations, closer, trees.zeros_like(params)))

    return CohortRule(combine)


RULES = {
    "median": median,
    "trimmed-mean": trimmed_mean,
    "krum": krum,
    "multi-krum": multi_krum,
    "geometric-median": geometric_median,
}
