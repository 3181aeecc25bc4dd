"""Shows a federation in a terminal: the present round with a bar to its goal, refusals, and the last rounds."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tacit.base.printable import printable
from tacit.network.watch.state import state

_EVERY = 1.0  # seconds
_LAST = 8  # rounds


def show(place: Path, console: Console) -> None:
    """Shows a federation until Ctrl-C; once, if the output is not a terminal."""
    if not console.is_terminal:
        console.print(picture(state(place)))
        return
    with (
        contextlib.suppress(KeyboardInterrupt),
        Live(picture(state(place)), console=console, auto_refresh=False, screen=False) as live,
    ):
        while True:
            time.sleep(_EVERY)
            live.update(picture(state(place)), refresh=True)


def picture(said: dict[str, Any]) -> RenderableType:
    """Returns the state of a federation as printable text."""
    served = "served on" if said["served"] else "not served; clients connect to"
    parts: list[RenderableType] = [_text(f"{served} {said['address']}, {said['invited']} clients invited")]
    run, now = said["run"], said["now"]
    if run is None:
        return Group(*parts, _text("no run yet; begin one with `tacit federation run`"))
    parts.append(_text(f"{run['name']}: {run['state']}, {run['made']} of {run['rounds']} rounds"))
    if run["why"]:
        parts.append(_text(run["why"]))
    if now and run["state"] == "running":
        parts += [_text(""), _present(now, said["time"])]
    if now:
        parts += [_text(""), _facts(now, said)]
    if said["rounds"]:
        parts += [_text(""), _rounds(said["rounds"])]
    return Group(*parts)


def _present(now: dict[str, Any], time: float) -> Table:
    left = max(0, round(now["ends"] - time))
    table = Table.grid(padding=(0, 2))
    table.add_row(
        _text(f"round {now['round']}/{now['rounds']}: {now['task']}"),
        ProgressBar(total=max(1, now["goal"]), completed=now["accepted"], width=24),
        _text(f"{now['accepted']} of {now['goal']} answers, {now['asked']} asked"),
        _text(f"{left // 60}:{left % 60:02} left"),
    )
    return table


def _facts(now: dict[str, Any], said: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    refused = ", ".join(f"{reason} {count}" for reason, count in sorted(now["refused"].items())) or "none"
    spent = said["epsilon"]
    rows = {
        "connected": str(now["connected"]),
        "refused": refused,
        "sent to clients": f"{now['bytes_down'] / 1e6:.2f} MB",
        "from clients": f"{now['bytes_up'] / 1e6:.2f} MB",
        "ε": f"{spent:.3g}" if spent is not None else f"none: {said['epsilon_reason']}",
    }
    for name, value in rows.items():
        table.add_row(_text(name), _text(value))
    return table


def _rounds(rounds: list[dict[str, Any]]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    shown = {
        "round": ("round", "{:.0f}"),
        "clients": ("clients", "{:.0f}"),
        "loss": ("loss", "{:.3f}"),
        "valid_perplexity": ("perplexity", "{:.1f}"),
        "bytes_up": ("bytes up", "{:,.0f}"),
        "bytes_down": ("bytes down", "{:,.0f}"),
    }
    for title, _ in shown.values():
        table.add_column(title, justify="right")
    for record in rounds[-_LAST:]:
        table.add_row(*(f.format(record[k]) if k in record else "" for k, (_, f) in shown.items()))
    return table


def _text(text: str) -> Text:
    return Text(printable(text))
