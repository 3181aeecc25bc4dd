"""Starts JAX with every CPU core as a device, and explains why JAX cannot start."""

from __future__ import annotations

import contextlib
import os

from tacit.base.errors import TacitError

_MOST = 1024  # CPU devices; JAX takes minutes to make many more
_VARIABLES = ("JAX_", "XLA_", "CUDA_", "ROCR_", "HIP_")  # how the names of variables that JAX reads begin


def use_all_cores() -> None:
    """Makes each CPU core (at most 8) a device of JAX, so that a cohort is spread over the cores.

    Does nothing after JAX has started, or if JAX_NUM_CPU_DEVICES sets the number.
    """
    if (devices := os.environ.get("JAX_NUM_CPU_DEVICES")) is not None:
        try:
            known = int(devices) == -1 or 1 <= int(devices) <= _MOST  # -1: one device
        except ValueError:
            known = False
        if not known:
            raise TacitError(
                f"JAX_NUM_CPU_DEVICES={devices}: not a number of devices from 1 to {_MOST}; unset it for all cores"
            )
    import jax

    jax.config.update("jax_enable_x64", False)  # Tacit's programs have numbers of 32 bits
    if devices is not None:
        return
    with contextlib.suppress(RuntimeError):  # JAX has started, and the number cannot be changed
        jax.config.update("jax_num_cpu_devices", min(8, os.cpu_count() or 1))


def check_devices() -> None:
    """Refuses an environment in which JAX does not start, such as JAX_PLATFORMS=cuda without a GPU."""
    try:
        import jax

        jax.devices()
    except Exception as error:
        raise cannot_start(error) from None
    if jax.config.values.get("jax_enable_x64"):
        raise TacitError("jax_enable_x64 is on, but Tacit computes with 32-bit numbers; turn it off")


def cannot_start(error: BaseException) -> TacitError:
    """Returns a one-line error for an error of JAX, with the environment variables that JAX reads."""
    given = {name: value for name, value in os.environ.items() if name.startswith(_VARIABLES)}
    settings = ", ".join(f"{name}={value}" for name, value in sorted(given.items()))
    where = f" with {settings}" if settings else ""
    reason = str(error).partition(" (set JAX_PLATFORMS")[0].rstrip(".") or "there is no such device"
    return TacitError(
        f"JAX cannot start{where}: {reason}; unset what does not fit this machine, or set JAX_PLATFORMS=cpu"
    )
