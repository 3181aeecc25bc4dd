"""Fills the README's table of `make demo` and writes docs/demo.svg.

make demo && .venv/bin/python tools/readme_demo.py
"""

from __future__ import annotations

import json
from pathlib import Path

from pages import filled, machine, table, today

from tacit.personal import report as personal_report
from tacit.runs import plots, report
from tacit.runs.run import Run

DEMO = Path("runs/demo")


def main() -> None:
    ngram = json.loads((DEMO / "ngram.json").read_text())
    small = json.loads((DEMO / "ngram" / "summary.json").read_text())
    entries = [
        report.entry_of(Run(DEMO), "federated"),
        report.entry_of(Run(DEMO / "central"), "central (pooled text)"),
        report.Entry("Kneser-Ney 5-gram (pooled text)", ngram["test"], ngram["seen"]),
        report.Entry("3-gram distilled from the federated model", small["models"]["n-gram"]),
        report.Entry("Kneser-Ney 3-gram (other people's text)", small["models"]["Kneser-Ney, supplement"]),
    ]
    points = [line for line in entries[0].curve if "valid_perplexity" in line]
    level = {e.name: e.test["perplexity"] for e in entries[1:3]}
    curve = ([p["round"] for p in points], [p["valid_perplexity"] for p in points])
    svg = plots.curves({"federated": curve}, "perplexity on held-out people", level, log=True)
    Path("docs/demo.svg").write_text(svg, "utf-8")
    seconds = report.seconds_of(DEMO) + report.seconds_of(DEMO / "central")
    size, asked = small["bytes"]["model.tacit"] / 1e6, small["latency_us"]["p50"]
    source = (
        f"Printed by `make demo` on {machine()}, {today()}; rounds and their evaluation took "
        f"{seconds:.0f} s. The 3-grams have {small['ngrams']:,} n-grams; the federated one is a file of {size:.2f} MB "
        f"that gives three suggestions in {asked:.0f} µs. The typists are generated, not collected: these figures "
        "say nothing about real keyboards."
    )
    tuned = json.loads((DEMO / "personal" / "summary.json").read_text())
    block = [
        table(report.comparison(entries)),
        f"Personalisation: {personal_report.sentence(tuned)}.",
        source,
    ]
    readme = Path("README.md")
    readme.write_text(filled(readme.read_text("utf-8"), {"demo": "\n\n".join(block)}), "utf-8")


if __name__ == "__main__":
    main()
