"""Counts words across devices and writes a directory (`tacit count`).

    counts.tsv          word, tab, count, by falling count; the source of a vocabulary or a word-piece inventory
    convergence.jsonl   one line for each round
    summary.json        the chosen λ, Table 1 in numbers, the last state of convergence
    report.html         Figure 3 and Table 1
    ledger.jsonl        the release, for `tacit privacy show`; lines of an earlier count in the directory stay

The directory is written at the end (`tacit.base.transaction`), so an interrupted count leaves nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tacit.base.files import to_json, write_atomic
from tacit.base.progress import Progress, no_progress
from tacit.base.transaction import Kind, transaction
from tacit.counts import report
from tacit.counts.counted import Counted, CountOptions, check_options, counted_words
from tacit.privacy import ledger
from tacit.runs.config import Config

KIND = Kind(
    "tacit count",
    "tacit count 1",
    ("counts.tsv", "convergence.jsonl", "summary.json", "report.html", ledger.NAME),
)


def count(
    config: Config,
    out: Path,
    options: CountOptions,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Counted:
    """Counts the words of a configuration's clients, and writes the directory or replaces that of an earlier count."""
    check_options(options)
    return store(out, lambda: counted_words(config, options, data, progress))


def store(out: Path, work: Callable[[], Counted]) -> Counted:
    """Counts and writes the directory, or nothing if the count fails."""
    with transaction(out, KIND) as folder:
        earlier = ledger.read(out / ledger.NAME)  # what was released stays released
        counted = work()
        facts = {"format": KIND.format, "earlier_releases": len(earlier)}
        counted = counted._replace(summary=facts | counted.summary)
        for release in (*earlier, counted.release):
            ledger.append(folder / ledger.NAME, release)
        write(folder, counted)
    return counted


def write(folder: Path, counted: Counted) -> None:
    """Writes the files into an empty folder."""
    lines = (json.dumps(line, sort_keys=True, allow_nan=False) for line in counted.lines)
    write_atomic(folder / "counts.tsv", "".join(f"{word}\t{n}\n" for word, n in counted.counts))
    write_atomic(folder / "convergence.jsonl", "".join(f"{line}\n" for line in lines))
    write_atomic(folder / "report.html", report.page(counted))
    write_atomic(folder / "summary.json", to_json(counted.summary) + "\n")
