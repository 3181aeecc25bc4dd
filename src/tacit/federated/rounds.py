"""A round of federated training, and the trainer that makes one after another.

    choose clients → their batches → local training and the sum of messages → pseudo-gradient → server step

`local` is the client's side (a step, and the message), `aggregation/` defines the message and how the server combines
the sum, and this module is the server's side. FedAtt, for example, is `local` → `aggregation/attentive` → this module.
`cohort_sums` and `executors` train a whole cohort in one program.

A trainer is a pair of functions, `init` and `round`. `round(state, t)` depends on the state and t only, so a run can
stop after any round and resume.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tacit.base.errors import Diverged
from tacit.federated import plugin_checks, trees
from tacit.federated.aggregation import Aggregation, AggregationConfig, ClientMessage, aggregation
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.executors import Executor
from tacit.federated.local import ClientConfig, Cohort, Report
from tacit.federated.objective import Loss
from tacit.federated.sampling import SamplingConfig
from tacit.federated.schedules import rate
from tacit.federated.server import ServerConfig, server_optimiser
from tacit.models.base import Params


class Trainer(NamedTuple):
    """Anything that learns in rounds."""

    init: Callable[[Array], Any]  # key → state; state.params is the model
    round: Callable[[Any, int], tuple[Any, dict[str, float]]]  # (state, t = 0, 1, …) → state, facts


class Algorithm(NamedTuple):
    """The three choices that make an algorithm, and who takes part."""

    client: ClientConfig
    aggregation: AggregationConfig
    server: ServerConfig
    sampling: SamplingConfig


class ServerState(NamedTuple):
    """What the server keeps between rounds."""

    params: Params
    optimiser: Any


def apply(
    optimiser: optax.GradientTransformation, state: ServerState, pseudo_gradient: Params, factor: Array
) -> ServerState:
    """Takes one server step along −g; `factor` is the schedule's factor on the rate."""
    step, kept = optimiser.update(pseudo_gradient, state.optimiser, state.params)
    params = jax.tree.map(lambda w, s: w + factor * s, state.params, step)
    return ServerState(params, kept)


def server_step(
    rule: Aggregation, optimiser: optax.GradientTransformation
) -> Callable[..., tuple[ServerState, Array]]:
    """Returns the compiled end of a round: from the sum of messages to the next model, and whether it is finite."""

    def step(
        state: ServerState, message: ClientMessage, report: Report, factor: Array
    ) -> tuple[ServerState, Array]:
        moved = apply(optimiser, state, rule.combine(state.params, message), factor)
        moved = trees.where(report.clients > 0, moved, state)  # without a report nothing changes
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
    """Returns federated training as a trainer; `cohort_of(t)` gives the clients of round t with their batches."""
    shapes = jax.eval_shape(init, jax.random.key(0))
    rule, optimiser = _rule_and_optimiser(algorithm, shapes)
    client, server, noise = algorithm.client, algorithm.server, algorithm.aggregation.noise
    sums = cohort_sums(loss, client, rule, cohort_of, shapes, noise, executor, lanes_mb)
    finish = server_step(rule, optimiser)

    def start(key: Array) -> ServerState:
        params = init(key)
        return ServerState(params, jax.tree.map(jnp.asarray, optimiser.init(params)))

    def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, float]]:
        lr = client.lr * rate(client.schedule, client.warmup, t, rounds)
        factor = rate(server.schedule, server.warmup, t, rounds)
        ready = sums.ready(t)
        asked = len(ready.cohort.ids)
        if not ready.reports:
            return state, _facts(None, asked, lr)
        state = sums.place(state)
        message, report = sums.program(state.params, ready.laid, np.float32(lr), round_key(seed, t))
        del ready  # frees the devices' memory after training
        state, finite = finish(state, message, report, np.float32(factor))
        if t + 1 < rounds:
            sums.prefetch(t + 1)
        facts = _facts(report, asked, lr)
        require_finite(t, bool(finite) and np.isfinite(facts["loss"]), _remedy(algorithm))
        return state, facts

    return Trainer(start, round_)


def _rule_and_optimiser(
    algorithm: Algorithm, params: Params
) -> tuple[Aggregation, optax.GradientTransformation]:
    """Returns the rule and the server optimiser of an algorithm, both checked on the shapes of the model."""
    rule = aggregation(algorithm.aggregation, algorithm.sampling.scheme)
    optimiser = server_optimiser(algorithm.server)
    plugin_checks.check_rule(algorithm.aggregation.rule, rule, params)
    plugin_checks.check_optimiser(algorithm.server.optimiser, optimiser, params)
    return rule, optimiser


def round_key(seed: int, t: int) -> Array:
    """Returns the random key of round t."""
    return jax.random.fold_in(jax.random.key(seed), t)


def _facts(report: Report | None, asked: int, lr: float) -> dict[str, float]:
    """Returns the round's line of metrics; without a report, no sampled client reported."""
    clients, steps = (int(report.clients), int(report.steps)) if report else (0, 0)
    return {
        "loss": float(report.loss) / max(1, steps) if report else float("nan"),
        "clients": clients,
        "dropped": asked - clients,
        "steps": steps,
        "words": int(report.words) if report else 0,
        "update_norm": float(report.norm) / max(1, clients) if report else 0.0,
        "lr": lr,
    }


def _remedy(algorithm: Algorithm) -> str:
    noise = algorithm.aggregation.noise
    return (
        f"lower client.lr ({algorithm.client.lr:g}) or server.lr ({algorithm.server.lr:g})"
        + (f" or aggregation.noise ({noise:g})" if noise else "")
        + ", or set client.clip=1"
    )


def require_finite(t: int, finite: bool, remedy: str) -> None:
    """Raises `Diverged`, with a remedy, if the result of round t is not finite."""
    if not finite:
        kept = "; the last good checkpoint is kept" if t else ""
        raise Diverged(f"round {t + 1}: training gave numbers that are not finite; {remedy}{kept}")
