"""FedAtt: clients that moved a layer farther weigh more in that layer (paper 1, equations 2 to 4).

    s_k = ‖w_k − w‖ of a layer,   α = softmax(s) over the cohort,   g = Σ α_k (w − w_k)

A layer is one tensor of the model. For each layer a client sends its update times e^{s−c}, and e^{s−c} itself; c is a
public bound on s. Without a bound c is the client's own s, which it sends along. One sum divided by the other is the
softmax-weighted mean, exactly. The papers write a p-norm; the authors' program takes the spectral norm of matrices.
Both are here.

The private form clips each layer to S_l = min(S, 8), or to `bound`, and takes c = S_l as its public bound. Then
u = e^{s−c} lies in [e^{−S_l}, 1], and a client sends two parts: all uΔ, of norm ≤ S, and the u of L layers, of norm
≤ √L. Both get noise. A layer whose noised Σu is too small to divide by has the pseudo-gradient 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.errors import TacitError
from tacit.base.settings import Range
from tacit.federated.aggregation.sums import Aggregation, ClientMessage, Peaked, Terms
from tacit.models.base import Params
from tacit.privacy.bounds import Bounds, clip_factor

_LARGEST = 8.0  # S_l: e^{s−S_l} of a layer that hardly moved must not vanish beside the noise
_SHARES = {"updates": 0.9, "shares": 0.1}  # of the protection; a sum of u is large and needs little


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

    def private(terms: Terms) -> Aggregation:
        if bound > _LARGEST:
            raise TacitError(
                f"aggregation.bound = {bound:g} is the clip of a layer in a private run and must be at most "
                f"{_LARGEST:g}; lower it or remove it"
            )
        return _private(score, jnp.minimum(terms.clip, bound or _LARGEST), terms)

    return Aggregation(message, combine, private=private)


def _private(score: Callable[[Array], Array], layer_clip: Array, terms: Terms) -> Aggregation:
    """Returns the rule with every layer clipped to `layer_clip`."""

    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del params, weight
        deltas = [clip_factor(frobenius(x), layer_clip) * x for x in jax.tree.leaves(update)]
        u = [jnp.exp(jnp.minimum(score(delta) - layer_clip, 0)) for delta in deltas]
        return {
            "updates": [share * delta for share, delta in zip(u, deltas, strict=True)],
            "shares": jnp.stack(u),
        }

    def bounds(params: Params, clip: Array) -> Bounds:
        root = len(jax.tree.leaves(params)) ** 0.5
        norms = {"updates": jnp.minimum(clip, root * layer_clip), "shares": root}
        return Bounds(norms, _SHARES, {"updates": False, "shares": True})

    def combine(params: Params, message: ClientMessage) -> Params:
        leaves, structure = jax.tree.flatten(params)
        deviation = terms.noise * (len(leaves) / _SHARES["shares"]) ** 0.5  # of the noise on a Σu
        if terms.clients < 2 * deviation:
            raise TacitError(
                f"aggregation.rule = 'attentive' divides by a sum of at most {terms.clients:g}, and the noise on it is "
                f"{deviation:.3g}: no step would ever be made; raise sampling.clients or lower privacy.noise"
            )
        # every client sends at least e^{−S_l}: half of what all send, and twice the noise
        least = jnp.maximum(terms.clients * jnp.exp(-layer_clip) / 2, 2 * deviation)
        means = [
            jnp.where(total < least, 0, -summed / jnp.maximum(total, least))
            for summed, total in zip(message["updates"], message["shares"], strict=True)
        ]
        return jax.tree.unflatten(structure, means)

    return Aggregation(message, combine, bounds=bounds)


RULES = {"attentive": attentive}
