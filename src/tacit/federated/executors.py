"""Train a whole cohort in one compiled program.

Two ways inside a device: `map`, one client after another, each looping just as long as it has steps,
adding its message to a running sum (CPU); and `vmap`, all clients of a chunk side by side (accelerators).
Outside, the cohort is spread over all devices, each sums its share, and the shares are added in a fixed
order, so that a run repeated is a run repeated bit by bit. Only the sum of messages leaves the program.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, Message, neutral, total
from tacit.federated.local import ClientConfig, Cohort, local_training
from tacit.federated.objective import Loss
from tacit.models.base import Params
from tacit.text.packed import bucket

Executor = Literal["auto", "vmap", "map", "slow"]


class Report(NamedTuple):
    """What a cohort's training looked like, as sums over clients."""

    loss: Array  # of the batch losses of all steps
    steps: Array
    words: Array  # predictions trained on
    clients: Array  # that reported
    norm: Array  # of the norms of their updates


CohortTraining = Callable[[Params, Cohort, Array, Array], tuple[Message, Report]]


def choose_executor(executor: Executor) -> Executor:
    """`auto` is `vmap` on an accelerator and `map` on CPU, where it is the faster by far."""
    return executor if executor != "auto" else "map" if jax.default_backend() == "cpu" else "vmap"


def client_message(
    loss: Loss, client: ClientConfig, rule: Aggregation, noise: float, dynamic: bool
) -> Callable[[Params, Cohort, Array, Array], tuple[Message, Report]]:
    """One client's whole part of a round: train, add the papers' β-noise to what is sent, say the message."""
    train = local_training(loss, client, dynamic)

    def say(params: Params, one: Cohort, lr: Array, key: Array) -> tuple[Message, Report]:
        key = jax.random.fold_in(key, one.ids)
        update = train(params, one, lr, key)
        delta = update.delta
        if noise:  # before any score is computed: the server sees nothing else
            drawn = trees.noise(jax.random.fold_in(key, 2**31 - 1), delta)
            delta = trees.add(delta, trees.scale(noise, drawn))
        message = rule.message(params, delta, one.weight)
        report = Report(update.loss, update.steps, update.words, jnp.int32(1), trees.norm(update.delta))
        return trees.where(one.present, (message, report), (neutral(message), neutral(report)))

    return say


def cohort_training(
    loss: Loss, client: ClientConfig, rule: Aggregation, noise: float, executor: Executor
) -> CohortTraining:
    """The compiled program: (w_t, cohort, learning rate, round key) to the sum of messages and a report.

    The cohort's clients must be a multiple of the number of local devices (`spread` sees to it).
    """
    side_by_side = choose_executor(executor) == "vmap"
    say = client_message(loss, client, rule, noise, dynamic=not side_by_side)

    def share(params: Params, cohort: Cohort, lr: Array, key: Array) -> tuple[Message, Report]:
        """The clients of one device."""
        if side_by_side:
            return total(jax.vmap(say, (None, 0, None, None))(params, cohort, lr, key))

        def add(running: tuple[Message, Report], one: Cohort) -> tuple[tuple[Message, Report], None]:
            both = jax.tree.map(lambda a, b: jnp.stack([a, b]), running, say(params, one, lr, key))
            return total(both), None

        first = jax.tree.map(lambda a: a[0], cohort)
        blank = jax.eval_shape(say, params, first, lr, key)
        start = neutral(jax.tree.map(lambda s: jnp.zeros(s.shape, s.dtype), blank))
        return jax.lax.scan(add, start, cohort)[0]

    devices = jax.local_devices()
    if len(devices) == 1:
        return jax.jit(share)

    def shares(params: Params, cohort: Cohort, lr: Array, key: Array) -> tuple[Message, Report]:
        mine = share(params, cohort, lr, key)
        return total(jax.lax.all_gather(mine, "clients"))

    whole, split = PartitionSpec(), PartitionSpec("clients")
    spread_out = jax.shard_map(
        shares,
        mesh=_mesh(),
        in_specs=(whole, split, whole, whole),
        out_specs=whole,
        check_vma=False,
    )
    return jax.jit(spread_out)


def _mesh() -> Mesh:
    return Mesh(np.array(jax.local_devices()), ("clients",))


def everywhere(tree: Any) -> Any:
    """The same arrays on every local device, where a round leaves them, lest the first round be a case of
    its own that compiles the program once more."""
    if len(jax.local_devices()) == 1:
        return tree
    return jax.device_put(tree, NamedSharding(_mesh(), PartitionSpec()))


def spread(cohort: Cohort, devices: int) -> Cohort:
    """The same cohort with clients dealt to devices by work, and padded to a multiple of their number.

    Clients are sorted by steps and dealt like cards, so that no device waits long for another.
    """
    clients = len(cohort.ids)
    each = -(-clients // devices)
    ranked = np.argsort(-np.asarray(cohort.steps), kind="stable")
    ranked = np.concatenate([ranked, np.full(each * devices - clients, -1)])
    dealt = ranked.reshape(each, devices).copy()
    dealt[1::2] = dealt[1::2, ::-1]  # there and back again
    order = dealt.T.ravel()
    picked = jax.tree.map(lambda a: np.asarray(a)[order], cohort)
    missing = order < 0
    return picked._replace(
        steps=np.where(missing, 0, picked.steps).astype(np.int32), present=picked.present & ~missing
    )


def chunks(cohort: Cohort, params: Params, budget_mb: int, executor: Executor) -> list[Cohort]:
    """Cut a cohort so that the clients trained side by side fit the memory budget.

    One after another (`map`) needs no cut. Clients of like work share a chunk, so that few wait masked.
    """
    clients = len(cohort.ids)
    if choose_executor(executor) != "vmap":
        return [cohort]
    copies = 5 * 4 * trees.size(params)  # weights, gradient, momentum, update, message, in float32
    per_client = copies + sum(np.asarray(a[0]).nbytes for a in jax.tree.leaves(cohort.batches))
    room = budget_mb * 2**20 * len(jax.local_devices())
    size = max(len(jax.local_devices()), int(room // per_client))
    if size >= clients:
        return [cohort]
    ranked = np.argsort(-np.asarray(cohort.steps), kind="stable")
    cut = []
    for part in np.array_split(ranked, -(-clients // size)):
        chunk = jax.tree.map(lambda a, part=part: np.asarray(a)[part], cohort)
        longest = bucket(int(chunk.steps.max(initial=1)))  # nobody of this chunk needs the others' steps
        cut.append(chunk._replace(batches=jax.tree.map(lambda a, n=longest: a[:, :n], chunk.batches)))
    return cut
