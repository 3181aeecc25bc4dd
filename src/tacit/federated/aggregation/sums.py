"""Client messages, and how they are added.

Softmax weights need e^s, which overflows. A message may therefore hold `Peaked` parts, which `total` adds like
log-sum-exp.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import Params
from tacit.privacy.bounds import Bounds

ClientMessage = Any  # a tree of arrays and `Peaked` parts; a sum of messages is one, too


class Terms(NamedTuple):
    """What a private form of a rule may use; all of it is public."""

    clip: Any  # S: the update that the message is made of has at most this norm
    noise: float  # noise multiplier of the rule's message
    clients: float  # expected number of clients that report: the fixed denominator
    floor: float = 0.5  # least distance that counts, as a share of S (attentive-loss)


class Aggregation(NamedTuple):
    """A rule: the message of one client, and the pseudo-gradient from the sum of all messages.

    Example:
        def mean():
            def message(params, update, weight):
                return jax.tree.map(lambda u: weight * u, update), weight

            def combine(params, total):
                updates, weight = total
                return jax.tree.map(lambda u: -u / weight, updates)

            return tacit.Aggregation(message, combine)
    """

    message: Callable[..., ClientMessage]  # (w_t, update w_k − w_t, weight[, steps])
    combine: Callable[[Params, ClientMessage], Params]  # (w_t, sum of messages) → pseudo-gradient
    with_steps: bool = False  # whether `message` also takes the client's number of steps
    # (w_t, clip S) → the largest norm of each part of a message whose update has at most norm S
    bounds: Callable[[Params, Any], Bounds] | None = None
    private: Callable[[Terms], Any] | None = None  # the rule with bounds, where the plain one has none

    def client_message(self, params: Params, update: Params, weight: Array, steps: Array) -> ClientMessage:
        """Returns the message of a client; `message` takes `steps` only if the rule asks for them."""
        return self.message(params, update, weight, *((steps,) if self.with_steps else ()))


class CohortRule(NamedTuple):
    """A rule that is no sum: it compares the clients' updates with one another, so it needs all of them at once.

    Refused wherever only sums leave the clients (`aggregation.aggregation`).

    Example:
        def median():
            def combine(params, updates, weights):
                return jax.tree.map(lambda u: -jnp.median(u, axis=0), updates)

            return CohortRule(combine)
    """

    combine: Callable[[Params, Params, Array], Params]
    """(w_t, updates [clients, …], weights [clients]) → pseudo-gradient. Clients are in the order of their ids."""
    least: int = 1  # clients; a round in which fewer are accepted is abandoned, and the model stays

    def stacked(self) -> Aggregation:
        """Returns the rule for messages that are stacked instead of added: a client sends (update, weight)."""
        return Aggregation(
            lambda params, update, weight: (update, weight),
            lambda params, messages: self.combine(params, *messages),
        )


class Peaked(NamedTuple):
    """Values that stand for e^peak · values, so that softmax weights never overflow."""

    peak: Array  # scalar
    values: Any  # tree of arrays


def _peaked(node: Any) -> bool:
    return isinstance(node, Peaked)


def _add_up(node: Any) -> Any:
    if not _peaked(node):
        return jnp.sum(node, axis=0)
    top = jnp.max(node.peak, axis=0)
    # all absent: every peak is −∞, and −∞ − −∞ is not a number
    share = jnp.exp(node.peak - jnp.where(jnp.isfinite(top), top, 0))  # [messages]
    # elementwise: a matrix product would round to TF32 on some accelerators
    return Peaked(
        top, jax.tree.map(lambda v: jnp.sum(v * share.reshape(-1, *[1] * (v.ndim - 1)), 0), node.values)
    )


def total(stacked: ClientMessage) -> ClientMessage:
    """Returns the sum of messages stacked along a leading axis; `Peaked` parts add like log-sum-exp."""
    return jax.tree.map(_add_up, stacked, is_leaf=_peaked)


def neutral(message: ClientMessage) -> ClientMessage:
    """Returns the message of this shape that changes nothing when it is added."""

    def zero(node: Any) -> Any:
        if _peaked(node):
            return Peaked(jnp.full_like(node.peak, -jnp.inf), jax.tree.map(jnp.zeros_like, node.values))
        return jnp.zeros_like(node)

    return jax.tree.map(zero, message, is_leaf=_peaked)


def is_plain_sum(message: ClientMessage) -> bool:
    """Returns whether a message has no `Peaked` part, as secure aggregation needs."""
    return not any(_peaked(node) for node in jax.tree.leaves(message, is_leaf=_peaked))
