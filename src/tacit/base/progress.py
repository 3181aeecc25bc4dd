"""Bars and spinners for whatever takes a moment; those of a run that trains are in `tacit.runs.callbacks`."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.progress import TimeRemainingColumn as Remaining

Watch = Callable[[str, float], None]
"""A progress callback: what is being done, and the share of it that is done, from 0 to 1."""

# The bar lives on standard error, which otherwise holds the one line of an error and nothing else.
console = Console(stderr=True, highlight=False, emoji=False)


def nobody(what: str, share: float) -> None:
    """A progress callback that does nothing."""


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A spinner for work whose length is not known; silent where there is no terminal."""
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def of_rounds() -> Progress:
    """The bar of anything that goes in rounds, not yet begun."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.fields[name]}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        Remaining(),
        TextColumn("{task.description}", markup=False),
        console=console,
    )


@contextmanager
def reading() -> Iterator[Watch]:
    """A bar for text that is read and split, which is told what is done and the share that is behind us.

    It appears when that takes a moment and is gone when it is over; silent where there is no terminal.
    """
    if not console.is_terminal:
        yield nobody
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TaskProgressColumn(),
    )
    progress = Progress(*columns, TimeElapsedColumn(), console=console, transient=True)
    task, begun, present = progress.add_task("", total=1.0), time.monotonic(), ""

    def watch(what: str, share: float) -> None:
        nonlocal present
        if what != present:
            present = what
            progress.reset(task, description=what)
        progress.update(task, completed=share)
        if share >= 1:
            progress.stop()  # the next thing may have a bar of its own
        elif time.monotonic() - begun > 0.5:
            progress.start()

    try:
        yield watch
    finally:
        progress.stop()


@contextmanager
def rounds_of(name: str, rounds: int) -> Iterator[Callable[[int, str], None]]:
    """A bar over rounds that train no model; it is told the rounds done and, in a few words, what they brought.

    Silent where there is no terminal.
    """
    if not console.is_terminal:
        yield lambda done, words: None
        return
    with of_rounds() as progress:
        task = progress.add_task("", name=name, total=rounds)
        yield lambda done, words: progress.update(task, completed=done, description=words)
