"""Distils a run into a directory of n-gram files that keyboards load (`tacit distill`).

    model.tacit        Tacit's compact file (tacit.ngram.compact.reader)
    model.arpa         for KenLM and other n-gram tools
    model.fst.txt      for OpenFst, with model.syms
    words.dict         AOSP's dictionary, which HeliBoard and other Android keyboards import
    words.combined     the same as AOSP's word list, which its compiler reads
    summary.json       size and quality, compared with the network and with plain n-gram models of the same size

All files are written together (`tacit.base.transaction`). After bad input or on a full disk none is written, and an
earlier model is unchanged.
"""

from __future__ import annotations

import calendar
import datetime
from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base import consent, files
from tacit.base.progress import Progress, no_progress
from tacit.base.transaction import Kind, transaction
from tacit.distillation.figures import held_out_text, measure
from tacit.distillation.files import NAMES, dictionary, write_model
from tacit.distillation.model import DistillOptions, distilled_model, unigram_counts, words_of
from tacit.ngram.formats.aosp import word_list
from tacit.privacy.ledger import Release
from tacit.runs import spending

COUNTED = Release("n-grams", "none", reason="they are counted on the clients without noise: --client-counts")
KIND = Kind("tacit distill", "tacit distill 1", (*NAMES, "summary.json"))


def distill(
    path: Path,
    out: Path,
    options: DistillOptions,
    data: Path | None = None,
    locale: str | None = None,
    date: int | None = None,
    skip: bool = False,
    progress: Progress = no_progress,
    block: Path | None = None,
    merge: Path | None = None,
) -> dict[str, Any]:
    """Distils a run, writes the files, measures the model; returns what summary.json holds.

    Bad input is refused before anything is drawn. `date` (seconds since 1970; None: today) and `locale` (None: that of
    the run) are those of the dictionary, words.dict and words.combined. `skip` leaves out words that words.combined
    cannot hold. `block` is a file of words that a keyboard must never suggest, `merge` a `.combined` word list to merge
    into the dictionary.
    """
    run = runs.load(path)
    name, language = run.config.name, run.config.text.locale
    locale = language if locale is None else locale
    with transaction(out, KIND) as folder:
        given = dictionary(out, locale, today() if date is None else date, skip, block, merge)
        if not skip:
            word_list.check_words(out / "words.combined", [*words_of(run).words, *unigram_counts(options)])
        ready = run.prepare(data)  # a text that has changed is refused before minutes of work
        distilled = distilled_model(run, options, data, progress, ready.clients)
        text = held_out_text(run, distilled, ready, data)
        sizes, facts = write_model(folder, distilled, name, given, language)
        options = replace(options, topology=distilled.topology)
        figures = measure(run, distilled, options, text, folder / "model.tacit")
        supplement = {
            "supplement": distilled.supplement_name,
            "supplement_corpus": distilled.supplement_corpus,
        }
        about = {"format": KIND.format, "name": name, "base": runs.digest(path)}
        counted = [] if options.client_counts is None else [COUNTED]
        private = spending.of_model(path, *([options.unigrams] if options.unigrams else []), further=counted)
        summary = {**about, **supplement, **figures, "bytes": sizes, "dictionary": facts, **private}
        files.write_atomic(folder / "summary.json", files.to_json(summary) + "\n")
    if distilled.supplement_corpus:  # for `tacit serve`, which builds a model of the supplement
        consent.remember(distilled.supplement_corpus, (path / "config.toml").read_bytes())
    return summary


def today() -> int:
    """Returns the beginning of today in seconds since 1970, as keyboards show it."""
    return calendar.timegm(datetime.date.today().timetuple())
