"""Several processes, on one host or many, that train as one: a job of `jax.distributed`.

The processes meet at an address of process 0 and then run the same compiled programs in step. Only process 0 reads and
writes the run directory; it sends the others what they need of it, so only the corpus must be on every host. A process
that fails sends the others its error, and all of them exit: otherwise they would wait forever in a sum for the one that
is gone.

Without a coordinator these functions do nothing: a single process is a job of one.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import sys
import threading
import time
from collections.abc import Mapping
from typing import Any, NoReturn

import jax
import numpy as np

# A private module: JAX (0.10) has no public access to the job's key store, and its public collectives
# (multihost_utils) wait for a process that is gone, so they cannot report that it is gone.
from jax._src import distributed
from jax.experimental import multihost_utils

from tacit.base import interrupts
from tacit.base.errors import TacitError
from tacit.base.printable import one_line

_WAIT = 60  # seconds for all to meet, unless --wait is given
_LONGEST_WAIT = 604_800  # seconds; JAX counts them in 32 bits, and in milliseconds
_LOOK = 0.5  # seconds between looks for a failure
_LAST = 600  # seconds that the others wait for process 0 to write its last files
_FAILED = "tacit: failed"  # the key under which the first process to fail stores its error
_CARRIERS = ("Gloo", "NCCL", "RCCL", "coordination service")  # their errors mean that a process is gone
_joined, _left, _ending = threading.Event(), threading.Event(), threading.Lock()
_ADVICE = (
    "start all with the same --coordinator and --processes, each with its own --process; --wait waits longer"
)


def join(
    coordinator: str | None, processes: int | None = None, process: int | None = None, wait: int | None = None
) -> None:
    """Makes this process number `process` of a job that meets at `coordinator` ("host:port" of process 0).

    "auto" asks the cluster (SLURM, Open MPI and others that JAX supports). Call it before any computation.
    """
    where = _address(coordinator, processes, process, wait)
    if where is None:
        return
    wait = wait or _WAIT
    jax.config.update("jax_enable_preemption_service", False)  # it would swallow SIGTERM
    late = threading.Timer(wait, _too_late, [wait])  # before JAX's own time-out, which prints a C++ stack
    late.daemon = True
    late.start()
    try:
        jax.distributed.initialize(**where, initialization_timeout=wait + 60)
    except (RuntimeError, ValueError) as error:
        if coordinator == "auto" and isinstance(error, ValueError):
            raise TacitError(
                "--coordinator auto finds no cluster here (SLURM, Open MPI, …); give --coordinator HOST:PORT, "
                "--processes and --process"
            ) from None
        raise TacitError(f"the job cannot be joined: {error}; {_ADVICE}") from None
    finally:
        late.cancel()
    _joined.set()
    interrupts.before_end(fail)
    if jax.default_backend() == "cpu":
        _hush_gloo()
    if jax.local_device_count() * jax.process_count() != jax.device_count():
        raise TacitError(
            f"the processes of a job need as many devices each; process {jax.process_index()} has "
            f"{jax.local_device_count()} of {jax.device_count()} (see CUDA_VISIBLE_DEVICES, JAX_NUM_CPU_DEVICES)"
        )
    threading.Thread(target=_watch, daemon=True).start()


def _address(
    coordinator: str | None, processes: int | None, process: int | None, wait: int | None
) -> dict[str, Any] | None:
    """Returns the arguments of jax.distributed.initialize, None for a lone process; refuses contradictory options."""
    given = {"--processes": processes, "--process": process, "--wait": wait}
    options = [name for name, value in given.items() if value is not None]
    if coordinator is None:
        if options:
            raise TacitError(
                f"{options[0]} goes with --coordinator HOST:PORT, an address of process 0; give both"
            )
        return None
    if wait is not None and not 1 <= wait <= _LONGEST_WAIT:
        raise TacitError(f"--wait {wait}: give 1 to {_LONGEST_WAIT} seconds, a week")
    if coordinator == "auto":
        if processes is not None or process is not None:
            raise TacitError(
                f"--coordinator auto asks the cluster; leave out {options[0]}, or give HOST:PORT"
            )
        return {}
    if processes is None or process is None:
        missing = "--processes" if processes is None else "--process"
        raise TacitError(
            f"--coordinator {coordinator} also needs {missing} (or use --coordinator auto on a cluster)"
        )
    if processes < 1:
        raise TacitError(f"--processes {processes}: a job has at least one")
    if not 0 <= process < processes:
        raise TacitError(
            f"--process {process} is out of range; {processes} processes are 0 to {processes - 1}"
        )
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise TacitError(f"--coordinator {coordinator} is not HOST:PORT, such as 10.0.0.1:1234")
    try:
        socket.getaddrinfo(host.strip("[]"), int(port))
        if process == 0:  # JAX would share a port in use, or print more than a line
            socket.create_server(("", int(port))).close()
    except (OSError, UnicodeError) as error:  # UnicodeError: a name that no host can have
        reason = str(getattr(error, "strerror", "no name of a host")).partition(" (")[0]
        raise TacitError(f"--coordinator {coordinator}: {reason}; choose another") from None
    return {
        "coordinator_address": coordinator,
        "num_processes": processes,
        "process_id": process,
        "cluster_detection_method": "deactivate",  # inside SLURM it would remove all devices but one
    }


def _hush_gloo() -> None:
    """Silences Gloo, the library for sums between CPUs, which prints to standard output; Python still writes there."""
    sys.stdout.flush()
    standard_output = os.dup(1)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = os.fdopen(
        standard_output, "w", buffering=1, encoding=sys.stdout.encoding, errors=sys.stdout.errors
    )


def together() -> bool:
    """Returns whether there are other processes."""
    return jax.process_count() > 1


def first() -> bool:
    """Returns whether this is the process that writes and prints."""
    return jax.process_index() == 0


def from_first(tree: Any) -> Any:
    """Returns the first process's arrays in every process; the others pass arrays of the same shapes and types."""
    if not together():
        return tree
    # as bytes: the broadcast adds zeros, which would turn −0.0 into +0.0
    plain = jax.tree.map(lambda a: np.asarray(a, order="C"), tree)
    sent = jax.tree.map(lambda a: a.reshape(-1).view(np.uint8), plain)
    received = multihost_utils.broadcast_one_to_all(sent)
    return jax.tree.map(lambda a, b: np.array(b).view(a.dtype).reshape(a.shape), plain, received)


