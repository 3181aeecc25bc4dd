"""FedAtt: clients that moved a layer farther weigh more in that layer (paper 1, equations 2 to 4).

    s_k = ‖w_k − w‖ of a layer,   α = softmax(s) over the cohort,   g = Σ α_k (w − w_k)

A layer is one tensor of the model. By addition: of each layer a client says its update times e^{s−c}, and
e^{s−c} itself, c being a bound that everybody knows; without one, c is its own s, which is carried along. One
total over the other is the softmax-weighted mean, exactly. The papers write a p-norm; the authors' program takes the
spectral norm of matrices. Both are here.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated.aggregation.sums import Aggregation, Message, Peaked
from tacit.models.base import Params


def frobenius(layer: Array) -> Array:
    """√Σx², in true float32."""
    return jnp.sqrt(jnp.sum(jnp.square(layer)))


def spectral(layer: Array) -> Array:
    """The largest singular value of a matrix (of leading axes flattened), the L2 norm of a vector."""
    if layer.ndim < 2:
        return frobenius(layer)
    matrix = layer.reshape(-1, layer.shape[-1])
    if matrix.shape[0] < matrix.shape[1]:
        matrix = matrix.T
    gram = jnp.matmul(matrix.T, matrix, precision=jax.lax.Precision.HIGHEST)  # the smaller of the two
    return jnp.sqrt(jnp.maximum(jnp.linalg.eigvalsh(gram)[-1], 0))


def attentive(distance: str = "frobenius", bound: float = 0.0) -> Aggregation:
    """Layer-wise attentive aggregation; `bound` > 0 makes its messages plain sums.

    A bound over 60 would lose small updates: e^{s−c} leaves the range of float32.
    """
    score = {"frobenius": frobenius, "spectral": spectral}[distance]

    def layer_message(delta: Array) -> Message:
        s = score(delta)
        if bound:
            share = jnp.exp(s - bound)
            return share * delta, share
        return Peaked(s, (delta, jnp.float32(1)))

    def message(params: Params, update: Params, weight: Array) -> Message:
        del params, weight  # the number of examples plays no part
        return [layer_message(delta) for delta in jax.tree.leaves(update)]

    def combine(params: Params, message: Message) -> Params:
        parts = [layer.values if isinstance(layer, Peaked) else layer for layer in message]
        means = [-delta / jnp.maximum(share, 1e-30) for delta, share in parts]
        return jax.tree.unflatten(jax.tree.structure(params), means)

    return Aggregation(message, combine)


RULES = {"attentive": lambda config: attentive(config.distance, config.bound)}
