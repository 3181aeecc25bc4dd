"""Lets JAX use every core of a CPU."""

from __future__ import annotations

import contextlib
import os


def use_all_cores() -> None:
    """Makes each CPU core (at most 8) a device of JAX, so that a cohort is spread over the cores.

    Does nothing after JAX has started, or where JAX_NUM_CPU_DEVICES is set.
    """
    if "JAX_NUM_CPU_DEVICES" in os.environ:  # JAX's own way to say how many
        return
    import jax

    with contextlib.suppress(RuntimeError):  # JAX has started, and the number cannot be changed
        jax.config.update("jax_num_cpu_devices", min(8, os.cpu_count() or 1))
