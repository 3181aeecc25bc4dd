"""Personalises a run's model for many people and writes a directory (`tacit personalize`).

summary.json      the grid (Table 1), slices, strategies, the gate, the recommendation
sums.npz          the sums of the devices' reports, from which all figures are computed
report.html       Figures 2 and 3, Table 1 and the effect of the gate
ledger.jsonl      the release of the sums, for `tacit privacy show`; lines of an earlier call stay
models/           NAME.safetensors for accepted people: the tuned part only; `tacit predict --user NAME` uses it
"""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from tacit import runs
from tacit.base import files
from tacit.base.printable import html_text
from tacit.base.progress import Progress, no_progress
from tacit.base.reading import read_regular
from tacit.base.transaction import Kind, summary_of, transaction
from tacit.personal import models as personal_models
from tacit.personal import report
from tacit.personal.choosing import FORMAT, Personalised
from tacit.personal.job import PersonalOptions, check_options, check_people, read_job
from tacit.personal.personalised import personalised
from tacit.privacy import ledger
from tacit.runs.report import MARK

KIND = Kind(
    "tacit personalize",
    FORMAT,
    ("summary.json", "sums.npz", "report.html", "models/*.safetensors", ledger.NAME),
)


def personalize(
    path: Path,
    out: Path,
    options: PersonalOptions,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Personalised:
    """Personalises the model of the run at `path`, writes the directory, and links it from the run's report.

    Bad input is refused before any work.
    """
    runs.read_config(path)  # refuses what is not a run
    check_options(options)

    def work() -> Personalised:
        job = read_job(path, options, data, progress)
        check_people(job)
        return personalised(job, progress)

    return store(path, out, work)


def store(path: Path, out: Path, work: Callable[[], Personalised]) -> Personalised:
    """Does the work and writes the directory with its result, or nothing if it fails."""
    with transaction(out, KIND) as folder:
        earlier = ledger.read(out / ledger.NAME)  # what was released stays released
        result = work()
        for release in (*earlier, result.release):
            ledger.append(folder / ledger.NAME, release)
        write(folder, result)
    link_from_report(path / "report.html", out / "report.html")
    return result


def write(folder: Path, result: Personalised) -> None:
    """Writes the files into a folder that is empty, or has a ledger."""
    packed_sums = io.BytesIO()
    np.savez_compressed(packed_sums, **result.totals)  # type: ignore[arg-type]
    (folder / "models").mkdir()
    for stored in result.models:
        personal_models.save(folder / "models", stored)
    files.write_atomic(folder / "sums.npz", packed_sums.getvalue())
    files.write_atomic(folder / "report.html", report.page(result.summary))
    files.write_atomic(folder / "summary.json", files.to_json(result.summary) + "\n")


def earlier_summary(out: Path, run: Path) -> dict[str, Any] | None:
    """Returns the summary of an earlier call, if it personalised this very network."""
    summary = summary_of(out, KIND)
    return summary if summary and summary.get("base") == runs.digest(run) else None


def link_from_report(run_report: Path, page: Path) -> None:
    """Adds a link to `page` to the report of the run, if Tacit wrote that report and the page is below it."""
    if page.parent.parent != run_report.parent or run_report.is_symlink():
        return
    try:
        text = read_regular(run_report).decode("utf-8")
    except (OSError, ValueError):
        return
    link = f'<a href="{html_text(quote(bytes(Path(page.parent.name))))}/{page.name}">'
    if MARK in text and link not in text:
        anchor = f"<p>{link}Personalisation of this model</a></p>"
        files.write_atomic(run_report, text.replace("</body>", f"{anchor}</body>"))
