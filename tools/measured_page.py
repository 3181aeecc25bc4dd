"""Fills the table of docs/page.md from benchmarks/results/page.json.

python benchmarks/page.py runs/demo > page.json
python tools/measured_page.py add page.json ["what else the machine was doing"]
python tools/measured_page.py                 # only rewrites the page

Add results on the machine that was measured: its name and the date are recorded.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from pages import RESULTS, filled, machine, read, source, store, table, today

PAGE, FILE = "docs/page.md", "page.json"


def block(results: dict[str, Any]) -> str:
    """Returns the table of one measurement."""
    handled, painted, first = results["handled_ms"], results["painted_ms"], results["first_usable_ms"]
    models = results["model_bytes"]
    words = results["recall"]["network"]["words"]
    rows = [
        ["", "asked for", "measured"],
        [
            f"words of held-out typists that were in the bar before their first letter, of {words:,}, the network",
            "45 %",
            f"{results['recall']['network']['top3']:.1%}",
        ],
        ["the same, n-grams of the network", "", f"{results['recall']['federated']['top3']:.1%}"],
        [
            f"from a key to the new suggestions, the network, {results['keys']} keys, 95 % within",
            "20 ms",
            f"{handled['p95']:.1f} ms",
        ],
        ["half of them within", "", f"{handled['p50']:.1f} ms"],
        ["until they are painted, 95 % within", "", f"{painted['p95']:.1f} ms"],
        [
            "processor time of a key, its frame included, 95 % within",
            "",
            f"{results['processor_ms']['p95']:.1f} ms",
        ],
        ["first usable on a first visit, median of five", "1.5 s", f"{first['median'] / 1000:.2f} s"],
        ["page, scripts and dictionary, as they are sent", "", f"{results['page_bytes'] / 1e6:.2f} MB"],
        [
            "the same with the network",
            "1.2 MB",
            f"{(results['page_bytes'] + models['network']) / 1e6:.2f} MB",
        ],
        [
            "the same with its n-grams, too",
            "",
            f"{(results['page_bytes'] + sum(models.values())) / 1e6:.2f} MB",
        ],
        ["requests after loading", "0", str(results["requests_after"])],
        ["errors in the console", "0", str(len(results["console_errors"]))],
    ]
    beside = f" {results['beside']}." if results["beside"] else ""
    caption = f"Printed by `python benchmarks/page.py runs/demo` with headless Chromium {results['chromium']}.{beside}"
    return f"{table(rows)}\n\n{caption} {source([results], FILE)}"


def page(folder: Path = RESULTS) -> str:
    """Returns docs/page.md with its table filled."""
    return filled(Path(PAGE).read_text("utf-8"), {"page": block(read(FILE, folder))})


def main() -> None:
    match sys.argv[1:]:
        case []:
            pass
        case ["add", file, *beside]:
            results = json.loads(Path(file).read_text("utf-8"))
            store(FILE, {"machine": machine(), "date": today(), "beside": " ".join(beside), **results})
        case _:
            raise SystemExit(__doc__)
    Path(PAGE).write_text(page(), "utf-8")


if __name__ == "__main__":
    main()
