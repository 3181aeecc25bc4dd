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
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated import trees
from tacit.federated.objective import Loss
from tacit.models.base import Params
from tacit.randomness import stream, uniform
from tacit.settings import Schedule, number

_SHUFFLE, _STRAGGLE = stream("local shuffle"), stream("stragglers")


@dataclass(frozen=True)
class ClientConfig:
    """What a client does with its text: the table [client] of a configuration."""

    epochs: int = number(1, 1)
    batch: int = number(10, 0)  # sentences in a step; 0: all of a client's text in one step
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
    rate: Any  # [clients] float32: factor on its learning rate (1 but for transformed scheme II)
    present: Any  # [clients] bool: reports back


def order_of_work(
    sizes: np.ndarray, ids: np.ndarray, client: ClientConfig, seed: int, round_: int
) -> tuple[np.ndarray, np.ndarray]:
    """The batches each client visits: schedule [clients, steps, batch] int64 and steps [clients] int32.

    An entry is the number of one of the client's own examples, −1 where a batch is short. Every epoch is
    a fresh shuffle; with `max_examples` a round uses that many, drawn anew each round. The draw depends
    on the seed, the round and the client's own number only, so that a client on its own device does what
    the simulator did. FedProx's stragglers stop after a random share of their steps.
    """
    sizes, ids = np.asarray(sizes, np.int64), np.asarray(ids, np.int64)
    used = np.minimum(sizes, client.max_examples) if client.max_examples else sizes  # [clients]
    batch = client.batch or max(1, int(used.max(initial=1)))
    per_epoch = -(-used // batch)  # [clients] steps of an epoch
    column = np.arange(int(sizes.max(initial=1)))
    schedule = np.full((len(ids), client.epochs * int(per_epoch.max(initial=1)), batch), -1, np.int64)

    def shuffled(epoch: int, among: np.ndarray) -> np.ndarray:
        draws = uniform(seed, _SHUFFLE, round_, epoch, ids[:, None], column[None])  # [clients, widest]
        return np.argsort(np.where(among, draws, 2.0), axis=1, kind="stable")  # the others sort last

    mine = column[None] < sizes[:, None]
    if client.max_examples:  # the round's own examples, before they are shuffled within
        rank = np.argsort(shuffled(client.epochs, mine), axis=1)
        mine &= rank < used[:, None]
    real = column[None] < used[:, None]
    who = np.broadcast_to(np.arange(len(ids))[:, None], real.shape)
    place = np.broadcast_to(column % batch, real.shape)
    for epoch in range(client.epochs):
        step = epoch * per_epoch[:, None] + column[None] // batch
        schedule[who[real], step[real], place[real]] = shuffled(epoch, mine)[real]
    steps = client.epochs * per_epoch
    if client.stragglers:
        straggles = uniform(seed, _STRAGGLE, round_, 0, ids) < client.stragglers
        share = uniform(seed, _STRAGGLE, round_, 1, ids)
        steps = np.where(straggles, np.ceil(share * steps), steps)
    return schedule, steps.astype(np.int32)


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
    gradient = jax.value_and_grad(loss, has_aux=True)

    def train(start: Params, one: Cohort, lr: Array, key: Array) -> Update:
        lr = lr * one.rate

        def step(i: Array, state: tuple[Params, Params, Array, Array]) -> tuple[Params, Params, Array, Array]:
            w, z, total, words = state
            batch = jax.tree.map(lambda a: a[i], one.batches)
            (value, count), g = gradient(w, batch, jax.random.fold_in(key, i))
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
