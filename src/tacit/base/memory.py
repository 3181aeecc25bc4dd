"""Finds how much memory this process may use, and refuses work that cannot fit before it is allocated.

An allocation that fails inside XLA ends the process without a message. One that succeeds beyond the real memory brings
the machine to a halt. The limit is the least of the machine's memory, the limit of its container (cgroup) and
`ulimit -v`.
"""

from __future__ import annotations

import os
from pathlib import Path

from tacit.base.errors import TacitError

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

_JAX = 2 << 30  # bytes of addresses that JAX and its threads take before they compute anything


def limit() -> int:
    """Returns the bytes of memory that this process may use; 0 if unknown.

    >>> limit() >= 0
    True
    """
    known = [_physical(), _container(), address_limit()]
    return min((n for n in known if n), default=0)


def address_limit() -> int:
    """Returns the limit of `ulimit -v` in bytes; 0 if there is none."""
    if resource is None:
        return 0
    soft = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 0 if soft == resource.RLIM_INFINITY else soft


def check_start() -> None:
    """Refuses a limit under which JAX cannot start; JAX itself would end with a C++ error."""
    if 0 < address_limit() < _JAX:
        raise TacitError(
            f"the limit on memory (ulimit -v) is {address_limit() / 2**30:.1f} GB; JAX needs at least "
            f"{_JAX / 2**30:.0f} GB of addresses, so raise the limit"
        )


def check(needed: int, what: str, remedy: str, available: int = 0) -> None:
    """Refuses work that needs more bytes than are available (0: than this process may use).

    >>> check(8 * 10**9, "the model", "lower model.hidden", available=4 * 10**9)
    Traceback (most recent call last):
    tacit.base.errors.TacitError: the model takes about 8 GB of memory, and there are 4 GB; lower model.hidden
    """
    available = available or limit()
    if available and needed > available:
        raise TacitError(
            f"{what} takes about {needed / 1e9:,.0f} GB of memory, and there are {available / 1e9:,.0f} GB; {remedy}"
        )


def _physical() -> int:
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 0


def _container() -> int:
    for file in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            return int(Path(file).read_text("ascii"))
        except (OSError, ValueError):  # not there, or "max"
            continue
    return 0
