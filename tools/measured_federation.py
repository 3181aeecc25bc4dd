"""Fills the section "Federation" of docs/reliability.md from benchmarks/results/.

make test-federation                  # federation-tests.json: each test, what it tried and what happened
python benchmarks/federation.py       # federation.json: memory and speed at the layer of messages
python tools/measured_federation.py   # only rewrites the page
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pages import RESULTS, filled, read, source, table

PAGE, TESTS, SPEED = "docs/reliability.md", "federation-tests.json", "federation.json"


def tests(results: dict[str, Any]) -> str:
    """Returns what every test tried, and what happened."""
    every = results["tests"].values()
    rows = [
        ["what is tried", "what happened", ""],
        *([one["tried"], one["happened"], one["outcome"]] for one in every),
    ]
    parts = [table(rows)]
    for counts in (one["malformed"] for one in every if "malformed" in one):
        kinds, reasons = (
            ", ".join(f"{name} {n:,}" for name, n in sorted(counts[part].items(), key=lambda e: -e[1]))
            for part in ("kinds", "reasons")
        )
        parts += [f"Malformed answers by kind: {kinds}.", f"Refused by reason: {reasons}."]
    told = f"Printed by `{results['command']}` with {results['flower']}."
    return "\n\n".join((*parts, f"{told} {source([results], TESTS)}"))


def speed(results: dict[str, Any]) -> str:
    """Returns the memory and speed of one round."""
    rows = [
        [
            "updates in a round",
            "peak memory, MB",
            "of the round, MB",
            "ms of the processor per update",
            "per second",
        ]
    ]
    rows += [
        [
            f"{r['updates']:,}",
            f"{r['peak_mb']:.0f}",
            f"{r['round_mb']:.0f}",
            f"{r['ms_per_update']:.1f}",
            f"{r['updates_per_s']:.0f}",
        ]
        for r in results["rounds"]
    ]
    parameters = results["rounds"][0]["parameters"]
    caption = f"Updates of {parameters:,} parameters; printed by `{results['command']}`."
    return f"{table(rows)}\n\n{caption} {source([results], SPEED)}"


def page(folder: Path = RESULTS) -> str:
    """Returns docs/reliability.md with its blocks filled, as far as there are results."""
    blocks = {}
    if (folder / TESTS).is_file():
        blocks["federation-tests"] = tests(read(TESTS, folder))
    if (folder / SPEED).is_file():
        blocks["federation-speed"] = speed(read(SPEED, folder))
    return filled(Path(PAGE).read_text("utf-8"), blocks)


def write() -> None:
    """Rewrites the page."""
    Path(PAGE).write_text(page(), "utf-8")


if __name__ == "__main__":
    write()
