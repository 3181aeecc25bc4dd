"""Shared functions of the tools that fill pages: tables, the machine's name, results files, marked blocks.

A block of a page is between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Do not edit it by hand: a tool fills it from
benchmarks/results/ or from a run, and the tests in tests/docs fail if page and results differ.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path("benchmarks/results")


def table(rows: Sequence[Sequence[str]]) -> str:
    """Returns rows of plain text as a Markdown table, the header first.

    >>> print(table([["a", "b"], ["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def machine() -> str:
    """Returns the name of the processor and its number of cores."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return f"{named[1] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def today() -> str:
    return str(datetime.date.today())


def short(value: Any) -> Any:
    """Rounds a float to six digits; returns anything else unchanged.

    >>> short(0.123456789), short(12), short(None)
    (0.123457, 12, None)
    """
    return float(f"{value:.6g}") if isinstance(value, float) else value


def source(entries: Sequence[Mapping[str, Any]], file: str) -> str:
    """Returns a sentence with machines, dates and the results file that has the commands."""
    seen = dict.fromkeys(f"{e['machine']}, {e['date']}" for e in entries)
    return f"({'; '.join(seen)}; commands and more digits: `benchmarks/results/{file}`.)"


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """Returns the page with these blocks filled.

    >>> filled("a <!-- n:begin -->old<!-- n:end --> b", {"n": "new"}).split("\\n")
    ['a <!-- n:begin -->', 'new', '<!-- n:end --> b']
    """
    for name, block in blocks.items():
        first, last = f"<!-- {name}:begin -->", f"<!-- {name}:end -->"
        before, begun, rest = page.partition(first)
        _, ended, after = rest.partition(last)
        if not begun or not ended:
            raise SystemExit(f"no place for {name}: put {first} and {last} into the page")
        page = f"{before}{first}\n{block}\n{last}{after}"
    return page


def read(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    """Reads a results file."""
    return json.loads((folder / name).read_text("utf-8"))


def store(name: str, results: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Writes a results file."""
    (folder / name).write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", "utf-8")
