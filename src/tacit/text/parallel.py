"""The same work on many blocks, on every core, the results in order.

Helpers are processes of this very program (`python -m tacit.text.parallel`), asked and answered through pipes.
They are not forked, because JAX has threads, and not made by `multiprocessing`, which would run a user's script
a second time. At any moment a few blocks for each helper are under way: memory does not grow with their number.
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
from tacit.text import wire

A = TypeVar("A")
B = TypeVar("B")

_MOST = 8  # helpers: more would wait for the one process that reads and collects
_AHEAD = 2  # blocks under way for each helper


def cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_order(work: Callable[[A], B], blocks: Iterable[A], helpers: int) -> Iterator[B]:
    """`map(work, blocks)`, by so many helpers; by this process where they are fewer than two.

    `work` is a function of a module, or a `partial` of one. Whatever went wrong is raised in its turn: where
    the blocks end with an error, the results of those before it come first.

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

        def ask(block: A) -> B:
            helper = idle.get()
            try:
                return helper.ask(block)
            finally:
                idle.put(helper)

        waiting: deque[Future[B]] = deque()
        source, trouble = iter(blocks), None
        while trouble is None:
            try:
                block = next(source)
            except StopIteration:
                break
            except TacitError as error:
                trouble = error
                break
            waiting.append(pool.submit(ask, block))
            if len(waiting) > _AHEAD * helpers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        if trouble is not None:
            raise trouble


class _Helper:
    """A process that works for us."""

    def __init__(self, work: Callable) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tacit.text.parallel"],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for us; it ends when we do
        )
        self._say(work)

    def ask(self, block: Any) -> Any:
        assert self._process.stdout is not None
        try:
            self._say(block)
            good, answer = wire.load(self._process.stdout)
        except (EOFError, BrokenPipeError):
            raise TacitError(
                "a process that was helping to read the corpus was ended; check the machine's memory, try again"
            ) from None
        if not good:
            raise answer
        return answer

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def _say(self, what: Any) -> None:
        assert self._process.stdin is not None
        wire.dump(what, self._process.stdin)


def _help() -> None:
    """What a helper does: hear the work, then answer block after block until nobody asks."""
    hear, say = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed must not get among the answers
    work = wire.load(hear)
    while True:
        try:
            block = wire.load(hear)
        except EOFError:
            return
        try:
            answer = True, work(block)
        except Exception as error:
            answer = False, error
        try:
            wire.dump(answer, say)
        except BrokenPipeError:
            return


if __name__ == "__main__":
    _help()
