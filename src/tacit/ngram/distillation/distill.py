"""Distils a run into a directory of n-gram files that keyboards load (`tacit distill`).

    model.tacit        Tacit's compact file (tacit.ngram.compact.reader)
    model.arpa         for KenLM and other n-gram tools
    model.fst.txt      for OpenFst, with model.syms
    words.combined     AOSP's word list with bigrams, which HeliBoard, OpenBoard and FUTO compile
    summary.json       size and quality, beside the network and beside plain n-gram models of the same size

All files are written together. On bad input or a full disk none is written, and an earlier model stays as it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base import files
from tacit.base.progress import Progress, no_progress
from tacit.ngram.distillation.figures import held_out_text, measure
from tacit.ngram.distillation.files import write_model
from tacit.ngram.distillation.model import DistillOptions, distilled_model, unigram_counts, words_of
from tacit.ngram.formats import aosp


def distill(
    path: Path,
    out: Path,
    options: DistillOptions,
    data: Path | None = None,
    locale: str = "en",
    date: int = 0,
    skip: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Distils a run, writes the files, measures the model; returns what summary.json holds.

    Bad input is refused before anything is drawn. `date` (seconds since 1970) and `locale` go into words.combined;
    `skip` leaves out words that it cannot hold.
    """
    run = runs.load(path)
    check_out(out)
    aosp.check_locale(out / "words.combined", locale)
    if not skip:
        aosp.check_words(out / "words.combined", [*words_of(run).words, *unigram_counts(options)])
    distilled = distilled_model(run, options, data, progress)
    text = held_out_text(run, distilled, data)
    name = run.config.name
    with files.all_or_nothing(out) as folder:
        sizes = write_model(folder, distilled, name, locale, date, skip)
        figures = measure(run, distilled, options, text, folder / "model.tacit")
        beside = {"supplement": distilled.beside, "supplement_corpus": distilled.corpus}
        summary = {"name": name, "base": runs.digest(path), **beside, **figures, "bytes": sizes}
        files.write_atomic(folder / "summary.json", files.to_json(summary) + "\n")
    return summary


def check_out(out: Path) -> None:
    """Refuses a directory that holds a run or other figures; an earlier model may be replaced."""

    def reusable(out: Path) -> bool:
        other = (out / "summary.json").exists() and not (out / "model.tacit").exists()
        return not other and not (out / "config.toml").exists()

    files.check_out(out, reusable, "holds a run or other figures already")
