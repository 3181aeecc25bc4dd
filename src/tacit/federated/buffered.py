"""FedBuff: asynchronous rounds with a buffer of updates (Nguyen et al. 2022, Algorithm 1).

    w ← w + η_g · Σ_k a_k Δ_k / √(1 + s_k) / Σ_k a_k     after K updates

Δ_k is the update of a client that began s_k steps ago, a_k its weight; with `aggregation.uniform` the denominator is
the paper's K. Any server optimiser takes the step. A carried moment of staleness s counts 1/√(1 + s) in its mean.

In the simulator the clients of a step that began with the same version train together as one cohort, with the
programs of synchronous rounds. The state keeps the older models that clients still train from: at most
`buffer.max_staleness` of them, and no more than clients that train at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base import memory
from tacit.base.errors import TacitError
from tacit.federated import hosts, trees
from tacit.federated.aggregation import aggregation
from tacit.federated.algorithm import (
    Algorithm,
    ServerState,
    Trainer,
    client_rate,
    first_state,
    remedy,
    require_finite,
    round_key,
    rule_and_optimiser,
    server_factor,
)
from tacit.federated.arrivals import BufferConfig, Step, arrivals, at_once, buffer_size
from tacit.federated.batching import used_examples
from tacit.federated.client_optimisers import first_moments
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.devices import device_bytes
from tacit.federated.executors import Executor
from tacit.federated.local import Broadcast, Cohort, Reply, Sending
from tacit.federated.message_sizes import bytes_of_a_client
from tacit.federated.objective import Loss
from tacit.federated.rounds import facts_of, is_honest, server_step, travelled
from tacit.federated.sampling import Chosen
from tacit.federated.text_cohorts import cohort_with_batches, text_grid
from tacit.models.base import Params, count_parameters
from tacit.text.packed import ClientText


class Version(NamedTuple):
    """What a client is given."""

    params: Params
    carried: Any


class BufferedState(NamedTuple):
    """What the server keeps between steps."""

    params: Params
    optimiser: Any
    carried: Any
    old: tuple[Version, ...]  # versions that clients still train from, oldest first, then blanks


def weight_of(staleness: int) -> float:
    """Returns the weight of an update that is this many steps old.

    >>> [weight_of(s) for s in (0, 3, 8)]
    [1.0, 0.5, 0.3333333333333333]
    """
    return 1 / math.sqrt(1 + staleness)


def aged(reply: Reply, weight: Any) -> Reply:
    """Returns a reply, or a sum of equally old ones, with this weight; what it reports of its training stays.

    The update's own weight stays, too: it belongs to the denominator. A moment's does not.
    """
    update, own = reply.message
    return reply._replace(
        message=(jax.tree.map(lambda x: weight * x, update), own),
        carried=jax.tree.map(lambda x: weight * x, reply.carried),
    )


_aged = jax.jit(aged)
_plus = jax.jit(lambda total, reply, weight: trees.add(total, aged(reply, weight)))


def buffered(
    init: Callable[[Array], Params],
    loss: Loss,
    algorithm: Algorithm,
    buffer: BufferConfig,
    cohort_of: Callable[[np.ndarray, int], Cohort],
    population: int,
    seed: int,
    rounds: int,
    executor: Executor = "auto",
    lanes_mb: int = 0,
) -> Trainer:
    """Returns asynchronous training as a trainer, whose rounds are the server's steps.

    `cohort_of(ids, v)` gives these clients with their batches of version v; nobody may be in them.
    """
    if hosts.together():
        raise TacitError("buffer.size is for one process: leave out --coordinator, or set buffer.size = 0")
    shapes = jax.eval_shape(init, jax.random.key(0))
    _, optimiser = rule_and_optimiser(algorithm, shapes)
    rule = aggregation(algorithm.aggregation, where="in a buffer")
    client, server, config = algorithm.client, algorithm.server, algorithm.aggregation
    places = min(buffer.max_staleness, at_once(buffer, algorithm.sampling, population))
    check_versions(places, shapes)
    events, made = arrivals(buffer, algorithm.sampling, population, seed), list[Step]()

    def step(t: int) -> Step:
        while len(made) <= t:
            made.append(next(events))
        return made[t]

    # cohorts have one number, as rounds do
    def number_of(t: int, version: int) -> int:
        return t * (buffer.max_staleness + 1) + t - version

    def cohort(number: int) -> Cohort:
        t, staleness = divmod(number, buffer.max_staleness + 1)
        return cohort_of(np.sort(step(t).ids[step(t).versions == t - staleness]), t - staleness)

    sending = Sending(rule, config.noise, max_norm=config.max_norm)
    size = buffer_size(buffer, population)
    sums = cohort_sums(loss, client, sending, cohort, shapes, executor, lanes_mb, size)
    finish = server_step(rule, optimiser)
    of_one = bytes_of_a_client(algorithm, shapes)

    @cache
    def blank() -> Version:
        params = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), shapes)
        return Version(params, jax.tree.map(jnp.zeros_like, first_moments(client, params)))

    def start(key: Array) -> BufferedState:
        begun = first_state(init, optimiser, client, key)
        return BufferedState(begun.params, begun.optimiser, begun.carried, (blank(),) * places)

    def round_(state: BufferedState, t: int) -> tuple[BufferedState, dict[str, float]]:
        now = step(t)
        state = sums.place(state)
        known = dict(zip(step(t - 1).kept if t else (), state.old, strict=False))  # blanks follow
        known[t] = Version(state.params, state.carried)
        versions = np.unique(now.versions).tolist()
        total, certain = None, True
        for i, v in enumerate(versions):
            ready = sums.ready(number_of(t, v))
            certain = certain and ready.certain and is_honest(ready.cohort)
            lr = np.float32(client_rate(client, v, rounds))
            reply = sums.program(Broadcast(*known[v]), ready.laid, lr, round_key(seed, v))
            del ready  # frees the devices' memory after training
            weight = np.float32(weight_of(t - v))
            total = _aged(reply, weight) if total is None else _plus(total, reply, weight)
            if i + 1 < len(versions):
                sums.prefetch(number_of(t, versions[i + 1]))
        factor = np.float32(server_factor(server, t, rounds))
        before = ServerState(state.params, state.optimiser, state.carried)
        assert total is not None
        after, finite = finish(before, total, factor)
        if t + 1 < rounds:
            sums.prefetch(number_of(t + 1, int(step(t + 1).versions.min())))
        facts = facts_of(total.report, len(now.ids), client_rate(client, t, rounds))
        facts |= {"staleness": float(np.mean(t - now.versions)), "stale": now.stale, "clock": now.clock}
        facts |= travelled(facts, len(now.ids) + now.stale, of_one)
        good = bool(finite) and np.isfinite(facts["loss"])
        require_finite(t, good if facts["clients"] else not certain, remedy(algorithm))
        old = [known[v] for v in now.kept]
        old += [blank()] * (places - len(old))
        return BufferedState(after.params, after.optimiser, after.carried, tuple(old)), facts

    return Trainer(start, round_)


def text_buffered(
    init: Callable[[Array], Params],
    loss: Loss,
    algorithm: Algorithm,
    buffer: BufferConfig,
    clients: ClientText,
    seed: int,
    rounds: int,
    executor: Executor = "auto",
    lanes_mb: int = 0,
    attack: Callable[[Cohort], Cohort] = lambda cohort: cohort,
) -> Trainer:
    """Returns asynchronous training of a language model on clients' text; `attack` is of `attacks`."""
    shape = text_grid(clients, algorithm.client)

    def cohort_of(ids: np.ndarray, version: int) -> Cohort:
        ones = np.ones(len(ids), np.float32)
        weight = used_examples(clients.sizes[ids], algorithm.client).astype(np.float32)
        chosen = Chosen(ids, weight, ones, np.ones(len(ids), bool))
        return attack(cohort_with_batches(clients, algorithm, chosen, seed, version, shape))

    return buffered(init, loss, algorithm, buffer, cohort_of, len(clients), seed, rounds, executor, lanes_mb)


def check_versions(versions: int, params: Params) -> None:
    """Refuses to keep more models than fit the memory."""
    count = count_parameters(params)
    memory.check(
        4 * count * versions,
        f"{versions} older models of {count:,} parameters, which clients may still train from,",
        "lower buffer.max_staleness, buffer.concurrency or the size of the model",
        device_bytes(),
    )
