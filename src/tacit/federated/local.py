"""One client in a round: it trains the global model on its own text and sends a message (Algorithm 2 of paper 1).

    g ← ∇L(w) + μ (w − w_t)              clipped to `client.clip`, if set
    z ← β z + g
    w ← w − η z                          for E epochs over batches of B sentences

Then it sends the aggregation rule's message of its update w − w_t. The optimiser's state is fresh for each client and
round. μ is FedProx's. Everything is a pure function of the global model and the client's batches in the order it visits
them, so one compiled program can train many clients, and a phone can train one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.base.settings import Schedule, number
from tacit.federated import trees
from tacit.federated.aggregation.sums import Aggregation, ClientMessage
from tacit.federated.objective import Loss
from tacit.models.base import Params


@dataclass(frozen=True)
class ClientConfig:
    """What a client does with its text: the table [client] of a configuration."""

    epochs: int = number(1, 1)
    batch: int = number(10, 0)  # sentences in a step; 0: all of a client's text in one step
    batching: Literal["words", "sentences"] = "words"  # what makes batches alike: see batching.py
    lr: float = number(1.0, 0)
    momentum: float = number(0.0, 0, 0.9999)
    clip: float = number(0.0, 0)  # norm to which a step's gradient is clipped; 0: not at all
    prox: float = number(0.0, 0)  # FedProx: mu of mu/2 |w − w_t|²
    stragglers: float = number(0.0, 0, 1)  # share of a cohort that does only part of its steps
    max_examples: int = number(0, 0)  # sentences a client uses in a round; 0: all it has
    schedule: Schedule = "constant"
    warmup: int = number(0, 0)  # rounds in which the rate rises to `lr`


class Cohort(NamedTuple):
    """The clients of a round, stacked. Padding clients have no steps and are not `present`."""

    ids: Any  # [clients] int32: who; random draws depend on it, never on the place in the cohort
    batches: Any  # tree of [clients, steps, …]: every batch, in the order it is visited
    steps: Any  # [clients] int32: how many of the steps are real
    weight: Any  # [clients] float32: the client's weight
    scale: Any  # [clients] float32: factor on its objective (1 but for transformed scheme II)
    present: Any  # [clients] bool: reports back


class Report(NamedTuple):
    """What clients report of their training beside the message; over a cohort, sums over clients."""

    loss: Array  # of the batch losses of all steps
    steps: Array
    words: Array  # predictions trained on
    clients: Array  # that reported
    norm: Array  # update norms, with the noise


class ClientState(NamedTuple):
    """A client in the middle of its training."""

    w: Params
    z: Params  # momentum; empty where there is none
    loss: Array  # sum over steps of the batch loss
    steps: Array  # made so far
    words: Array  # predictions trained on


class LocalTraining(NamedTuple):
    """Local training as a beginning and a step; the executor runs the loop over steps."""

    begin: Callable[[Params], ClientState]  # w_t → …
    step: Callable[..., ClientState]  # (w_t, progress, batch, scale of the objective, η, key) → …


def local_training(loss: Loss, client: ClientConfig) -> LocalTraining:
    """Returns the local training that a configuration describes.

    >>> import jax.numpy as jnp
    >>> bowl = lambda w, batch, key: (0.5 * jnp.sum((w - batch) ** 2), jnp.int32(1))
    >>> begin, step = local_training(bowl, ClientConfig())
    >>> w = jnp.zeros(2)
    >>> step(w, begin(w), jnp.ones(2), 1.0, 0.5, None).w.tolist()
    [0.5, 0.5]
    """

    def begin(start: Params) -> ClientState:
        z = trees.zeros_like(start) if client.momentum else ()
        return ClientState(start, z, jnp.float32(0), jnp.int32(0), jnp.int32(0))

    def step(start: Params, now: ClientState, batch: Any, scale: Array, lr: Array, key: Array) -> ClientState:
        def objective(w: Params) -> tuple[Array, tuple[Array, Array]]:
            value, count = loss(w, batch, key)
            return scale * value, (value, count)

        g, (value, count) = jax.grad(objective, has_aux=True)(now.w)
        z = now.z
        if client.prox:
            g = jax.tree.map(lambda a, x, x0: a + client.prox * (x - x0), g, now.w, start)
        if client.clip:
            g = trees.scale(jnp.minimum(1.0, client.clip / jnp.maximum(trees.norm(g), 1e-12)), g)
        if client.momentum:
            z = g = jax.tree.map(lambda a, b: client.momentum * a + b, z, g)
        w = jax.tree.map(lambda x, a: x - lr * a, now.w, g)
        return ClientState(w, z, now.loss + value, now.steps + 1, now.words + count)

    return LocalTraining(begin, step)


def client_message(rule: Aggregation, noise: float) -> Callable[..., tuple[ClientMessage, Report]]:
    """Returns the function that ends a client's round: it adds the papers' β-noise to the update and makes the rule's
    message."""

    def message(
        params: Params, trained: ClientState, weight: Array, key: Array
    ) -> tuple[ClientMessage, Report]:
        update = trees.subtract(trained.w, params)
        if noise:  # before any score or norm is computed, so that nothing is sent without noise
            drawn = trees.noise(jax.random.fold_in(key, 2**31 - 1), update)
            update = trees.add(update, trees.scale(noise, drawn))
        report = Report(trained.loss, trained.steps, trained.words, jnp.int32(1), trees.norm(update))
        return rule.client_message(params, update, weight, trained.steps), report

    return message
