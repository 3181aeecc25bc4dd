"""Trains a whole cohort in one compiled program.

The cohort comes in lanes (`lanes`). On one device lanes go side by side (`vmap`, accelerators), or there is one lane
and its clients go one after another, each for exactly its own steps (`map`, CPU). Lanes are spread over all
devices (`devices`), also those of other processes and hosts (`hosts`). Each device sums its share, and the shares are
added in a fixed order, so a repeated run gives the same bits. Only sums leave the program: of the messages, and of the
clients' reports. A client whose reply is not acceptable (`incoming`) is counted and not added.

`cohort_replies` is the other way, for rules that are no sums and for secure sums: every client's reply leaves the
program, one below the other, in the order of the clients' ids.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated import incoming, trees
from tacit.federated.aggregation import neutral, total
from tacit.federated.client_config import ClientConfig
from tacit.federated.devices import compiled, devices
from tacit.federated.lanes import Lanes
from tacit.federated.local import (
    Broadcast,
    ClientState,
    LocalTraining,
    Reply,
    Sending,
    client_reply,
    local_training,
)
from tacit.federated.objective import Loss
from tacit.text.packed import bucket

Executor = Literal["auto", "vmap", "map", "slow"]


CohortTraining = Callable[[Broadcast, Any, Any, Array], Reply]


class Replies(NamedTuple):
    """The replies of a cohort's clients, without those that dropped out or were refused."""

    ids: np.ndarray  # [clients], ascending
    stacked: Reply  # every array [clients, …], in this order
    refused: np.ndarray  # [refused] ids, ascending


CohortReplies = Callable[[Broadcast, Any, Any, Array], Replies]


def choose_executor(executor: Executor) -> Executor:
    """Resolves `auto`: `vmap` on an accelerator, and `map` on CPU, where it is far faster."""
    return executor if executor != "auto" else "map" if jax.default_backend() == "cpu" else "vmap"


def cohort_training(
    loss: Loss,
    client: ClientConfig,
    sending: Sending,
    executor: Executor,
) -> CohortTraining:
    """Returns the compiled program: (broadcast, cohort in lanes, learning rate, round key) → sum of replies.

    The number of lanes must be a multiple of the number of devices; `map` needs one lane a device.
    """
    side_by_side = choose_executor(executor) == "vmap"
    local = local_training(loss, client)
    segment = _segment_training(local, side_by_side)
    replies = _segment_reply(client_reply(sending, client), sending)
    share = _device_share(local, segment, replies, side_by_side)
    if len(devices()) == 1:
        return compiled(share, (None, 1, None, None), None)

    def shares(sent: Broadcast, lanes: Lanes, lr: Array, key: Array) -> Reply:
        return total(jax.lax.all_gather(share(sent, lanes, lr, key), "devices"))

    return compiled(shares, (None, 1, None, None), None)


class Placed(NamedTuple):
    """A cohort in lanes, and where the reply of each client goes."""

    lanes: Lanes
    rows: Any  # [segments, lanes] int32: row of a client's reply in its device's stack; `height` where none ends
    height: int  # rows of a device's stack
    ids: np.ndarray  # [clients], ascending
    order: np.ndarray  # [clients]: the row of each in the stacks of all devices, one below the other


def placed(lanes: Lanes, devices: int) -> Placed:
    """Returns lanes, still on the host, with a row for every client that ends in them."""
    blocks = np.split(np.asarray(lanes.ends), devices, axis=1)
    counts = [int(ends.sum()) for ends in blocks]
    height = bucket(max(1, *counts))
    rows = [np.where(ends, np.cumsum(ends).reshape(ends.shape) - 1, height) for ends in blocks]
    ids = [i[ends] for i, ends in zip(np.split(np.asarray(lanes.ids), devices, axis=1), blocks, strict=True)]
    everyone = np.concatenate(ids)
    row = np.concatenate([d * height + np.arange(count) for d, count in enumerate(counts)])
    ascending = np.argsort(everyone, kind="stable")
    return Placed(
        lanes, np.concatenate(rows, axis=1).astype(np.int32), height, everyone[ascending], row[ascending]
    )


def cohort_replies(
    loss: Loss,
    client: ClientConfig,
    sending: Sending,
    executor: Executor,
) -> CohortReplies:
    """Returns the compiled program: (broadcast, `Placed` cohort, learning rate, round key) → every client's reply.

    For one process; its devices may be several.
    """
    side_by_side = choose_executor(executor) == "vmap"
    local = local_training(loss, client)
    trained = _all_lanes(_segment_training(local, side_by_side), side_by_side)
    reply_of = client_reply(sending, client)

    def lane_reply(sent: Broadcast, state: ClientState, one: Lanes, key: Array) -> tuple[Reply, Array]:
        reply = reply_of(sent, state, one.weight, jax.random.fold_in(key, one.ids), one.factor)
        return reply, incoming.acceptable(sending, reply, one.weight)

    replies = jax.vmap(lane_reply, (None, 0, 0, None)) if side_by_side else lane_reply

    @cache
    def program(height: int) -> Callable[..., tuple[Reply, Array]]:
        def stack(sent: Broadcast, lanes: Lanes, rows: Array, lr: Array, key: Array) -> tuple[Reply, Array]:
            def next_segment(carry: Any, inputs: tuple[Lanes, Array]) -> tuple[Any, None]:
                states, stacked = carry
                now, row = inputs if side_by_side else jax.tree.map(lambda a: a[0], inputs)
                states = trained(sent, states, now, lr, key)
                # without a condition around it the stack is written in place; row `height` is nowhere
                said = replies(sent, states, now, key)
                return (states, jax.tree.map(lambda a, b: a.at[row].set(b, mode="drop"), stacked, said)), None

            blank = local.begin(sent)
            one = jax.tree.map(lambda a: a[0, 0], lanes)
            shapes = jax.eval_shape(lane_reply, sent, blank, one, key)
            empty = jax.tree.map(lambda s: jnp.zeros((height, *s.shape), s.dtype), shapes)
            states = _for_each_lane(blank, lanes) if side_by_side else blank
            return jax.lax.scan(next_segment, (states, empty), (lanes, rows))[0][1]

        return compiled(stack, (None, 1, 1, None, None), 0)

    def collect(sent: Broadcast, cohort: Placed, lr: Array, key: Array) -> Replies:
        stacked, accepted = program(cohort.height)(sent, cohort.lanes, cohort.rows, lr, key)
        fine = np.asarray(accepted)[cohort.order]
        return Replies(
            cohort.ids[fine], _rows_of(stacked, cohort.order[fine]), cohort.ids[np.logical_not(fine)]
        )

    return collect


