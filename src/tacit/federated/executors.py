"""Train a whole cohort in one compiled program.

The cohort comes in lanes (`lanes`). Inside a device lanes go side by side (`vmap`, accelerators), or there is
one lane and its clients go one after another, each looping just as long as it has steps (`map`, CPU). Lanes are
spread over all devices (`devices`), those of other processes and hosts too (`hosts`). Each device sums its share,
and the shares are added in a fixed order, so that a repeated run gives the same bits. Only sums leave the program:
that of the messages, and that of what clients report of their training.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.sharding import PartitionSpec

from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, Message, neutral, total
from tacit.federated.devices import devices, mesh
from tacit.federated.lanes import Lanes
from tacit.federated.local import ClientConfig, Progress, local_training
from tacit.federated.objective import Loss
from tacit.models.base import Params

Executor = Literal["auto", "vmap", "map", "slow"]


class Report(NamedTuple):
    """What a cohort's training looked like, as sums over clients."""

    loss: Array  # of the batch losses of all steps
    steps: Array
    words: Array  # predictions trained on
    clients: Array  # that reported
    norm: Array  # of the norms of their updates, as they were sent


CohortTraining = Callable[[Params, Any, Any, Array], tuple[Message, Report]]


def choose_executor(executor: Executor) -> Executor:
    """`auto` is `vmap` on an accelerator and `map` on CPU, where it is the faster by far."""
    return executor if executor != "auto" else "map" if jax.default_backend() == "cpu" else "vmap"


def client_message(rule: Aggregation, noise: float) -> Callable[..., tuple[Message, Report]]:
    """What a client says when it has trained: the papers' β-noise on its update, then the rule's message."""

    def say(params: Params, trained: Progress, weight: Array, key: Array) -> tuple[Message, Report]:
        update = trees.subtract(trained.w, params)
        if noise:  # before any score or norm is computed: of the update the server sees nothing else
            drawn = trees.noise(jax.random.fold_in(key, 2**31 - 1), update)
            update = trees.add(update, trees.scale(noise, drawn))
        report = Report(trained.loss, trained.steps, trained.words, jnp.int32(1), trees.norm(update))
        return rule.say(params, update, weight, trained.steps), report

    return say


def cohort_training(
    loss: Loss, client: ClientConfig, rule: Aggregation, noise: float, executor: Executor
) -> CohortTraining:
    """The compiled program: (w_t, cohort in lanes, learning rate, round key) to the sum of messages and a report.

    The number of lanes must be a multiple of the number of devices; `map` wants one lane a device.
    """
    side_by_side = choose_executor(executor) == "vmap"
    begin, step = local_training(loss, client)
    say = client_message(rule, noise)

    def segment(params: Params, state: Progress, one: Lanes, lr: Array, key: Array) -> Progress:
        """One lane, one segment: go on with a client, or begin one."""
        key = jax.random.fold_in(key, one.ids)
        state = trees.where(one.first == 0, begin(params), state)

        def next_step(i: Array, state: Progress) -> Progress:
            batch = jax.tree.map(lambda a: a[i], one.batches)
            return step(params, state, batch, one.scale, lr, jax.random.fold_in(key, one.first + i))

        def masked(i: Array, state: Progress) -> Progress:
            return trees.where(i < one.steps, next_step(i, state), state)

        if side_by_side:  # all lanes make the same number of steps
            return jax.lax.fori_loop(0, jax.tree.leaves(one.batches)[0].shape[0], masked, state)
        return jax.lax.fori_loop(0, one.steps, next_step, state)

    def said_by(params: Params, state: Progress, one: Lanes, key: Array) -> Any:
        """What a lane says at the end of a segment: its client's message, if the client ends there."""
        said = say(params, state, one.weight, jax.random.fold_in(key, one.ids))
        return trees.where(one.ends, said, neutral(said))

    def share(params: Params, lanes: Lanes, lr: Array, key: Array) -> tuple[Message, Report]:
        """The lanes of one device, segment after segment, with a running sum of what is said."""

        def go_on(carry: tuple[Progress, Any], now: Lanes) -> tuple[tuple[Progress, Any], None]:
            states, running = carry
            if side_by_side:
                states = jax.vmap(segment, (None, 0, 0, None, None))(params, states, now, lr, key)
            else:
                now = jax.tree.map(lambda a: a[0], now)
                states = segment(params, states, now, lr, key)

            def listen() -> Any:
                if side_by_side:
                    said = total(jax.vmap(said_by, (None, 0, 0, None))(params, states, now, key))
                else:
                    said = said_by(params, states, now, key)
                return total(jax.tree.map(lambda a, b: jnp.stack([a, b]), running, said))

            # a message can cost as much as a step (a spectral norm far more): only where somebody ends
            return (states, jax.lax.cond(jnp.any(now.ends), listen, lambda: running)), None

        blank = begin(params)
        one = jax.tree.map(lambda a: a[0, 0], lanes)
        shapes = jax.eval_shape(said_by, params, blank, one, key)
        nothing = neutral(jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), shapes))
        if side_by_side:
            width = lanes.ids.shape[1]
            blank = jax.tree.map(lambda a: jnp.broadcast_to(a, (width, *jnp.shape(a))), blank)
        return jax.lax.scan(go_on, (blank, nothing), lanes)[0][1]

    if len(devices()) == 1:
        return jax.jit(share)

    def shares(params: Params, lanes: Lanes, lr: Array, key: Array) -> tuple[Message, Report]:
        return total(jax.lax.all_gather(share(params, lanes, lr, key), "devices"))

    whole, split = PartitionSpec(), PartitionSpec(None, "devices")
    over_devices = jax.shard_map(
        shares,
        mesh=mesh(),
        in_specs=(whole, split, whole, whole),
        out_specs=whole,
        check_vma=False,
    )
    return jax.jit(over_devices)
