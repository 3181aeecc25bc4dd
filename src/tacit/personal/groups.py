"""Many people through one person's work: groups that fit a device, spread over all local devices.

Side by side (`vmap`) on an accelerator, where everybody of a group waits for the longest, so people of like length go
together; one after another (`map`) on CPU. All groups of a program have the same shape, so it compiles once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.devices import apart, compiled, devices, everywhere, memory_mb
from tacit.federated.executors import Executor, choose_executor
from tacit.models.base import LanguageModel, Params, count_parameters
from tacit.text.packed import Rows

_ON_CPU = 8  # people a device takes in one call, one after another
_SIDE_BY_SIDE = 128  # people a device takes at once: more fill it no better, and all wait for the longest


class Batches(NamedTuple):
    """Everybody's batches, in the order they are visited."""

    rows: Rows  # [users, steps, rows, time]
    steps: Any  # [users] int32, how many are real


class Exam(NamedTuple):
    """Text to be measured on, and which of its words the global model had right."""

    batches: Batches
    right: Any  # [users, steps, rows, time] bool


class Group(NamedTuple):
    """People who go through the program together."""

    ids: Any  # [users] int32
    lessons: Batches
    exams: tuple[Exam, ...]
    memory: Any  # tree of [users, …] that the reading needs; () for the plain one


# (global model, group, learning rates [users]) → tree of [users, …]
Program = Callable[[Params, Group, Any], Any]


class Steps(NamedTuple):
    """How far the loops go: as far as the longest of those who go side by side."""

    lessons: Array
    exams: tuple[Array, ...]


def for_everybody(person: Callable[[Params, Group, Array, Steps], Any], side_by_side: bool) -> Program:
    """One person's work, compiled for a group spread over the local devices."""

    def steps(group: Group) -> Steps:
        return Steps(group.lessons.steps, tuple(exam.batches.steps for exam in group.exams))

    def share(params: Params, group: Group, lr: Array) -> Any:
        if not side_by_side:
            return jax.lax.map(lambda at: person(params, at[0], at[1], steps(at[0])), (group, lr))
        longest = jax.tree.map(jnp.max, steps(group))
        return jax.vmap(lambda one, rate: person(params, one, rate, longest))(group, lr)

    return compiled(share, (None, 0, 0), 0)


def exam_cells() -> int:
    """Cells of a batch that is measured; a CPU gains nothing by large ones, and half-empty ones cost it more."""
    return 256 if jax.default_backend() == "cpu" else 512


def together(model: LanguageModel, params: Params, readings: int = 1, executor: Executor = "auto") -> int:
    """How many people go through the program in one call: on an accelerator as memory holds."""
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
    watch: Callable[[int], None] = lambda done: None,
) -> list[Any]:
    """Everybody through the program, once for each array of learning rates [users]; trees of numpy [users, …].

    People of like length go together. All groups have the same shape, so that the program compiles once.
    """
    users = len(everybody.ids)
    count = len(devices())
    size = -(-min(size, users) // count) * count
    work = everybody.lessons.steps.astype(np.int64) + sum(e.batches.steps for e in everybody.exams)
    order = np.argsort(-work, kind="stable")
    found: list[list[Any]] = [[] for _ in rates]
    params = everywhere(params)
    for first in range(0, users, size):
        who = order[first : first + size]
        # dealt like cards, so that devices have about as much to do; the last group is filled up with nobody
        dealt = np.concatenate([who, np.full(size - len(who), -1)]).reshape(-1, count).T.ravel()
        group = jax.tree.map(lambda a, d=dealt: a[d], everybody)
        nobody = dealt < 0
        group.lessons.steps[nobody] = 0
        for exam in group.exams:
            exam.batches.steps[nobody] = 0
        placed = apart(group, axis=0)
        for one, lr in zip(found, rates, strict=True):
            one.append((dealt, program(params, placed, apart(lr[dealt].astype(np.float32), axis=0))))
        for one in found:
            one[-1] = one[-1][0], jax.tree.map(np.asarray, one[-1][1])
            watch(len(who))
    return [_in_order(parts, users) for parts in found]


def _in_order(parts: list[tuple[np.ndarray, Any]], users: int) -> Any:
    """What groups gave, put back to where everybody stands."""
    dealt = np.concatenate([d for d, _ in parts])
    place = np.empty(users, np.int64)
    place[dealt[dealt >= 0]] = np.flatnonzero(dealt >= 0)
    return jax.tree.map(lambda *leaves: np.concatenate(leaves)[place], *(tree for _, tree in parts))
