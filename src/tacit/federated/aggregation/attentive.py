"""FedAtt: clients that moved a layer farther weigh more in that layer (paper 1, equations 2 to 4).

    s_k = ‖w_k − w‖ of a layer,   α = softmax(s) over the cohort,   g = Σ α_k (w − w_k)

A layer is one tensor of the model. For each layer a client sends its update times e^{s−c}, and e^{s−c} itself; c is a
public bound on s. Without a bound c is the client's own s, which it sends along. One sum divided by the other is the
softmax-weighted mean, exactly. The papers write a p-norm; the authors' program takes the spectral norm of matrices.
Both are here.
"""

from __future__ import annotations

from typing import Annotated, Literal

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.settings import Range
from tacit.federated.aggregation.sums import Aggregation, ClientMessage, Peaked
from tacit.models.base import Params


def frobenius(layer: Array) -> Array:
    """Returns √Σx², in true float32."""
    return jnp.sqrt(jnp.sum(jnp.square(layer)))


def spectral(layer: Array) -> Array:
    """Returns the largest singular value of a matrix (leading axes flattened), or the L2 norm of a vector."""
    if layer.ndim < 2:
        return frobenius(layer)
    matrix = layer.reshape(-1, layer.shape[-1])
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    gram = jnp.matmul(matrix.T, matrix, precision=jax.lax.Precision.HIGHEST)  # the smaller of the two
    return jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(gram)[-1], 0))


def attentive(
    distance: Literal["frobenius", "spectral"] = "frobenius", bound: Annotated[float, Range(0, 60)] = 0.0
) -> Aggregation:
    """Returns the rule with a norm of a layer's update as its score.

    `bound` > 0 is the public bound c and makes messages plain sums; 0 carries a running maximum instead. Above 60 it
    would lose small updates: e^{s−c} leaves the range of float32.
    """
    score = {"frobenius": frobenius, "spectral": spectral}[distance]

    def layer_message(delta: Array) -> ClientMessage:
        s = score(delta)
        if bound:
            share = jnp.exp(s - bound)
            return share * delta, share
        return Peaked(s, (delta, jnp.float32(1)))

    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del params, weight  # the number of examples does not matter
        return [layer_message(delta) for delta in jax.tree.leaves(update)]

    def combine(params: Params, message: ClientMessage) -> Params:
        parts = [layer.values if isinstance(layer, Peaked) else layer for layer in message]
        means = [-delta / jnp.maximum(share, 1e-30) for delta, share in parts]
        return jax.tree.unflatten(jax.tree.structure(params), means)

    return Aggregation(message, combine)


RULES = {"attentive": attentive}
