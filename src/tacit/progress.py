"""What a person sees while a run goes on, and TensorBoard's files for those who ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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

from tacit.config import Config
from tacit.errors import TacitError
from tacit.runs import Watcher
from tacit.text.lines import Watch, nobody

# The bar lives on standard error, which otherwise holds the one line of an error and nothing else.
console = Console(stderr=True, highlight=False, emoji=False)


@contextmanager
def busy(what: str) -> Iterator[None]:
    """A spinner for work whose length is not known; silent where there is no terminal."""
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


def describe(record: dict[str, Any]) -> str:
    """A round in a few words."""
    parts = [f"loss {record['loss']:.3f}"] if "loss" in record else []
    if "valid_perplexity" in record:
        parts.append(f"perplexity {record['valid_perplexity']:.1f}")
        parts.append(f"top-1 {record['valid_top1']:.1%}")
    return "  ".join(parts)


def _progress() -> Progress:
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
    with _progress() as progress:
        task = progress.add_task("", name=name, total=rounds)
        yield lambda done, words: progress.update(task, completed=done, description=words)


def bar() -> Watcher:
    """A progress bar over rounds; where there is no terminal, plain lines on standard output."""
    said = console if console.is_terminal else Console(highlight=False, emoji=False)
    progress = _progress()
    rounds = 1

    def begin(config: Config, done: int, parameters: int) -> None:
        nonlocal rounds
        rounds = config.training.rounds
        said.print(
            f"{config.name}: {config.training.mode} training, {parameters:,} parameters, {rounds} rounds"
            + (f", going on after round {done}" if done else ""),
            markup=False,
            soft_wrap=True,
        )
        if console.is_terminal:
            progress.add_task("", name=config.name, total=rounds, completed=done)
            progress.start()

    def round_(record: dict[str, Any]) -> None:
        if console.is_terminal:
            progress.update(progress.task_ids[0], completed=record["round"], description=describe(record))
        elif record["round"] % max(1, rounds // 10) == 0 or record["round"] == rounds:
            said.print(f"  round {record['round']:>4}/{rounds}  {describe(record)}")

    def end() -> None:
        if console.is_terminal:
            progress.stop()

    return Watcher(begin, round_, end)


def tensorboard(out: Path) -> Watcher:
    """Event files under `out`/tensorboard."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise TacitError("--tensorboard needs an extra package: pip install 'tacit[tensorboard]'") from None
    writers: list[Any] = []

    def begin(config: Config, done: int, parameters: int) -> None:
        writers.append(SummaryWriter(str(out / "tensorboard"), purge_step=done + 1))

    def round_(record: dict[str, Any]) -> None:
        for name, value in record.items():
            if name != "round":
                writers[0].add_scalar(name.replace("valid_", "valid/"), value, record["round"])

    def end() -> None:
        for writer in writers:
            writer.close()

    return Watcher(begin, round_, end)
