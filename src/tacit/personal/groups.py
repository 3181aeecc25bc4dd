"""Runs one person's program for many people, in groups that fit a device, spread over all local devices.

On an accelerator a group runs side by side (`vmap`) and everybody waits for the longest, so people with a similar
amount of text go together. On a CPU people run one after another (`map`). All groups of a program have the same shape,
so it compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base.progress import Progress, no_progress
from tacit.federated.devices import apart, compiled, devices, everywhere, memory_mb
from tacit.federated.executors import Executor, choose_executor
from tacit.models.base import LanguageModel, Params, count_parameters
from tacit.text.packed import Rows

_ON_CPU = 8  # people a device takes in one call, one after another
_SIDE_BY_SIDE = 128  # people a device takes at once: more do not fill it better, and all wait for the longest


class Batches(NamedTuple):
    """Holds everybody's batches, in the order of training."""

    rows: Rows  # [users, steps, rows, time]
    steps: Any  # [users] int32, how many are real


class Exam(NamedTuple):
    """Holds text to measure on, and which of its words the global model had right."""

    batches: Batches
    right: Any  # [users, steps, rows, time] bool


class Group(NamedTuple):
    """Holds people who run through the program together."""

    ids: Any  # [users] int32
    tuning_batches: Batches
    exams: tuple[Exam, ...]
    memory: Any  # tree of [users, …] that the reading needs; () for the plain one


# (global model, group, learning rates [users]) → tree of [users, …]
Program = Callable[[Params, Group, Any], Any]


class Steps(NamedTuple):
    """Holds the numbers of steps of the loops: those of the longest person in a parallel group."""

    tuning_batches: Array
    exams: tuple[Array, ...]


def for_everybody(person: Callable[[Params, Group, Array, Steps], Any], side_by_side: bool) -> Program:
    """Compiles one person's program for a group that is spread over the local devices."""

    def steps(group: Group) -> Steps:
        return Steps(group.tuning_batches.steps, tuple(exam.batches.steps for exam in group.exams))

    def share(params: Params, group: Group, lr: Array) -> Any:
        if not side_by_side:
            return jax.lax.map(lambda at: person(params, at[0], at[1], steps(at[0])), (group, lr))
        longest = jax.tree.map(jnp.max, steps(group))
        return jax.vmap(lambda one, rate: person(params, one, rate, longest))(group, lr)

    return compiled(share, (None, 0, 0), 0)


def exam_cells() -> int:
    """Returns the cells of an evaluation batch; a CPU gains nothing from large ones and wastes time on empty cells."""
    return 256 if jax.default_backend() == "cpu" else 512


def together(model: LanguageModel, params: Params, readings: int = 1, executor: Executor = "auto") -> int:
    """Returns how many people run in one call: on an accelerator, as many as memory holds."""
    if choose_executor(executor) != "vmap":
        return _ON_CPU * len(devices())
    words = model.output(params)[0].shape[0]
    each = 4 * (6 * count_parameters(params) + (3 + 2 * readings) * exam_cells() * words)
    return min(_SIDE_BY_SIDE, max(1, memory_mb(0) * 2**20 // each)) * len(devices())


def in_groups(
    program: Program,
    params: Params,
    everybody: Group,
    rates: Sequence[np.ndarray],
    size: int,
    progress: Progress = no_progress,
) -> list[Any]:
    """Runs everybody, once for each array of learning rates [users]; returns trees of numpy [users, …].

    People with a similar amount of text go together. All groups have the same shape, so that the program compiles once.
    """
    users = len(everybody.ids)
    count = len(devices())
    size = -(-min(size, users) // count) * count
    work = everybody.tuning_batches.steps.astype(np.int64) + sum(e.batches.steps for e in everybody.exams)
    order = np.argsort(-work, kind="stable")
    by_rate: list[list[Any]] = [[] for _ in rates]
    params, done = everywhere(params), 0
    for first in range(0, users, size):
        who = order[first : first + size]
        # dealt like cards, so that devices have equal work; the last group is padded with empty people
        dealt = np.concatenate([who, np.full(size - len(who), -1)]).reshape(-1, count).T.ravel()
        group = jax.tree.map(lambda a, d=dealt: a[d], everybody)
        nobody = dealt < 0
        group.tuning_batches.steps[nobody] = 0
        for exam in group.exams:
            exam.batches.steps[nobody] = 0
        placed = apart(group, axis=0)
        for one, lr in zip(by_rate, rates, strict=True):
            one.append((dealt, program(params, placed, apart(lr[dealt].astype(np.float32), axis=0))))
        for one in by_rate:
            one[-1] = one[-1][0], jax.tree.map(np.asarray, one[-1][1])
            done += len(who)
            progress("tuning", done / (users * len(rates)))
    return [_in_order(parts, users) for parts in by_rate]


def _in_order(parts: list[tuple[np.ndarray, Any]], users: int) -> Any:
    """Returns the results of all groups in the order of the people."""
    dealt = np.concatenate([d for d, _ in parts])
    place = np.empty(users, np.int64)
    place[dealt[dealt >= 0]] = np.flatnonzero(dealt >= 0)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[place], *(tree for _, tree in parts))
