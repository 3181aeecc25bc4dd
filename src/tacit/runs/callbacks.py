"""Who watches a run: the bar that a person sees, and TensorBoard's files for those who ask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console

from tacit.base.errors import TacitError
from tacit.base.terminal import console, rounds_bar
from tacit.runs import Watcher
from tacit.runs.config import Config


def describe(record: dict[str, Any]) -> str:
    """A round in a few words."""
    parts = [f"loss {record['loss']:.3f}"] if "loss" in record else []
    if "valid_perplexity" in record:
        parts.append(f"perplexity {record['valid_perplexity']:.1f}")
        parts.append(f"top-1 {record['valid_top1']:.1%}")
    return "  ".join(parts)


def bar() -> Watcher:
    """A progress bar over rounds; where there is no terminal, plain lines on standard output."""
    said = console if console.is_terminal else Console(highlight=False, emoji=False)
    progress = rounds_bar()
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
