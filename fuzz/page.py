"""The figures of a run as tables: for the terminal, and for docs/reliability.md."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from rich.table import Table

from fuzz.material import HERE

PAGE = HERE / "docs" / "reliability.md"
RESULTS = HERE / "benchmarks" / "results" / "fuzz.json"
COMMAND = "make fuzz"


def _tools() -> ModuleType:
    """Returns tools/pages.py, which fills the blocks of every page."""
    spec = importlib.util.spec_from_file_location("pages", HERE / "tools" / "pages.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault("pages", module)
    spec.loader.exec_module(module)
    return module


def _failed(row: Mapping[str, Any]) -> str:
    return ", ".join(f"{n} {kind}" for kind, n in row["failed"].items()) or "0"


def rows(figures: Mapping[str, Any]) -> list[list[str]]:
    """Returns the table: a row for each category, and their sums."""
    every = figures["categories"]
    lines = [["category", "what is tried", "trials", "processes", "ended well", "refused", "failed"]]
    for name, row in every.items():
        counts = (row["trials"], row["processes"], row["ok"], row["refused"])
        lines.append([name, row["what"], *(f"{n:,}" for n in counts), _failed(row)])
    sums = [sum(row[k] for row in every.values()) for k in ("trials", "processes", "ok", "refused")]
    failed = sum(sum(row["failed"].values()) for row in every.values())
    return [*lines, ["all", "", *(f"{n:,}" for n in sums), f"{failed:,}"]]


def table(figures: Mapping[str, Any]) -> Table:
    """Returns the table for a terminal."""
    shown = Table(box=None, padding=(0, 2, 0, 0))
    head, *body = [[row[0], *row[2:]] for row in rows(figures)]
    for i, name in enumerate(head):
        shown.add_column(name, justify="left" if i in (0, 5) else "right", no_wrap=i == 0)
    shown.add_column("CPU seconds", justify="right")
    seconds = [row["cpu_s"] for row in figures["categories"].values()]
    for line, spent in zip(body, [*seconds, sum(seconds)], strict=True):
        shown.add_row(*line, f"{spent:,.0f}")
    return shown


def block(figures: Mapping[str, Any]) -> str:
    """Returns the generated part of the page."""
    commands: dict[str, int] = {}
    for row in figures["categories"].values():
        for name, count in row["commands"].items():
            commands[name] = commands.get(name, 0) + count
    started = ", ".join(f"`{name}` {count:,}" for name, count in sorted(commands.items()))
    every = figures["categories"].values()
    longest = max(row["longest_s"] for row in every)
    again, cpu = sum(row["again"] for row in every), sum(row["cpu_s"] for row in every)
    return "\n\n".join(
        (
            _tools().table(rows(figures)),
            f"Processes by command: {started}.",
            f"Printed by `{figures['command']}` with seed {figures['seed']} on {figures['machine']}, "
            f"{figures['date']}: {figures['seconds'] / 60:.0f} minutes, of which {figures['prepared_s']} s made the "
            f"material. The trials took {cpu:,.0f} s of the processors, the longest {longest:.1f} s from begin to end. "
            f"{again:,} were made a second time, alone, because the first took too long.",
        )
    )


def filled(text: str, figures: Mapping[str, Any]) -> str:
    """Returns the page with its generated part."""
    return str(_tools().filled(text, {"trials": block(figures)}))


def publish(figures: Mapping[str, Any], page: Path = PAGE, results: Path = RESULTS) -> None:
    """Keeps the figures of a whole run and puts them on the page."""
    tools = _tools()
    kept = {**figures, "command": COMMAND, "machine": tools.machine(), "date": tools.today()}
    results.write_text(json.dumps(kept, indent=1) + "\n", "utf-8")
    page.write_text(filled(page.read_text("utf-8"), kept), "utf-8")
