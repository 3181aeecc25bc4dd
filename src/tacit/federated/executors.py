"""Trains a whole cohort in one compiled program.

The cohort comes in lanes (`lanes`). On one device lanes go side by side (`vmap`, accelerators), or there is one lane
and its clients go one after another, each for exactly its own steps (`map`, CPU). Lanes are spread over all
devices (`devices`), also those of other processes and hosts (`hosts`). Each device sums its share, and the shares are
added in a fixed order, so a repeated run gives the same bits. Only sums leave the program: of the messages, and of the
clients' reports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax import Array

from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, ClientMessage, neutral, total
from tacit.federated.devices import compiled, devices
from tacit.federated.lanes import Lanes
from tacit.federated.local import (
    ClientConfig,
    ClientState,
    LocalTraining,
    Report,
    client_message,
    local_training,
)
from tacit.federated.objective import Loss
from tacit.models.base import Params

Executor = Literal["auto", "vmap", "map", "slow"]


CohortTraining = Callable[[Params, Any, Any, Array], tuple[ClientMessage, Report]]


def choose_executor(executor: Executor) -> Executor:
    """Resolves `auto`: `vmap` on an accelerator, and `map` on CPU, where it is far faster."""
    return executor if executor != "auto" else "map" if jax.default_backend() == "cpu" else "vmap"


def cohort_training(
    loss: Loss, client: ClientConfig, rule: Aggregation, noise: float, executor: Executor
) -> CohortTraining:
    """Returns the compiled program: (w_t, cohort in lanes, learning rate, round key) → sum of messages, report.

    The number of lanes must be a multiple of the number of devices; `map` needs one lane a device.
    """
    side_by_side = choose_executor(executor) == "vmap"
    local = local_training(loss, client)
    segment = _segment_training(local, side_by_side)
    share = _device_share(local, segment, _segment_message(rule, noise), side_by_side)
    if len(devices()) == 1:
        return compiled(share, (None, 1, None, None), None)

    def shares(params: Params, lanes: Lanes, lr: Array, key: Array) -> tuple[ClientMessage, Report]:
        return total(jax.lax.all_gather(share(params, lanes, lr, key), "devices"))

    return compiled(shares, (None, 1, None, None), None)


def _segment_training(local: LocalTraining, side_by_side: bool) -> Callable[..., ClientState]:
    """Returns the training of one lane in one segment: it continues a client, or begins one."""

    def segment(params: Params, state: ClientState, one: Lanes, lr: Array, key: Array) -> ClientState:
        key = jax.random.fold_in(key, one.ids)
        state = trees.where(one.first == 0, local.begin(params), state)

        def next_step(i: Array, state: ClientState) -> ClientState:
            batch = jax.tree.map(lambda a: a[i], one.batches)
            return local.step(params, state, batch, one.scale, lr, jax.random.fold_in(key, one.first + i))

        def masked(i: Array, state: ClientState) -> ClientState:
            return trees.where(i < one.steps, next_step(i, state), state)

        if side_by_side:  # all lanes make the same number of steps
            return jax.lax.fori_loop(0, jax.tree.leaves(one.batches)[0].shape[0], masked, state)
        return jax.lax.fori_loop(0, one.steps, next_step, state)

    return segment


def _segment_message(rule: Aggregation, noise: float) -> Callable[..., Any]:
    """Returns the function for a lane's message at the end of a segment: its client's if the client ends there, else a
    neutral one."""
    message_of = client_message(rule, noise)

    def lane_message(params: Params, state: ClientState, one: Lanes, key: Array) -> Any:
        message = message_of(params, state, one.weight, jax.random.fold_in(key, one.ids))
        return trees.where(one.ends, message, neutral(message))

    return lane_message


def _device_share(
    local: LocalTraining,
    segment: Callable[..., ClientState],
    lane_message: Callable[..., Any],
    side_by_side: bool,
) -> Callable[..., tuple[ClientMessage, Report]]:
    """Returns the work of one device: its lanes, segment after segment, with a running sum of messages."""

    def trained(params: Params, states: ClientState, now: Lanes, lr: Array, key: Array) -> ClientState:
        run = jax.vmap(segment, (None, 0, 0, None, None)) if side_by_side else segment
        return run(params, states, now, lr, key)

    def messages(params: Params, states: ClientState, now: Lanes, key: Array) -> Any:
        if not side_by_side:
            return lane_message(params, states, now, key)
        return total(jax.vmap(lane_message, (None, 0, 0, None))(params, states, now, key))

    def share(params: Params, lanes: Lanes, lr: Array, key: Array) -> tuple[ClientMessage, Report]:
        def next_segment(carry: tuple[ClientState, Any], now: Lanes) -> tuple[tuple[ClientState, Any], None]:
            states, running = carry
            now = now if side_by_side else jax.tree.map(lambda a: a[0], now)
            states = trained(params, states, now, lr, key)

            def added() -> Any:
                both = jax.tree.map(
                    lambda a, b: jnp.stack([a, b]), running, messages(params, states, now, key)
                )
                return total(both)

            # a message can cost as much as a step (a spectral norm far more): only if a client ends here
            return (states, jax.lax.cond(jnp.any(now.ends), added, lambda: running)), None

        blank = local.begin(params)
        one = jax.tree.map(lambda a: a[0, 0], lanes)
        shapes = jax.eval_shape(lane_message, params, blank, one, key)
        nothing = neutral(jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes))
        if side_by_side:
            width = lanes.ids.shape[1]
            blank = jax.tree.map(lambda a: jnp.broadcast_to(a, (width, *jnp.shape(a))), blank)
        return jax.lax.scan(next_segment, (blank, nothing), lanes)[0][1]

    return share
