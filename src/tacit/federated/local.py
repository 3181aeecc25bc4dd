"""Local training: what one client does with its own text in a round (Algorithm 2 of paper 1).

    z ← β z + ∇L(w) + μ (w − w_t)        clipped to a norm where asked
    w ← w − η z                          for E epochs over batches of B sentences

The optimiser's state is fresh for each client and round. μ is FedProx's. Everything is a pure function
of the global model and the client's batches in the order it visits them, so one compiled program can
carry out many clients, and a phone exactly one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated import trees
from tacit.federated.objective import Loss
from tacit.models.base import Params
from tacit.settings import Schedule, number


@dataclass(frozen=True)
class ClientConfig:
    """What a client does with its text: the table [client] of a configuration."""

    epochs: int = number(1, 1)
    batch: int = number(10, 0)  # sentences in a step; 0: all of a client's text in one step
    batching: Literal["words", "sentences"] = (
        "words"  # what makes batches alike: see tacit.federated.batching
    )
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

    ids: Any  # [clients] int32: who; randomness is addressed by it, never by the place in the cohort
    batches: Any  # tree of [clients, steps, …]: every batch, in the order it is visited
    steps: Any  # [clients] int32: how many of the steps are real
    weight: Any  # [clients] float32: what the client weighs
    scale: Any  # [clients] float32: factor on its objective (1 but for transformed scheme II)
    present: Any  # [clients] bool: reports back


class Update(NamedTuple):
    """What a client sends, before aggregation makes its message."""

    delta: Params  # w − w_t
    loss: Array  # sum over steps of the batch loss
    steps: Array  # how many steps were made
    words: Array  # how many predictions were trained on


LocalTraining = Callable[..., Update]


def local_training(loss: Loss, client: ClientConfig, dynamic: bool) -> LocalTraining:
    """The local training of one client as a pure function of (w_t, client's slice of a cohort, η, key).

    `dynamic`: loop just as long as this client has steps (one client after another); otherwise loop over
    all steps with the finished ones masked, which is what a program that trains clients side by side needs.
    """

    def train(start: Params, one: Cohort, lr: Array, key: Array) -> Update:
        def objective(w: Params, batch: Any, key: Array) -> tuple[Array, tuple[Array, Array]]:
            value, count = loss(w, batch, key)
            return one.scale * value, (value, count)

        gradient = jax.grad(objective, has_aux=True)

        def step(i: Array, state: tuple[Params, Params, Array, Array]) -> tuple[Params, Params, Array, Array]:
            w, z, total, words = state
            batch = jax.tree.map(lambda a: a[i], one.batches)
            g, (value, count) = gradient(w, batch, jax.random.fold_in(key, i))
            if client.prox:
                g = jax.tree.map(lambda a, x, x0: a + client.prox * (x - x0), g, w, start)
            if client.clip:
                g = trees.scale(jnp.minimum(1.0, client.clip / jnp.maximum(trees.norm(g), 1e-12)), g)
            if client.momentum:
                z = g = jax.tree.map(lambda a, b: client.momentum * a + b, z, g)
            moved = jax.tree.map(lambda x, a: x - lr * a, w, g)
            return moved, z, total + value, words + count

        def masked(
            i: Array, state: tuple[Params, Params, Array, Array]
        ) -> tuple[Params, Params, Array, Array]:
            return trees.where(i < one.steps, step(i, state), state)

        z = trees.zeros_like(start) if client.momentum else ()
        longest = jax.tree.leaves(one.batches)[0].shape[0]
        state = (start, z, jnp.float32(0), jnp.int32(0))
        if dynamic:
            w, _, total, words = jax.lax.fori_loop(0, one.steps, step, state)
        else:
            w, _, total, words = jax.lax.fori_loop(0, longest, masked, state)
        return Update(trees.subtract(w, start), total, one.steps, words)

    return train
