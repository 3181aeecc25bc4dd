"""Draws bars and spinners for long work on a terminal; elsewhere it prints little or nothing.

All of them fit 80 columns: a description without enough room is truncated.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress as rich
from rich.console import Console
from rich.table import Column
from rich.text import Text

from tacit.base.printable import printable
from tacit.base.progress import Progress, no_progress

_WAIT = 0.5  # seconds before a bar appears
_APART = 2.0  # seconds between two lines where there is no terminal

# The bar lives on standard error, which otherwise holds the one line of an error and nothing else.
console = Console(stderr=True, highlight=False, emoji=False)


@contextmanager
def spinner(what: str) -> Iterator[None]:
    """Shows a spinner for work whose length is not known."""
    if not console.is_terminal:
        yield
        return
    with console.status(Text(printable(what))):
        yield


@contextmanager
def progress_bar() -> Iterator[Progress]:
    """Gives a progress callback that draws a bar.

    The bar appears after half a second and disappears when the work is done. It restarts when the share falls.
    """
    if not console.is_terminal:
        yield no_progress
        return
    bar = rich.Progress(
        rich.SpinnerColumn(),
        _words("{task.description}"),
        rich.BarColumn(bar_width=16),
        rich.TaskProgressColumn(),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
        console=console,
        transient=True,
    )
    task, begun, last = bar.add_task("", total=1.0), time.monotonic(), 0.0

    def report(what: str, share: float) -> None:
        nonlocal last
        if share < last:
            bar.reset(task)
        last = share
        bar.update(task, completed=share, description=printable(what))
        if share >= 1:
            bar.stop()  # the next thing may have a bar of its own
        elif time.monotonic() - begun > _WAIT:
            bar.start()

    try:
        yield report
    finally:
        bar.stop()


@contextmanager
def progress_lines() -> Iterator[Progress]:
    """Gives a progress callback that draws a bar, or without a terminal prints a line for each new stage.

    It is for commands that work for long before they print their result. It prints at most one line in two seconds.
    """
    if console.is_terminal:
        with progress_bar() as bar:
            yield bar
        return
    last, at = "", -_APART

    def report(what: str, share: float) -> None:
        nonlocal last, at
        now = time.monotonic()
        if what == last or share >= 1 or now - at < _APART:
            return
        last, at = what, now
        print(f"{printable(what)} …", flush=True)  # standard error holds an error and nothing else

    yield report


def rounds_bar() -> rich.Progress:
    """Returns the bar of a training run, not yet started; its task has a `name` and a description of the round."""
    return rich.Progress(
        rich.SpinnerColumn(),
        _words("{task.fields[name]}", widest=12),
        rich.BarColumn(bar_width=10),
        rich.MofNCompleteColumn(),
        rich.TimeRemainingColumn(elapsed_when_finished=True),
        _words("{task.description}"),
        console=console,
    )


def _words(text: str, widest: int | None = None) -> rich.TextColumn:
    column = Column(no_wrap=True, overflow="ellipsis", max_width=widest)
    return rich.TextColumn(text, markup=False, table_column=column)
