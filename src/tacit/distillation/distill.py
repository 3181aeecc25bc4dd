"""Distils a run into a directory of n-gram files that keyboards load (`tacit distill`).

    model.tacit        Tacit's compact file (tacit.ngram.compact.reader)
    model.arpa         for KenLM and other n-gram tools
    model.fst.txt      for OpenFst, with model.syms
    words.combined     AOSP's word list with bigrams, which HeliBoard, OpenBoard and FUTO compile
    summary.json       size and quality, beside the network and beside plain n-gram models of the same size

All files are written together (`tacit.base.transaction`). On bad input or a full disk none is written, and an earlier
model stays as it was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base import consent, files
from tacit.base.progress import Progress, no_progress
from tacit.base.transaction import Kind, transaction
from tacit.distillation.figures import held_out_text, measure
from tacit.distillation.files import write_model
from tacit.distillation.model import DistillOptions, distilled_model, unigram_counts, words_of
from tacit.ngram.formats import aosp
from tacit.runs import spending

KIND = Kind(
    "tacit distill",
    "tacit distill 1",
    ("model.tacit", "model.arpa", "model.fst.txt", "model.syms", "words.combined", "summary.json"),
)


def distill(
    path: Path,
    out: Path,
    options: DistillOptions,
    data: Path | None = None,
    locale: str | None = None,
    date: int = 0,
    skip: bool = False,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Distils a run, writes the files, measures the model; returns what summary.json holds.

    Bad input is refused before anything is drawn. `date` (seconds since 1970) and `locale`, by default that of the run,
    go into words.combined;
    `skip` leaves out words that it cannot hold.
    """
    run = runs.load(path)
    name, language = run.config.name, run.config.text.locale
    locale = locale or language
    with transaction(out, KIND) as folder:
        aosp.check_locale(out / "words.combined", locale)
        if not skip:
            aosp.check_words(out / "words.combined", [*words_of(run).words, *unigram_counts(options)])
        ready = run.prepare(data)  # a text that has changed is refused before minutes of work
        distilled = distilled_model(run, options, data, progress, ready.clients)
        text = held_out_text(run, distilled, ready, data)
        sizes = write_model(folder, distilled, name, locale, date, skip, language)
        figures = measure(run, distilled, options, text, folder / "model.tacit")
        beside = {"supplement": distilled.beside, "supplement_corpus": distilled.corpus}
        about = {"format": KIND.format, "name": name, "base": runs.digest(path)}
        private = spending.of_model(path, *([options.unigrams] if options.unigrams else []))
        summary = {**about, **beside, **figures, "bytes": sizes, **private}
        files.write_atomic(folder / "summary.json", files.to_json(summary) + "\n")
    if distilled.corpus:  # for `tacit serve`, which builds a model of the supplement
        consent.remember(distilled.corpus, (path / "config.toml").read_bytes())
    return summary
