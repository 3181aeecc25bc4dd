"""The devices that share a cohort: how arrays and programs are spread over them, and their memory.

`hosts` handles the processes behind the devices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tacit.federated import hosts


def devices() -> list[jax.Device]:
    """Returns all devices that share a cohort, process by process."""
    if not hosts.together():
        return jax.local_devices()
    return sorted(jax.devices(), key=lambda d: (d.process_index, d.id))


def mesh() -> Mesh:
    """Returns the devices as one axis."""
    return Mesh(np.array(devices()), ("devices",))


def local_slice(count: int) -> slice:
    """Returns which of `count` lanes (or batches), dealt evenly to the devices, belong to this process."""
    each = count // len(devices())
    local = [i for i, d in enumerate(devices()) if d.process_index == jax.process_index()]
    return slice(local[0] * each, (local[-1] + 1) * each)


def apart(tree: Any, axis: int) -> Any:
    """Splits arrays along an axis and puts a piece on each device; a process passes the pieces of its own devices."""
    if len(devices()) == 1:
        return jax.device_put(tree)
    split = NamedSharding(mesh(), PartitionSpec(*[None] * axis, "devices"))
    return jax.tree.map(lambda a: jax.make_array_from_process_local_data(split, a), tree)


def everywhere(tree: Any) -> Any:
    """Puts the same arrays on every device, as a round leaves its result: otherwise the program compiles twice."""
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


def compiled(
    function: Callable[..., Any], cut: Sequence[int | None], cut_result: int | None
) -> Callable[..., Any]:
    """Compiles a function for all devices, each of which works on its own piece.

    `cut` gives the axis along which each argument is split (None: every device has the whole), `cut_result` that of
    the result. With several devices, `function` may use collectives over the axis "devices".
    """
    if len(devices()) == 1:
        return jax.jit(function)

    def spec(axis: int | None) -> PartitionSpec:
        return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, "devices")

    in_specs = tuple(spec(axis) for axis in cut)
    over = jax.shard_map(
        function, mesh=mesh(), in_specs=in_specs, out_specs=spec(cut_result), check_vma=False
    )
    return jax.jit(over)


def memory_mb(given: int) -> int:
    """Returns the memory for lanes in MB: the given one, else a third of an accelerator's, else 2 GB."""
    if given:
        return given
    limit = device_bytes()
    return int(limit / 3 / 2**20) if limit else 2048


def device_bytes() -> int:
    """Returns the memory of an accelerator in bytes; 0 on a CPU, which has no memory of its own."""
    return (jax.local_devices()[0].memory_stats() or {}).get("bytes_limit", 0)
