"""Maps a function over blocks on all cores and returns the results in order.

Helpers are processes that run `help_parent` and communicate through pipes. They are not forked, because JAX uses
threads, and not started by `multiprocessing`, which would run a user's script a second time. Only a few blocks per
helper are in flight, so memory does not grow with the number of blocks.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from queue import SimpleQueue
from typing import Any, TypeVar

from tacit.base.errors import TacitError
from tacit.base.processes import start_python
from tacit.text import wire

A = TypeVar("A")
B = TypeVar("B")

_MOST = 8  # helpers; more would wait for the process that reads and collects
_AHEAD = 2  # blocks in flight for each helper


def cores() -> int:
    """Returns the number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Callable[[A], B], blocks: Iterable[A], helpers: int) -> Iterator[B]:
    """Computes `map(work, blocks)` with so many helper processes, or in this process if fewer than two.

    `work` is a module-level function or a `partial` of one. Errors are raised in order: if the iterable of blocks
    raises, the results of all earlier blocks come first.

    >>> list(in_order(abs, [-1, 2, -3], helpers=1))
    [1, 2, 3]
    """
    helpers = min(helpers, _MOST)
    if helpers < 2:
        yield from map(work, blocks)
        return
    with ExitStack() as end:
        pool = end.enter_context(ThreadPoolExecutor(helpers))
        idle: SimpleQueue[_Helper] = SimpleQueue()
        for _ in range(helpers):
            helper = _Helper(work)
            end.callback(helper.stop)
            idle.put(helper)

        def compute(block: A) -> B:
            helper = idle.get()
            try:
                return helper.compute(block)
            finally:
                idle.put(helper)

        waiting: deque[Future[B]] = deque()
        source, failure = iter(blocks), None
        while failure is None:
            try:
                block = next(source)
            except StopIteration:
                break
            except TacitError as error:
                failure = error
                break
            waiting.append(pool.submit(compute, block))
            if len(waiting) > _AHEAD * helpers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if failure is not None:
            raise failure


class _Helper:
    """A helper process and the pipes to it."""

    def __init__(self, work: Callable) -> None:
        self._process = start_python(__name__, "help_parent", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._send(work)

    def compute(self, block: Any) -> Any:
        assert self._process.stdout is not None
        try:
            self._send(block)
            succeeded, answer = wire.load(self._process.stdout)
        except (EOFError, BrokenPipeError):
            raise TacitError(
                "a helper process that was reading the corpus was killed; check the machine's memory, try again"
            ) from None
        if not succeeded:
            raise answer
        return answer

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _send(self, value: Any) -> None:
        assert self._process.stdin is not None
        wire.dump(value, self._process.stdin)


def help_parent() -> None:
    """Runs a helper: reads the function, then computes it for block after block until the pipe closes."""
    requests, answers = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # keeps anything printed out of the answers
    work = wire.load(requests)
    while True:
        try:
            block = wire.load(requests)
        except EOFError:
            return
        try:
            answer = True, work(block)
        except Exception as error:
            answer = False, error
        try:
            wire.dump(answer, answers)
        except BrokenPipeError:
            return
