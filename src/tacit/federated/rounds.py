"""A round of federated training, and the trainer that makes one after another.

    choose clients → their batches → local training and the sum of messages → pseudo-gradient → server step

A trainer is a pair of functions, `init` and `round`; `round(state, t)` depends on the state and t only, so
a run can stop after any round and go on. The next cohort's batches are put together while the devices
still train the present one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tacit.base.errors import Diverged, TacitError
from tacit.federated import hosts, plugin_checks, trees
from tacit.federated.aggregation import Aggregation, AggregationConfig, Message, aggregation
from tacit.federated.batching import Grid, balanced_work, grid, order_of_work
from tacit.federated.devices import apart, devices, everywhere, mine
from tacit.federated.executors import CohortTraining, Executor, Report, choose_executor, cohort_training
from tacit.federated.lanes import Plan, lay_out, memory_mb, plan
from tacit.federated.local import ClientConfig, Cohort
from tacit.federated.objective import Loss
from tacit.federated.sampling import SamplingConfig, choose, cohort_size
from tacit.federated.schedules import rate
from tacit.federated.server import ServerConfig, ServerState, apply, server_optimiser
from tacit.federated.slow import slow_training
from tacit.models.base import Params
from tacit.text.packed import ClientText, Packed, batch_rows, bucket

_MEASURED = 64  # clients whose sentences are measured to set the rows of a batch


class Trainer(NamedTuple):
    """Anything that learns in rounds."""

    init: Callable[[Array], Any]  # key → state; state.params is the model
    round: Callable[[Any, int], tuple[Any, dict[str, float]]]  # (state, t = 0, 1, …) → state, what happened


class Algorithm(NamedTuple):
    """The three choices, and who takes part."""

    client: ClientConfig
    aggregation: AggregationConfig
    server: ServerConfig
    sampling: SamplingConfig


def text_cohort(
    clients: ClientText, algorithm: Algorithm, seed: int, t: int, shape: Grid | None = None
) -> Cohort:
    """The clients of round t with their batches, on the host; with a grid, batches of like numbers of words."""
    most = algorithm.client.max_examples
    held = np.minimum(clients.sizes, most) if most else clients.sizes  # n_k: what a client trains on
    chosen = choose(algorithm.sampling, held, seed, t, algorithm.aggregation.uniform)
    text = clients.gather(chosen.ids)
    if shape:
        schedule, steps = balanced_work(text, chosen.ids, algorithm.client, seed, t, shape)
    else:
        schedule, steps = order_of_work(text.sizes, chosen.ids, algorithm.client, seed, t)
    longest = bucket(schedule.shape[1])  # few shapes: compiled programs are used again
    padded = np.full((len(steps), longest, schedule.shape[2]), -1, np.int64)
    padded[:, : schedule.shape[1]] = schedule
    sentences = np.where(padded >= 0, padded + text.owners[:-1, None, None], -1)
    rows, _ = batch_rows(text, sentences, *((shape.time, shape.rows) if shape else ()))
    return Cohort(chosen.ids.astype(np.int32), rows, steps, chosen.weight, chosen.scale, chosen.present)


def text_grid(clients: ClientText, client: ClientConfig) -> Grid | None:
    """The rows of every batch of a run, from some of its clients and the longest sequence there can be."""
    if client.batching == "sentences" or client.batch == 0:
        return None
    some = clients.gather(np.arange(min(len(clients), _MEASURED)))
    batch = client.batch
    if isinstance(clients, Packed):
        # more than the largest client has would only be empty rows; its words may be long
        batch = min(batch, 2 * int(clients.sizes.max(initial=1)))
    return grid(some.lengths, batch, clients.longest)


def server_step(
    rule: Aggregation, optimiser: optax.GradientTransformation
) -> Callable[..., tuple[ServerState, Array]]:
    """The compiled end of a round: from the sum of messages to the next model, and whether it is finite."""

    def step(
        state: ServerState, message: Message, report: Report, factor: Array
    ) -> tuple[ServerState, Array]:
        moved = apply(optimiser, state, rule.combine(state.params, message), factor)
        moved = trees.where(report.clients > 0, moved, state)  # nobody reported: nothing changes
        return moved, trees.finite(moved.params)

    return jax.jit(step)


def federation(
    init: Callable[[Array], Params],
    loss: Loss,
    algorithm: Algorithm,
    cohort_of: Callable[[int], Cohort],
    seed: int,
    rounds: int,
    executor: Executor = "auto",
    lanes_mb: int = 0,
) -> Trainer:
    """Federated training as a trainer. `cohort_of(t)` gives the clients of round t with their batches."""
    client, server = algorithm.client, algorithm.server
    rule = aggregation(algorithm.aggregation, algorithm.sampling.scheme)
    optimiser = server_optimiser(server)
    shapes = jax.eval_shape(init, jax.random.key(0))
    plugin_checks.check_rule(algorithm.aggregation.rule, rule, shapes)
    plugin_checks.check_optimiser(server.optimiser, optimiser, shapes)
    noise, executor = algorithm.aggregation.noise, choose_executor(executor)
    train: CohortTraining
    if executor == "slow":
        if hosts.together():
            raise TacitError("training.executor = 'slow' is for one process; leave out --coordinator")
        train = slow_training(loss, client, rule, noise)
    else:
        train = cohort_training(loss, client, rule, noise, executor)
    finish = server_step(rule, optimiser)
    ahead: dict[int, Any] = {}

    @cache
    def layout() -> Plan:
        """From the first cohort, whichever round is asked for first: a resumed run lays out the same."""
        memory = hosts.least(memory_mb(lanes_mb))  # all processes must come to the same plan
        return plan(cohort_of(0), shapes, len(devices()), executor == "vmap", memory)

    def ready(t: int) -> tuple[Cohort, Any]:
        """A cohort and its lanes, on their way to the devices."""
        cohort = cohort_of(t)
        if executor == "slow":
            return cohort, cohort
        return cohort, apart(lay_out(cohort, layout(), mine(layout().lanes)), axis=1)

    def start(key: Array) -> ServerState:
        params = init(key)
        return ServerState(params, jax.tree.map(jnp.asarray, optimiser.init(params)))

    def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, float]]:
        cohort, laid = ahead.pop(t, None) or ready(t)
        key = jax.random.fold_in(jax.random.key(seed), t)
        lr = client.lr * rate(client.schedule, client.warmup, t, rounds)
        if not np.any(cohort.present):
            nothing = {"loss": float("nan"), "clients": 0, "dropped": len(cohort.ids)}
            return state, nothing | {"steps": 0, "words": 0, "update_norm": 0.0, "lr": lr}
        if executor != "slow":
            state = everywhere(state)
        message, report = train(state.params, laid, np.float32(lr), key)
        del laid  # the devices drop it when they have trained
        factor = rate(server.schedule, server.warmup, t, rounds)
        state, finite = finish(state, message, report, np.float32(factor))
        if t + 1 < rounds:
            ahead.clear()
            ahead[t + 1] = ready(t + 1)  # while the devices are busy
        facts = _facts(report, cohort, lr)
        if not (bool(finite) and np.isfinite(facts["loss"])):
            raise Diverged(
                f"round {t + 1}: training gave numbers that are not finite; lower client.lr ({client.lr:g}) or "
                f"server.lr ({server.lr:g})"
                + (f" or aggregation.noise ({noise:g})" if noise else "")
                + ", or set client.clip=1"
                + ("; the last good checkpoint is kept" if t else "")
            )
        return state, facts

    return Trainer(start, round_)


def _facts(report: Report, cohort: Cohort, lr: float) -> dict[str, float]:
    clients, steps = int(report.clients), int(report.steps)
    return {
        "loss": float(report.loss) / max(1, steps),
        "clients": clients,
        "dropped": len(cohort.ids) - clients,
        "steps": steps,
        "words": int(report.words),
        "update_norm": float(report.norm) / max(1, clients),
        "lr": lr,
    }


def text_federation(
    init: Callable[[Array], Params],
    loss: Loss,
    algorithm: Algorithm,
    clients: ClientText,
    seed: int,
    rounds: int,
    executor: Executor = "auto",
    lanes_mb: int = 0,
) -> Trainer:
    """Federated training of a language model on clients' text."""
    cohort_size(algorithm.sampling, len(clients))  # refuse a cohort larger than the population at once
    shape = text_grid(clients, algorithm.client)
    return federation(
        init,
        loss,
        algorithm,
        lambda t: text_cohort(clients, algorithm, seed, t, shape),
        seed,
        rounds,
        executor,
        lanes_mb,
    )