def least(value: int) -> int:
    """Returns the smallest of the processes' values."""
    return int(np.min(multihost_utils.process_allgather(np.int32(value)))) if together() else value


def agree(facts: Mapping[str, bytes]) -> None:
    """Refuses a process whose facts differ from those of the first."""
    if not together():
        return
    digests = {name: np.frombuffer(hashlib.sha256(fact).digest(), np.uint8) for name, fact in facts.items()}
    first_digests = from_first(digests)
    for name, digest in digests.items():
        if not np.array_equal(digest, first_digests[name]):
            raise TacitError(
                f"process {jax.process_index()} has other {name} than process 0; give all processes of a job the same"
            )


def leave() -> None:
    """Ends a successful run: waits until all are done, so that a failure of the last one is still reported."""
    if _joined.is_set() and not _left.is_set():
        _store().wait_at_barrier("tacit: done", 1000 * _LAST)
        _left.set()


def fail(message: str) -> None:
    """Ends this process and sends the others its error; does nothing if there are none."""
    if not _joined.is_set() or _left.is_set():
        return
    if any(name in message for name in _CARRIERS):  # a sum in which a process is missing
        message = "another process of the job is gone or out of reach; start all of them again with --resume"
    if other := _failure():
        message = other
    else:
        with contextlib.suppress(Exception):  # another process stored its error first, or the store is gone
            _store().key_value_set(_FAILED, f"process {jax.process_index()} of the job failed: {message}")
    _end(message)


def _store() -> Any:
    """Returns the key store that all processes of the job share."""
    return distributed.global_state.client


def _failure() -> str | None:
    """Returns the error of the first process to fail, if any."""
    try:
        return _store().key_value_try_get(_FAILED)
    except Exception:  # no process has failed, or the job is over
        return None


def _watch() -> None:
    while not _left.wait(_LOOK):
        if message := _failure():
            _end(message)


def _end(line: str) -> NoReturn:
    """Prints one line and exits at once: an ordinary exit would wait for the others, which wait for this process."""
    if not _ending.acquire(blocking=False):
        threading.Event().wait()  # another thread is ending the process
    _say(line)
    with contextlib.suppress(Exception):
        _store().wait_at_barrier("tacit: ended", 5000)
        if first():  # it holds the key store, so it exits last
            time.sleep(_LOOK)
    os._exit(2)


def _too_late(wait: int) -> NoReturn:
    _say(f"not all processes of the job met within {wait} s; {_ADVICE}")
    os._exit(2)


def _say(line: str) -> None:
    cursor = "\x1b[?25h" if sys.stderr.isatty() else ""  # shows the cursor, which a progress bar hides
    print(f"{cursor}tacit: {one_line(line)}", file=sys.stderr, flush=True)
