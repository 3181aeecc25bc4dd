"""Lays a cohort out in lanes, so that clients of very different size keep a device busy.

Clients train side by side, one in each lane; a lane that has finished a client takes the next. Time is cut into
segments of a few steps. A client begins and ends at the edge of a segment, and only there its message is computed and
added, so a small client does not take as long as a large one. There is one copy of the model for each lane, at any size
of the cohort. On a CPU a lane is a core, and a segment is a whole client.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit.federated.local import Cohort
from tacit.models.base import Params, count_parameters
from tacit.text.flat import cells
from tacit.text.packed import bucket

_OF_A_FEATURE = 256  # activations per input feature in a step of the largest image model, about


class Lanes(NamedTuple):
    """A cohort by segment and lane. Nothing is trained where `steps` is 0."""

    ids: Any  # [segments, lanes] int32: whose segment it is
    batches: Any  # tree of [segments, lanes, steps, …]
    first: Any  # [segments, lanes] int32: number of the client's steps before the segment
    steps: Any  # [segments, lanes] int32: real steps in it
    scale: Any  # [segments, lanes] float32: factor on the client's objective
    weight: Any  # [segments, lanes] float32
    ends: Any  # [segments, lanes] bool: the client is done and sends its message
    factor: Any = None  # [segments, lanes] float32: on its update, as in `Cohort`


class Plan(NamedTuple):
    """How a run's cohorts are laid out; fixed for a run, so sums are always made in the same order."""

    lanes: int
    segment: int  # steps in a segment; 0: a whole client
    least: int = (
        1  # segments of a cohort; small ones are filled up, so that they need no program of their own
    )


def plan(
    cohort: Cohort, params: Params, devices: int, side_by_side: bool, memory_mb: int, state: Any = ()
) -> Plan:
    """Returns lanes and segments for cohorts like this one.

    One after another: a lane for each device. Side by side: as many lanes as finish with the largest client (more
    would only wait for it) and as memory holds, and the segment that wastes least. `state` is a client optimiser's.
    """
    if not side_by_side:
        return Plan(devices, 0)
    steps = np.maximum(1, np.asarray(cohort.steps)[np.asarray(cohort.present)])
    if len(steps) == 0:
        return Plan(devices, 0)
    lengths = np.unique(
        [min(bucket(k), int(steps.max())) for k in (4, 6, 8, 12, 16, 24, 32, 48, 64, int(steps.max()))]
    )
    # a segment costs its steps, real or not, and about one more for the message at its end
    cost = [np.sum(-(-steps // k)) * (k + 1) for k in lengths]
    segment = int(lengths[int(np.argmin(cost))])
    segments = -(-steps // segment)
    lanes = min(
        bucket(int(-(-segments.sum() // segments.max()))),
        len(steps),
        _room(cohort, params, devices, memory_mb, state),
    )
    return Plan(-(-max(1, lanes) // devices) * devices, segment)


def _room(cohort: Cohort, params: Params, devices: int, memory_mb: int, state: Any) -> int:
    """Returns how many lanes fit the memory: models, the optimiser's state, scores with their
    gradient, and activations."""
    inputs, targets = (int(np.prod(a.shape[2:])) for a in jax.tree.leaves(cohort.batches)[:2])  # of one step
    widest = max(max(leaf.shape, default=1) for leaf in jax.tree.leaves(params))
    each = (
        6 * count_parameters(params)
        + 2 * count_parameters(state)
        + 3 * targets * widest
        + (_OF_A_FEATURE * inputs if inputs > targets else 0)
    )
    return max(1, memory_mb * 2**20 // (4 * each)) * devices


def lay_out(cohort: Cohort, plan: Plan, local: slice = slice(None)) -> Lanes:
    """Puts clients into lanes, the longest first, each into the lane that has least to do.

    Clients that drop out are not trained, because they send nothing. If several processes share a cohort, each lays
    out all of it but fills in only the batches of its own lanes (`local`).
    """
    steps = np.where(cohort.present, cohort.steps, 0)
    clients = np.flatnonzero(cohort.present)
    length = plan.segment or bucket(int(steps.max(initial=1)))
    segments = np.maximum(1, -(-steps // length))  # a client without a step still reports
    lane, begin = np.zeros(len(steps), np.int64), np.zeros(len(steps), np.int64)
    loads = [(0, k) for k in range(plan.lanes)]
    for c in clients[np.argsort(-segments[clients], kind="stable")].tolist():
        load, k = heapq.heappop(loads)
        lane[c], begin[c] = k, load
        heapq.heappush(loads, (load + int(segments[c]), k))
    total = bucket(max(plan.least, max(load for load, _ in loads)))
    who = np.zeros((total, plan.lanes), np.int64)
    nth = np.full((total, plan.lanes), -1, np.int64)  # which of its client's segments; −1: empty
    times = segments[clients]
    owner = np.repeat(clients, times)
    order = cells(np.zeros(len(times), np.int64), times)
    who[begin[owner] + order, lane[owner]], nth[begin[owner] + order, lane[owner]] = owner, order
    who, nth = who[:, local], nth[:, local]
    busy = nth >= 0
    first = np.where(busy, nth * length, 0)
    real_steps = np.where(busy, np.clip(steps[who] - first, 0, length), 0)

    def cut(a: np.ndarray) -> np.ndarray:
        within = np.minimum(first[..., None] + np.arange(length), a.shape[1] - 1)  # [segments, lanes, steps]
        return a[who[..., None], within]

    return Lanes(
        ids=np.asarray(cohort.ids)[who].astype(np.int32),
        batches=jax.tree.map(lambda a: cut(np.asarray(a)), cohort.batches),
        first=first.astype(np.int32),
        steps=real_steps.astype(np.int32),
        scale=np.asarray(cohort.scale)[who].astype(np.float32),
        weight=np.asarray(cohort.weight)[who].astype(np.float32),
        ends=busy & (nth == segments[who] - 1),
        factor=None if cohort.factor is None else np.asarray(cohort.factor)[who].astype(np.float32),
    )
