"""Sums the messages of a cohort, round by round: lay the cohort out, train it in one program, fetch the next ahead.

Training, counting words and the benchmarks all do this; they differ in the loss, the rule and who is in a cohort.
`cohort_stacks` gives every client's reply instead, for rules that are no sums.

The layout is planned from the cohort of round 0, even in a resumed run, so sums are always made in the same order. The
next cohort's batches are built while the devices still train the present one.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, NamedTuple, TypeVar

import jax
import numpy as np
from jax import Array

from tacit.base import memory
from tacit.base.errors import TacitError
from tacit.federated import hosts
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import client_optimiser
from tacit.federated.devices import apart, device_bytes, devices, everywhere, local_slice, memory_mb
from tacit.federated.executors import (
    Executor,
    Replies,
    choose_executor,
    cohort_replies,
    cohort_training,
    placed,
)
from tacit.federated.lanes import Plan, lay_out, plan
from tacit.federated.local import Broadcast, Cohort, Reply, Sending
from tacit.federated.objective import Loss
from tacit.federated.slow import slow_replies, slow_training
from tacit.models.base import Params, count_parameters

Result = TypeVar("Result")


class Ready(NamedTuple):
    """A cohort that can be trained."""

    cohort: Cohort
    laid: Any  # the program's input: lanes on their way to the devices, or (slow) the cohort itself
    certain: bool = (
        True  # whether those present do report, unless training diverges; over a network they may not
    )

    @property
    def reports(self) -> bool:
        """Whether any client of the cohort reports."""
        return bool(np.any(self.cohort.present))


class Cohorts(NamedTuple, Generic[Result]):
    """The program that trains a cohort, and its cohorts."""

    # (broadcast, `Ready.laid`, learning rate, key) → the sum of replies (`CohortSums`), or all of them
    program: Callable[[Broadcast, Any, Any, Array], Result]
    place: Callable[[Any], Any]  # puts the model (and the rest of the state) on the devices
    ready: Callable[[int], Ready]  # the cohort of round t
    prefetch: Callable[[int], None]  # prepares the cohort of a later round, while the devices are busy


CohortSums = Cohorts[Reply]
CohortStacks = Cohorts[Replies]


def cohort_sums(
    loss: Loss,
    client: ClientConfig,
    sending: Sending,
    cohort_of: Callable[[int], Cohort],
    params: Params,
    executor: Executor = "auto",
    lanes_mb: int = 0,
    most: int = 0,
) -> CohortSums:
    """Returns the sums of cohorts; `cohort_of(t)` gives the clients of round t, `params` the model's shapes.

    If cohorts are of very different size, `most` is that of the largest: smaller ones then use its program.
    """
    executor = choose_executor(executor)
    if executor == "slow":
        if hosts.together():
            raise TacitError("training.executor = 'slow' is for one process; leave out --coordinator")
        slow = slow_training(loss, client, sending)
        return Cohorts(slow, lambda tree: tree, *_one_ahead(lambda t: _as_it_is(cohort_of(t))))
    program = cohort_training(loss, client, sending, executor)
    # side by side an empty segment costs as much as a full one
    least = max(1, -(-most // len(devices()))) if executor == "map" else 1
    layout = _layout(client, cohort_of, params, executor, lanes_mb, least)

    def laid(cohort: Cohort) -> Any:
        return apart(lay_out(cohort, layout(), local_slice(layout().lanes)), axis=1)

    return Cohorts(program, everywhere, *_one_ahead(lambda t: _ready(cohort_of(t), laid)))


def cohort_stacks(
    loss: Loss,
    client: ClientConfig,
    sending: Sending,
    cohort_of: Callable[[int], Cohort],
    params: Params,
    executor: Executor = "auto",
    lanes_mb: int = 0,
) -> CohortStacks:
    """Returns the clients' replies, cohort by cohort; arguments as for `cohort_sums`. For one process."""
    executor = choose_executor(executor)
    if hosts.together():
        raise TacitError(
            "single clients' replies do not leave a process, and with --coordinator only sums are possible; leave it "
            "out, or choose a rule that is a sum, such as 'mean' or 'norm-bounded'"
        )
    if executor == "slow":
        slow = slow_replies(loss, client, sending)
        return Cohorts(slow, lambda tree: tree, *_one_ahead(lambda t: _as_it_is(cohort_of(t))))
    program = cohort_replies(loss, client, sending, executor)
    layout = _layout(client, cohort_of, params, executor, lanes_mb)

    def laid(cohort: Cohort) -> Any:
        check_stack(len(cohort.ids), params)
        stack = placed(lay_out(cohort, layout()), len(devices()))
        lanes, rows = apart((stack.lanes, stack.rows), axis=1)
        return stack._replace(lanes=lanes, rows=rows)

    return Cohorts(program, everywhere, *_one_ahead(lambda t: _ready(cohort_of(t), laid)))


def check_stack(clients: int, params: Params) -> None:
    """Refuses a cohort whose updates do not fit the memory together: stacked, in order, and once more to compare."""
    count = count_parameters(params)
    memory.check(
        3 * 4 * count * clients,
        f"the updates of {clients:,} clients, {count:,} numbers each, in three copies,",
        "lower sampling.clients or the size of the model, or choose a rule that is a sum",
        device_bytes(),
    )


def _layout(
    client: ClientConfig,
    cohort_of: Callable[[int], Cohort],
    params: Params,
    executor: Executor,
    lanes_mb: int,
    least: int = 1,
) -> Callable[[], Plan]:
    """Returns the function that plans the lanes of all rounds, when the first is asked for."""

    @cache
    def layout() -> Plan:
        room = hosts.least(memory_mb(lanes_mb))  # all processes must make the same plan
        state = jax.eval_shape(client_optimiser(dataclasses.replace(client, carry="none")).begin, params, ())
        found = plan(_somebody(cohort_of), params, len(devices()), executor == "vmap", room, state)
        return found._replace(least=least)

    return layout


def _somebody(cohort_of: Callable[[int], Cohort]) -> Cohort:
    """Returns the first cohort with somebody in it, of the first few: a Poisson sample may be empty."""
    return next((c for c in map(cohort_of, range(8)) if np.any(c.present)), cohort_of(0))


def _one_ahead(make: Callable[[int], Ready]) -> tuple[Callable[[int], Ready], Callable[[int], None]]:
    """Returns `make` with a cache of one, and a function that fills that cache ahead of time."""
    ahead: dict[int, Ready] = {}

    def get(t: int) -> Ready:
        return ahead.pop(t, None) or make(t)

    def prefetch(t: int) -> None:
        ahead.clear()
        ahead[t] = make(t)

    return get, prefetch


def _ready(cohort: Cohort, laid: Callable[[Cohort], Any]) -> Ready:
    """Lays a cohort out; where nobody is there to train, as in some Poisson samples, there is nothing to lay out."""
    return Ready(cohort, laid(cohort) if np.any(cohort.present) else None)


def _as_it_is(cohort: Cohort) -> Ready:
    return Ready(cohort, cohort)
