"""Counts words across devices and writes a directory (`tacit count`).

    counts.tsv          word, tab, count, by falling count; a word-piece inventory or a vocabulary is made from it
    convergence.jsonl   one line for each round
    summary.json        the chosen λ, Table 1 in numbers, the last state of convergence
    report.html         Figure 3 and Table 1

The directory is written at the end: an interrupted count leaves nothing and starts anew.
"""

from __future__ import annotations

import json
from pathlib import Path

from tacit.base.files import all_or_nothing, check_out, to_json, write_atomic
from tacit.base.progress import Progress, no_progress
from tacit.ngram.counts import report
from tacit.ngram.counts.counted import Counted, CountOptions, check_options, counted_words
from tacit.runs.config import Config


def count(
    config: Config,
    out: Path,
    options: CountOptions,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Counted:
    """Counts the words of a configuration's clients and writes the directory, which must be new or empty."""
    check_options(options)
    check_out(out, lambda out: False, "exists already and is not empty")
    counted = counted_words(config, options, data, progress)
    write(out, counted)
    return counted


def write(out: Path, counted: Counted) -> None:
    """Writes all files of the directory, or none."""
    lines = (json.dumps(line, sort_keys=True, allow_nan=False) for line in counted.lines)
    with all_or_nothing(out) as folder:
        write_atomic(folder / "counts.tsv", "".join(f"{word}\t{n}\n" for word, n in counted.counts))
        write_atomic(folder / "convergence.jsonl", "".join(f"{line}\n" for line in lines))
        write_atomic(folder / "report.html", report.page(counted))
        write_atomic(folder / "summary.json", to_json(counted.summary) + "\n")
