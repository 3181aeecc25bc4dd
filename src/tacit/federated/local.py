"""One client in a round: it trains the global model on its own text and sends a message (Algorithm 2 of paper 1).

    g ← s ∇L(w) + μ (w − w_t)            clipped to s · `client.clip`, if set
    u ← the optimiser's step along g     (`client_optimisers`; plain SGD: u = g)
    w ← w − η (u + λ w)                  for E epochs over batches of B sentences

Then it sends the aggregation rule's message of its update w − w_t, and the moments of the optimiser that travel. All
else of the optimiser's state is fresh for each client and round. μ is FedProx's, λ the weight decay, and s the factor
on a client's objective, 1 but for transformed scheme II; clipping to s times the norm leaves its effect as it is.
Everything is a pure function of what the server sent and the client's batches in the order it visits them, so one
compiled program can train many clients, and a phone can train one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated import trees
from tacit.federated.aggregation.sums import Aggregation, ClientMessage
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import ClientOptimiser, client_optimiser
from tacit.federated.compression import Compression
from tacit.federated.objective import Loss
from tacit.federated.private import Private, client_parts
from tacit.models.base import Params


class Cohort(NamedTuple):
    """The clients of a round, stacked. Padding clients have no steps and are not `present`."""

    ids: Any  # [clients] int32: who; random draws depend on it, never on the place in the cohort
    batches: Any  # tree of [clients, steps, …]: every batch, in the order it is visited
    steps: Any  # [clients] int32: how many of the steps are real
    weight: Any  # [clients] float32: the client's weight
    scale: Any  # [clients] float32: factor on its objective (1 but for transformed scheme II)
    present: Any  # [clients] bool: reports back
    factor: Any = (
        None  # [clients] float32: what an attacker multiplies its update by (`attacks`); None: nobody attacks
    )


class Broadcast(NamedTuple):
    """What the server sends to a client."""

    params: Params  # w_t
    carried: Any = ()  # the optimiser's moments that travel: a list of arrays
    clip: Any = ()  # norm to which a private client clips its update


class Report(NamedTuple):
    """What clients report of their training beside the message; over a cohort, sums over clients."""

    loss: Array  # of the batch losses of all steps
    steps: Array
    words: Array  # predictions trained on
    clients: Array  # that reported
    norm: Array  # update norms, with the noise
    refused: Array  # clients whose reply is not acceptable (`incoming`); nothing else of them is counted


class Reply(NamedTuple):
    """What a client sends back. Over a cohort: sums over clients, added by `aggregation.total`."""

    message: ClientMessage  # of the aggregation rule; of a private client, `private.Parts`
    carried: Any  # (moments times weight, weight); () where nothing travels
    report: Report


class ClientState(NamedTuple):
    """A client in the middle of its training."""

    w: Params
    optimiser: Any
    loss: Array  # sum over steps of the batch loss
    steps: Array  # made so far
    words: Array  # predictions trained on


class LocalTraining(NamedTuple):
    """Local training as a beginning and a step; the executor runs the loop over steps."""

    begin: Callable[[Broadcast], ClientState]
    step: Callable[..., ClientState]  # (broadcast, progress, batch, scale of the objective, η, key) → …


def local_training(loss: Loss, client: ClientConfig) -> LocalTraining:
    """Returns the local training that a configuration describes.

    >>> import jax.numpy as jnp
    >>> bowl = lambda w, batch, key: (0.5 * jnp.sum((w - batch) ** 2), jnp.int32(1))
    >>> begin, step = local_training(bowl, ClientConfig())
    >>> sent = Broadcast(jnp.zeros(2))
    >>> step(sent, begin(sent), jnp.ones(2), 1.0, 0.5, None).w.tolist()
    [0.5, 0.5]
    """
    optimiser = client_optimiser(client)

    def begin(sent: Broadcast) -> ClientState:
        state = optimiser.begin(sent.params, sent.carried)
        return ClientState(sent.params, state, jnp.float32(0), jnp.int32(0), jnp.int32(0))

    def step(
        sent: Broadcast, now: ClientState, batch: Any, scale: Array, lr: Array, key: Array
    ) -> ClientState:
        def objective(w: Params) -> tuple[Array, tuple[Array, Array]]:
            value, count = loss(w, batch, key)
            return scale * value, (value, count)

        g, (value, count) = jax.grad(objective, has_aux=True)(now.w)
        if client.prox:
            g = jax.tree.map(lambda a, x, x0: a + client.prox * (x - x0), g, now.w, sent.params)
        if client.clip:
            g = trees.scale(jnp.minimum(1.0, scale * client.clip / jnp.maximum(trees.norm(g), 1e-12)), g)
        u, state = optimiser.update(g, now.optimiser, now.w)
        if client.decay:
            u = jax.tree.map(lambda a, x: a + client.decay * x, u, now.w)
        w = jax.tree.map(lambda x, a: x - lr * a, now.w, u)
        return ClientState(w, state, now.loss + value, now.steps + 1, now.words + count)

    return LocalTraining(begin, step)


class Sending(NamedTuple):
    """What clients send at the end of a round, and which of them are refused."""

    rule: Aggregation
    noise: float = 0.0  # β of the papers
    private: Private | None = None  # clipping and the parts of a private message
    max_norm: float = 0.0  # a client with a longer update is refused; 0: no limit
    compression: Compression | None = None  # of all that is sent

    def as_read(self, key: Array, reply: Reply) -> Reply:
        """Returns a client's reply as the server reads it; `key` is the client's of the round."""
        if not self.compression:
            return reply
        message, carried = self.compression.through(key, (reply.message, reply.carried))
        return Reply(message, carried, reply.report)


def client_reply(sending: Sending, client: ClientConfig) -> Callable[..., Reply]:
    """Returns the function that ends a client's round: (broadcast, state, weight, key[, factor]) → what it sends.

    The papers' β-noise is added to the update before any score or norm is computed, so that nothing is sent without it.
    A private client clips its update before anything else, and sends zeros if it is not finite. Its report is not
    private and is not for publication.
    """
    rule, noise, private = sending[:3]
    optimiser = client_optimiser(client)

    def reply(
        sent: Broadcast, trained: ClientState, weight: Array, key: Array, factor: Array | None = None
    ) -> Reply:
        update = trees.subtract(trained.w, sent.params)
        if factor is not None:
            update = trees.scale(factor, update)
        if noise:
            drawn = trees.noise(jax.random.fold_in(key, 2**31 - 1), update)
            update = trees.add(update, trees.scale(noise, drawn))
        report = Report(
            trained.loss, trained.steps, trained.words, jnp.int32(1), trees.norm(update), jnp.int32(0)
        )
        if private:
            moments = (sent.carried, optimiser.sends(trained.optimiser))
            parts = client_parts(
                rule, private, sent.params, sent.clip, update, weight, trained.steps, moments
            )
            report = jax.tree.map(lambda x: jnp.where(jnp.isfinite(x), x, 0), report)
            return sending.as_read(key, Reply(parts, (), report))
        message = rule.client_message(sent.params, update, weight, trained.steps)
        moments = carried_message(optimiser, trained.optimiser, weight)
        return sending.as_read(key, Reply(message, moments, report))

    return reply


def carried_message(optimiser: ClientOptimiser, state: Any, weight: Array) -> Any:
    """Returns what a client says of its moments: (weight times each, weight), or () where nothing travels."""
    moments = optimiser.sends(state)
    return ([weight * moment for moment in moments], weight) if moments else ()


def carried_mean(total: Any) -> Any:
    """Returns the moments that the server keeps, from the sum of what clients said."""
    if not total:
        return ()
    moments, weight = total
    return [moment / jnp.maximum(weight, 1e-12) for moment in moments]
