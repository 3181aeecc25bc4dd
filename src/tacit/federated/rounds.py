"""A round of federated training, and the trainer that makes one after another.

    choose clients → their batches → local training and the sum of messages → pseudo-gradient → server step

`local` is the client's side (a step, and the message), `aggregation/` defines the message and how the server combines
the sum, and this module is the server's side. FedAtt, for example, is `local` → `aggregation/attentive` → this module.
`cohort_sums` and `executors` train a whole cohort in one program; `private_rounds` is this module for private training.

A trainer is a pair of functions, `init` and `round`. `round(state, t)` depends on the state and t only, so a run can
stop after any round and resume.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, CohortRule, chosen_rule, total
from tacit.federated.algorithm import (
    Algorithm,
    ServerState,
    Trainer,
    apply,
    client_rate,
    first_state,
    remedy,
    require_finite,
    round_key,
    rule_and_optimiser,
    server_factor,
)
from tacit.federated.client_optimisers import carried_kinds
from tacit.federated.cohort_sums import (
    CohortStacks,
    CohortSums,
    check_stack,
    cohort_stacks,
    cohort_sums,
)
from tacit.federated.compression import check, check_message, compression
from tacit.federated.compression.feedback import (
    check_alone,
    fed_back,
    no_residuals,
    without_residuals,
)
from tacit.federated.executors import Executor
from tacit.federated.local import Broadcast, Cohort, Reply, Report, Sending, carried_mean
from tacit.federated.message_sizes import bytes_of_a_client, nobody
from tacit.federated.objective import Loss
from tacit.federated.private_rounds import privacy_of, private_trainer
from tacit.federated.secured import secured
from tacit.models.base import Params


def server_step(
    rule: Aggregation, optimiser: optax.GradientTransformation
) -> Callable[..., tuple[ServerState, Array]]:
    """Returns the compiled end of a round: from the sum of replies to the next model, and whether it is finite."""

    def step(state: ServerState, reply: Reply, factor: Array) -> tuple[ServerState, Array]:
        moved = apply(optimiser, state, rule.combine(state.params, reply.message), factor)
        moved = moved._replace(carried=carried_mean(reply.carried))
        moved = trees.where(reply.report.clients > 0, moved, state)  # without a report nothing changes
        return moved, trees.finite((moved.params, moved.carried))

    return jax.jit(step)


def added_up(stacks: CohortStacks) -> CohortSums:
    """Returns cohorts whose messages are still stacked, while carried moments and reports are sums."""

    def program(sent: Broadcast, laid: Any, lr: Array, key: Array) -> Reply:
        _, stacked, refused = stacks.program(sent, laid, lr, key)
        report = total(stacked.report)._replace(refused=np.int32(len(refused)))
        return Reply(stacked.message, total(stacked.carried), report)

    return CohortSums(program, *stacks[1:])


def cohort_step(
    rule: CohortRule, optimiser: optax.GradientTransformation
) -> Callable[..., tuple[ServerState, Array]]:
    """Returns the end of a round for a rule that is no sum; with fewer clients than it needs, the model stays."""
    step = server_step(rule.stacked(), optimiser)

    def unless_few(state: ServerState, reply: Reply, factor: Array) -> tuple[ServerState, Array]:
        enough = int(reply.report.clients) >= rule.least
        return step(state, reply, factor) if enough else (state, jnp.bool_(True))

    return unless_few


class Exchange(NamedTuple):
    """How the messages of a cohort reach the server: by one program here, or from devices over a network."""

    sums: Callable[[Sending], CohortSums]
    stacks: Callable[[Sending], CohortStacks]  # every client's message, for rules that are no sums
    masked: Callable[[Sending, Reply], CohortSums]  # under masks; also takes the sum over nobody
    residuals: bool = True  # whether error feedback is done here; over a network clients do it


def federation(
    init: Callable[[Array], Params],
    loss: Loss,
    algorithm: Algorithm,
    cohort_of: Callable[[int], Cohort],
    seed: int,
    rounds: int,
    executor: Executor = "auto",
    lanes_mb: int = 0,
    population: int = 0,
) -> Trainer:
    """Returns federated training as a trainer; `cohort_of(t)` gives the clients of round t with their batches.

    A private federation needs to know its `population`.
    """
    shapes = jax.eval_shape(init, jax.random.key(0))
    options = (cohort_of, shapes, executor, lanes_mb)

    def stacks(sending: Sending) -> CohortStacks:
        return cohort_stacks(loss, algorithm.client, sending, *options)

    here = Exchange(
        lambda sending: cohort_sums(loss, algorithm.client, sending, *options),
        stacks,
        lambda sending, silence: secured(stacks(sending), sending, silence),
    )
    return rounds_of(init, algorithm, here, seed, rounds, population)


def rounds_of(
    init: Callable[[Array], Params],
    algorithm: Algorithm,
    exchange: Exchange,
    seed: int,
    rounds: int,
    population: int = 0,
) -> Trainer:
    """Returns the server's side of federated training, wherever its clients are."""
    shapes = jax.eval_shape(init, jax.random.key(0))
    rule, optimiser = rule_and_optimiser(algorithm, shapes)
    client, server, config = algorithm.client, algorithm.server, algorithm.aggregation
    private = privacy_of(algorithm, rule, shapes, population, rounds)
    form = compression(algorithm.compression, carried_kinds(client, shapes), private is not None)
    check(algorithm.compression, config, algorithm.privacy)
    feedback = algorithm.compression.form == "top-k" and exchange.residuals
    if isinstance(rule, CohortRule):
        check_message(algorithm.compression, config.rule, rule, ())
        sending = Sending(rule.stacked(), config.noise, max_norm=config.max_norm)
        sums = without_residuals(added_up(exchange.stacks(sending)))
        finish = cohort_step(rule, optimiser)
    else:
        sending = Sending(rule, config.noise, private, config.max_norm)
        silence = nobody(client, sending, shapes)
        check_message(algorithm.compression, config.rule, rule, silence.message)
        if feedback:
            check_alone()
        stacks = exchange.stacks(sending) if feedback else None
        sending = sending._replace(compression=form)
        if private:
            secure = private.config.secure
            hidden = exchange.masked(sending, silence) if secure else exchange.sums(sending)
            return private_trainer(
                init, algorithm, private, rule, optimiser, silence, hidden, seed, rounds, population
            )
        sums = fed_back(stacks, form) if stacks and form else without_residuals(exchange.sums(sending))
        finish = server_step(rule, optimiser)

    of_one = bytes_of_a_client(algorithm, shapes)

    def start(key: Array) -> ServerState:
        begun = first_state(init, optimiser, client, key)
        return begun._replace(residuals=no_residuals(silence.message, population)) if feedback else begun

    def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, float]]:
        lr, factor = client_rate(client, t, rounds), server_factor(server, t, rounds)
        ready = sums.ready(t)
        asked = len(ready.cohort.ids)
        if not ready.reports:
            return state, facts_of(None, asked, lr)
        residuals = state.residuals
        state = sums.place(state._replace(residuals=()))
        sent = Broadcast(state.params, state.carried)
        reply, residuals = sums.program(sent, ready.laid, np.float32(lr), round_key(seed, t), residuals)
        honest = ready.certain and is_honest(ready.cohort)
        del ready  # frees the devices' memory after training
        state, finite = finish(state, reply, np.float32(factor))
        if t + 1 < rounds:
            sums.prefetch(t + 1)
        facts = facts_of(reply.report, asked, lr)
        facts |= travelled(facts, asked, of_one)
        good = bool(finite) and np.isfinite(facts["loss"])
        # if all were refused: that is expected of attackers and of a network, and of nobody else
        require_finite(t, good if facts["clients"] else not honest, remedy(algorithm))
        return state._replace(residuals=residuals), facts

    return Trainer(start, round_)


