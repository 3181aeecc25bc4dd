"""Norm bounding: the mean of updates clipped to a public norm (Sun et al. 2019, "Can you really backdoor …").

    a client sends (n_k Δ_k · min(1, M/‖Δ_k‖), n_k)

A hostile client can then move the model by its share of M and no more, however it scales its update. It is a sum, and
the only robust rule here that is one: it runs under masks, over devices and hosts. Under masks nobody can check that a
client did clip.

The private form is that of the mean with updates clipped to min(M, S): a client sends a Δ with a ≤ 1, and the sum is
divided by the expected number of clients.
"""

from __future__ import annotations

from typing import Annotated

import jax.numpy as jnp
from jax import Array

from tacit.base.settings import Range
from tacit.federated import trees
from tacit.federated.aggregation.mean import mean
from tacit.federated.aggregation.sums import Aggregation, ClientMessage, Terms
from tacit.models.base import Params
from tacit.privacy.bounds import Bounds, clipped


def norm_bounded(norm: Annotated[float, Range(1e-9)] = 1.0, uniform: bool = True) -> Aggregation:
    """Returns the mean of updates clipped to `norm`; with `uniform` every client weighs the same.

    Weights are by default not used: a client with a large weight would get around its bound.
    """
    averaged = mean(uniform)

    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        factor = jnp.minimum(1.0, norm / jnp.maximum(trees.norm(update), 1e-12))
        return averaged.message(params, trees.scale(factor, update), weight)

    def private(terms: Terms) -> Aggregation:
        assert averaged.private is not None
        form = averaged.private(terms)
        return Aggregation(
            lambda params, update, weight: form.message(params, clipped(update, norm)[0], weight),
            form.combine,
            bounds=lambda params, clip: Bounds(jnp.minimum(clip, norm)),
        )

    return Aggregation(message, averaged.combine, private=private)


RULES = {"norm-bounded": norm_bounded}