@jax.jit
def _rows_of(stacked: Reply, rows: Array) -> Reply:
    return jax.tree.map(lambda a: a[rows], stacked)


def _segment_training(local: LocalTraining, side_by_side: bool) -> Callable[..., ClientState]:
    """Returns the training of one lane in one segment: it continues a client, or begins one."""

    def segment(sent: Broadcast, state: ClientState, one: Lanes, lr: Array, key: Array) -> ClientState:
        key = jax.random.fold_in(key, one.ids)
        state = trees.where(one.first == 0, local.begin(sent), state)

        def next_step(i: Array, state: ClientState) -> ClientState:
            batch = jax.tree.map(lambda a: a[i], one.batches)
            return local.step(sent, state, batch, one.scale, lr, jax.random.fold_in(key, one.first + i))

        def masked(i: Array, state: ClientState) -> ClientState:
            return trees.where(i < one.steps, next_step(i, state), state)

        if side_by_side:  # all lanes make the same number of steps
            return jax.lax.fori_loop(0, jax.tree.leaves(one.batches)[0].shape[0], masked, state)
        return jax.lax.fori_loop(0, one.steps, next_step, state)

    return segment


def _segment_reply(reply_of: Callable[..., Reply], sending: Sending) -> Callable[..., Reply]:
    """Returns the function for a lane's reply at the end of a segment: its client's if the client ends there and the
    reply is acceptable, else a neutral one."""

    def lane_reply(sent: Broadcast, state: ClientState, one: Lanes, key: Array) -> Reply:
        reply = reply_of(sent, state, one.weight, jax.random.fold_in(key, one.ids), one.factor)
        added = one.ends & incoming.acceptable(sending, reply, one.weight)
        nothing = neutral(reply)
        refusal = nothing.report._replace(refused=one.ends.astype(jnp.int32))
        return trees.where(added, reply, nothing._replace(report=refusal))

    return lane_reply


def _all_lanes(segment: Callable[..., ClientState], side_by_side: bool) -> Callable[..., ClientState]:
    """Returns a segment's training of all lanes of a device."""
    return jax.vmap(segment, (None, 0, 0, None, None)) if side_by_side else segment


def _for_each_lane(blank: ClientState, lanes: Lanes) -> ClientState:
    """Returns a client that has not begun, in every lane."""
    width = lanes.ids.shape[1]
    return jax.tree.map(lambda a: jnp.broadcast_to(a, (width, *jnp.shape(a))), blank)


def _device_share(
    local: LocalTraining,
    segment: Callable[..., ClientState],
    lane_reply: Callable[..., Reply],
    side_by_side: bool,
) -> Callable[..., Reply]:
    """Returns the work of one device: its lanes, segment after segment, with a running sum of messages."""

    trained = _all_lanes(segment, side_by_side)

    def replies(sent: Broadcast, states: ClientState, now: Lanes, key: Array) -> Reply:
        if not side_by_side:
            return lane_reply(sent, states, now, key)
        return total(jax.vmap(lane_reply, (None, 0, 0, None))(sent, states, now, key))

    def share(sent: Broadcast, lanes: Lanes, lr: Array, key: Array) -> Reply:
        def next_segment(
            carry: tuple[ClientState, Reply], now: Lanes
        ) -> tuple[tuple[ClientState, Reply], None]:
            states, running = carry
            now = now if side_by_side else jax.tree.map(lambda a: a[0], now)
            states = trained(sent, states, now, lr, key)

            def added() -> Any:
                both = jax.tree.map(lambda a, b: jnp.stack([a, b]), running, replies(sent, states, now, key))
                return total(both)

            # a message can cost as much as a step (a spectral norm far more): only if a client ends here
            return (states, jax.lax.cond(jnp.any(now.ends), added, lambda: running)), None

        blank = local.begin(sent)
        one = jax.tree.map(lambda a: a[0, 0], lanes)
        shapes = jax.eval_shape(lane_reply, sent, blank, one, key)
        nothing = neutral(jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes))
        if side_by_side:
            blank = _for_each_lane(blank, lanes)
        return jax.lax.scan(next_segment, (blank, nothing), lanes)[0][1]

    return share
