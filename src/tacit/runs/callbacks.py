"""Defines the callbacks of a training run: a progress bar (in a terminal or a notebook), and TensorBoard files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console

from tacit.base.errors import TacitError
from tacit.base.files import inside
from tacit.base.printable import html_text, printable
from tacit.base.terminal import console, rounds_bar
from tacit.runs.config import Config


class Callback(NamedTuple):
    """Holds functions that a training run calls; each is optional.

    Example:
        losses = []
        tacit.train("fedavg", callbacks=[tacit.Callback(round=lambda record: losses.append(record["loss"]))])
    """

    begin: Callable[[Config, int, int], None] = lambda config, done, parameters: None
    """Called before the first round with the configuration, the rounds already done and the number of parameters."""
    round: Callable[[dict[str, Any]], None] = lambda record: None
    """Called after each round with its line of metrics.jsonl."""
    end: Callable[[], None] = lambda: None
    """Called after the last round, also of a run that failed."""
    remark: Callable[[str], None] = lambda line: None
    """Called before `begin` with a line about the text, if there is something to say of it."""


def describe(record: dict[str, Any]) -> str:
    """Returns a round in a few words."""
    parts = [f"loss {record['loss']:.3f}"] if "loss" in record else []
    if "valid_perplexity" in record:
        parts.append(f"perplexity {record['valid_perplexity']:.1f}")
        parts.append(f"top-1 {record['valid_top1']:.1%}")
    return "  ".join(parts)


def headline(config: Config, done: int, parameters: int) -> str:
    """Returns one line about the training that begins."""
    rounds = config.training.rounds
    resumed = f", resumed after round {done}" if done else ""
    return (
        f"{printable(config.name)}: {config.training.mode} training, {parameters:,} parameters, {rounds} "
        f"rounds{resumed}"
    )


def bar() -> Callback:
    """Returns a progress bar over rounds, for a terminal or a notebook; elsewhere it prints plain lines."""
    if console.is_jupyter:
        return _notebook_bar()
    return _terminal_bar() if console.is_terminal else _lines()


def _terminal_bar() -> Callback:
    progress = rounds_bar()

    def begin(config: Config, done: int, parameters: int) -> None:
        console.print(headline(config, done, parameters), markup=False, soft_wrap=True)
        progress.add_task("", name=printable(config.name), total=config.training.rounds, completed=done)
        progress.start()

    def after_round(record: dict[str, Any]) -> None:
        progress.update(progress.task_ids[0], completed=record["round"], description=describe(record))

    return Callback(begin, after_round, progress.stop, _on(console))


def _lines() -> Callback:
    output = Console(highlight=False, emoji=False)
    rounds = 1

    def begin(config: Config, done: int, parameters: int) -> None:
        nonlocal rounds
        rounds = config.training.rounds
        output.print(headline(config, done, parameters), markup=False, soft_wrap=True)

    def after_round(record: dict[str, Any]) -> None:
        if record["round"] % max(1, rounds // 10) == 0 or record["round"] == rounds:
            output.print(f"  round {record['round']:>4}/{rounds}  {describe(record)}")

    return Callback(begin, after_round, remark=_on(output))


def _on(output: Console) -> Callable[[str], None]:
    return lambda line: output.print(f"note: {printable(line)}", markup=False, soft_wrap=True)


def _notebook_bar() -> Callback:
    """Returns a bar in one output cell, redrawn after each round; rich's notebook bar would need ipywidgets."""
    from IPython.display import HTML, display

    shown: list[Any] = []  # the display handle, once there is one
    rounds, title = 1, ""

    def show(done: int, words: str) -> None:
        progress = f"<progress value={done} max={rounds}></progress>"
        content = HTML(f"{html_text(title)}<br>{progress} {done}/{rounds} {html_text(words)}")
        if shown:
            shown[0].update(content)
        else:
            shown.append(display(content, display_id=True))

    def begin(config: Config, done: int, parameters: int) -> None:
        nonlocal rounds, title
        rounds, title = config.training.rounds, headline(config, done, parameters)
        show(done, "")

    def remark(line: str) -> None:
        display(HTML(html_text(f"note: {line}")))

    return Callback(begin, lambda record: show(record["round"], describe(record)), remark=remark)


def tensorboard(out: Path) -> Callback:
    """Returns a callback that writes TensorBoard event files under `out`/tensorboard."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise TacitError("--tensorboard needs an extra package: pip install 'tacit[tensorboard]'") from None
    writers: list[Any] = []

    def begin(config: Config, done: int, parameters: int) -> None:
        writers.append(SummaryWriter(str(inside(out, "tensorboard")), purge_step=done + 1))

    def after_round(record: dict[str, Any]) -> None:
        for name, value in record.items():
            if name != "round":
                writers[0].add_scalar(name.replace("valid_", "valid/"), value, record["round"])

    def end() -> None:
        for writer in writers:
            writer.close()

    return Callback(begin, after_round, end)
