"""The devices that share a cohort, and how arrays are laid over them; `hosts` is about the processes behind them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tacit.federated import hosts


def devices() -> list[jax.Device]:
    """All devices that share a cohort, process by process."""
    if not hosts.together():
        return jax.local_devices()
    return sorted(jax.devices(), key=lambda d: (d.process_index, d.id))


def mesh() -> Mesh:
    """The devices as one axis."""
    return Mesh(np.array(devices()), ("devices",))


def mine(count: int) -> slice:
    """Which of `count` lanes (or batches), dealt evenly to the devices, belong to this process's devices."""
    each = count // len(devices())
    own = [i for i, d in enumerate(devices()) if d.process_index == jax.process_index()]
    return slice(own[0] * each, (own[-1] + 1) * each)


def apart(tree: Any, axis: int) -> Any:
    """Arrays cut along an axis, a piece on each device; a process gives what belongs to its own devices."""
    if len(devices()) == 1:
        return jax.device_put(tree)
    split = NamedSharding(mesh(), PartitionSpec(*[None] * axis, "devices"))
    return jax.tree.map(lambda a: jax.make_array_from_process_local_data(split, a), tree)


def everywhere(tree: Any) -> Any:
    """The same arrays on every device, where a round leaves them, lest the first round be a case of
    its own that compiles the program once more."""
    if len(devices()) == 1:
        return tree
    whole = NamedSharding(mesh(), PartitionSpec())

    def put(a: Any) -> Array:
        if not hosts.together():
            return jax.device_put(a, whole)
        if isinstance(a, jax.Array) and not a.is_fully_addressable:
            return a  # a round left it there
        return jax.make_array_from_process_local_data(whole, np.asarray(a))

    return jax.tree.map(put, tree)
