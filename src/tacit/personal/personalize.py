"""Personalises a run's model for many people and writes a directory (`tacit personalize`).

summary.json      the grid (Table 1), slices, strategies, the gate, the recommendation
sums.npz          the sums of the devices' reports, from which all figures are computed
report.html       Figures 2 and 3, Table 1 and the effect of the gate
models/           NAME.safetensors for accepted people: the tuned part only; `tacit predict --user NAME` uses it
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np

from tacit import runs
from tacit.base import files
from tacit.base.progress import Progress, no_progress
from tacit.personal import models as personal_models
from tacit.personal import report
from tacit.personal.job import PersonalOptions, check_options, check_people, read_job
from tacit.personal.personalised import FORMAT, Personalised, personalised


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
    check_out(out)
    job = read_job(path, options, data, progress)
    check_people(job)
    result = personalised(job, progress)
    write(out, result)
    link_from_report(path / "report.html", out / "report.html")
    return result


def check_out(out: Path) -> None:
    """Refuses a directory that is neither empty nor written by an earlier call."""
    files.check_out(
        out, lambda out: _summary(out) is not None, "exists and was not left by `tacit personalize`"
    )


def write(out: Path, result: Personalised) -> None:
    """Writes all files of the directory, or none; removes an earlier call's models once all new ones are written."""
    packed_sums = io.BytesIO()
    np.savez_compressed(packed_sums, **result.totals)  # type: ignore[arg-type]
    with files.all_or_nothing(out) as folder:
        (folder / "models").mkdir()
        for stored in result.models:
            personal_models.save(folder / "models", stored)
        files.write_atomic(folder / "sums.npz", packed_sums.getvalue())
        files.write_atomic(folder / "report.html", report.page(result.summary))
        files.write_atomic(folder / "summary.json", files.to_json(result.summary) + "\n")
        for old in (out / "models").glob("*.safetensors"):
            old.unlink()


def earlier_summary(out: Path, run: Path) -> dict[str, Any] | None:
    """Returns the summary of an earlier call, if it personalised this very network."""
    summary = _summary(out)
    return summary if summary and summary.get("base") == runs.digest(run) else None


def _summary(out: Path) -> dict[str, Any] | None:
    """Returns the summary in a directory that `personalize` wrote; None in any other."""
    try:
        summary = json.loads((out / "summary.json").read_text("utf-8"))
    except (OSError, ValueError):
        return None
    return summary if isinstance(summary, dict) and summary.get("format") == FORMAT else None


def link_from_report(run_report: Path, page: Path) -> None:
    """Adds a link to `page` to the report of the run, where there is one and the page lies below it."""
    if not run_report.is_file() or page.parent.parent != run_report.parent:
        return
    text = run_report.read_text("utf-8")
    link = f'<a href="{page.parent.name}/{page.name}">'
    if link not in text:
        anchor = f"<p>{link}Personalisation of this model</a></p>"
        files.write_atomic(run_report, text.replace("</body>", f"{anchor}</body>"))