def check_cohort(algorithm: Algorithm, clients: int, params: Params) -> None:
    """Refuses a cohort that a rule which is no sum cannot take: too few clients, or more than fit the memory."""
    rule = chosen_rule(algorithm.aggregation, algorithm.sampling.scheme)
    if not isinstance(rule, CohortRule):
        return
    check_stack(clients, params)
    if clients < rule.least:
        raise TacitError(
            f"aggregation.rule = '{algorithm.aggregation.rule}' needs at least {rule.least} clients a round with its "
            f"settings, and there are {clients}; raise sampling.clients or lower aggregation.attackers"
        )


def is_honest(cohort: Cohort) -> bool:
    """Returns whether a client of the cohort reports a finite update, if its training does not diverge."""
    factor = 1.0 if cohort.factor is None else np.asarray(cohort.factor)
    return bool(np.any(np.asarray(cohort.present) & np.isfinite(factor)))


def travelled(facts: Mapping[str, float], asked: int, of_one: Mapping[str, int]) -> dict[str, float]:
    """Returns the bytes of a round: all who were asked get the model, and who is refused has sent an update, too."""
    answered = facts["clients"] + facts.get("refused", 0) + facts.get("stale", 0)
    return {"bytes_up": answered * of_one["up"], "bytes_down": asked * of_one["down"]}


def facts_of(report: Report | None, asked: int, lr: float) -> dict[str, float]:
    """Returns the round's line of metrics; without a report, no sampled client reported."""
    clients, steps = (int(report.clients), int(report.steps)) if report else (0, 0)
    refused = int(report.refused) if report else 0
    return {
        "loss": float(report.loss) / max(1, steps) if report and clients else float("nan"),
        "clients": clients,
        "dropped": asked - clients - refused,
        **({"refused": refused} if refused else {}),  # incoming.py says why
        "steps": steps,
        "words": int(report.words) if report else 0,
        "update_norm": float(report.norm) / max(1, clients) if report else 0.0,
        "lr": lr,
    }
