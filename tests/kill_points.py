"""Kills a function at each of its write points (`fuzz.write_points`), to see what it leaves.

    points = kill_points.count(function, folder)
    for at in range(points):
        kill_points.killed(function, folder, at)     # forks; the child is killed at its write point `at`

For quick functions without JAX: a fork of JAX's threads may hang. The category `kills` of the fuzz suite does the same
to whole commands.
"""

from __future__ import annotations

import os
import signal
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

from fuzz.write_points import Point, die, watch


def count(function: Callable[[], object], folder: Path) -> int:
    """Returns how many write points a function has; runs it in a fork, whose writes stay."""
    read, write = os.pipe()
    child = _fork()
    if not child:
        points: list[Point] = []
        watch(folder, points.append)
        code = _run(function)
        os.write(write, str(len(points)).encode())
        os._exit(code)
    os.close(write)
    with os.fdopen(read) as said:
        _, status = os.waitpid(child, 0)
        assert status == 0, f"the function failed: {status}"
        return int(said.read())


def killed(function: Callable[[], object], folder: Path, at: int, torn: bool = False) -> bool:
    """Runs a function in a fork that is killed at its write point `at`; False if it ended before."""
    child = _fork()
    if not child:
        watch(folder, lambda point: die(point, torn) if point.number == at else None)
        os._exit(_run(function))
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL:
        return True
    assert status == 0, f"the function failed: {status}"
    return False


def _fork() -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of JAX, whose threads are not in the child
        return os.fork()


def _run(function: Callable[[], object]) -> int:
    try:
        function()
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return 0
