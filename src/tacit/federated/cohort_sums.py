"""Sums the messages of a cohort, round by round: lay the cohort out, train it in one program, fetch the next ahead.

Training, counting words and the benchmarks all do this; they differ in the loss, the rule and who is in a cohort.
The layout is planned from the cohort of round 0, even in a resumed run, so sums are always made in the same order. The
next cohort's batches are built while the devices still train the present one.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.federated import hosts
from tacit.federated.aggregation import Aggregation
from tacit.federated.devices import apart, devices, everywhere, local_slice, memory_mb
from tacit.federated.executors import CohortTraining, Executor, choose_executor, cohort_training
from tacit.federated.lanes import Plan, lay_out, plan
from tacit.federated.local import ClientConfig, Cohort
from tacit.federated.objective import Loss
from tacit.federated.slow import slow_training
from tacit.models.base import Params


class Ready(NamedTuple):
    """A cohort that can be trained."""

    cohort: Cohort
    laid: Any  # the program's input: lanes on their way to the devices, or (slow) the cohort itself

    @property
    def reports(self) -> bool:
        """Whether any client of the cohort reports."""
        return bool(np.any(self.cohort.present))


class CohortSums(NamedTuple):
    """The program that sums a cohort's messages, and its cohorts."""

    program: CohortTraining  # (w_t, `Ready.laid`, learning rate, key) → sum of messages, report
    place: Callable[[Any], Any]  # puts the model (and the rest of the state) on the devices
    ready: Callable[[int], Ready]  # the cohort of round t
    prefetch: Callable[[int], None]  # prepares the cohort of a later round, while the devices are busy


def cohort_sums(
    loss: Loss,
    client: ClientConfig,
    rule: Aggregation,
    cohort_of: Callable[[int], Cohort],
    params: Params,
    noise: float = 0.0,
    executor: Executor = "auto",
    lanes_mb: int = 0,
) -> CohortSums:
    """Returns the sums of cohorts; `cohort_of(t)` gives the clients of round t, `params` the model's shapes."""
    executor = choose_executor(executor)
    if executor == "slow":
        if hosts.together():
            raise TacitError("training.executor = 'slow' is for one process; leave out --coordinator")
        slow = slow_training(loss, client, rule, noise)
        return CohortSums(slow, lambda tree: tree, *_one_ahead(lambda t: _as_it_is(cohort_of(t))))
    program = cohort_training(loss, client, rule, noise, executor)

    @cache
    def layout() -> Plan:
        memory = hosts.least(memory_mb(lanes_mb))  # all processes must make the same plan
        return plan(cohort_of(0), params, len(devices()), executor == "vmap", memory)

    def ready(t: int) -> Ready:
        cohort = cohort_of(t)
        return Ready(cohort, apart(lay_out(cohort, layout(), local_slice(layout().lanes)), axis=1))

    return CohortSums(program, everywhere, *_one_ahead(ready))


def _one_ahead(make: Callable[[int], Ready]) -> tuple[Callable[[int], Ready], Callable[[int], None]]:
    """Returns `make` with a cache of one, and a function that fills that cache ahead of time."""
    ahead: dict[int, Ready] = {}

    def get(t: int) -> Ready:
        return ahead.pop(t, None) or make(t)

    def prefetch(t: int) -> None:
        ahead.clear()
        ahead[t] = make(t)

    return get, prefetch


def _as_it_is(cohort: Cohort) -> Ready:
    return Ready(cohort, cohort)
