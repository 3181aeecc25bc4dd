"""What the tools that write figures into pages share: tables, the machine in words, results, marked blocks.

A block of a page stands between `<!-- NAME:begin -->` and `<!-- NAME:end -->`. Nobody types in it: a tool fills it from
benchmarks/results/ or from a run, and tests/test_docs.py fails where page and results differ.
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
    """Rows of plain text as a table of Markdown, the header first.

    >>> print(table([["a", "b"], ["1", "2"]]))
    | a | b |
    | --- | --- |
    | 1 | 2 |
    """
    return "\n".join("| " + " | ".join(row) + " |" for row in (rows[0], ["---"] * len(rows[0]), *rows[1:]))


def machine() -> str:
    """The processor and its cores, as the system names them."""
    info = Path("/proc/cpuinfo")
    named = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.is_file() else None
    return f"{named[1] if named else platform.processor() or platform.machine()}, {os.cpu_count()} cores"


def today() -> str:
    return str(datetime.date.today())


def short(value: Any) -> Any:
    """A figure as it is kept: six digits; anything else as it is.

    >>> short(0.123456789), short(12), short(None)
    (0.123457, 12, None)
    """
    return float(f"{value:.6g}") if isinstance(value, float) else value


def source(entries: Sequence[Mapping[str, Any]], file: str) -> str:
    """Where and when these were measured, and where the commands are."""
    seen = dict.fromkeys(f"{e['machine']}, {e['date']}" for e in entries)
    return f"({'; '.join(seen)}; commands and more digits: `benchmarks/results/{file}`.)"


def filled(page: str, blocks: Mapping[str, str]) -> str:
    """The page with these blocks in their places.

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
    """What was measured, from a file of results."""
    return json.loads((folder / name).read_text("utf-8"))


def store(name: str, found: Mapping[str, Any], folder: Path = RESULTS) -> None:
    """Write a file of results."""
    (folder / name).write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", "utf-8")
