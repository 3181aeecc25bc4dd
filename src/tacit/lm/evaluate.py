"""Scores a run or a model file on text (`tacit evaluate`)."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.lm.open import kind_of
from tacit.lm.open import open as open_model
from tacit.runs.data import prepare
from tacit.runs.evaluate import evaluate_run
from tacit.scoring.scores import summary
from tacit.text.pieces import Spelling
from tacit.text.prepare import TextConfig, whole_corpus
from tacit.text.typists import TypistsConfig


def evaluate(
    path: Path,
    corpus: str | None = None,
    data: Path | None = None,
    progress: Progress = no_progress,
    held_out: Path | None = None,
    federated: bool = False,
) -> dict[str, Any]:
    """Returns the figures of a run's best model on its held-out part, or of any model on a corpus or a run's part.

    The held-out part is the held-out people, or the corpus's own test split. `seen` adds later text of people in
    training, except of a private run. `held_out` is a run whose held-out part is used. With `federated` each person
    scores a run's model, and only sums over people are used.
    """
    if federated and (held_out is not None or kind_of(path) != "run"):
        raise TacitError("--federated is for a run directory; leave it out, or give a run")
    if corpus is not None and held_out is not None:
        raise TacitError("--corpus and --held-out both choose the text; give one of them")
    if held_out is not None:
        return _evaluate_held_out(path, held_out, data, progress)
    if kind_of(path) != "run":
        return _evaluate_file(path, corpus, data, progress)
    return evaluate_run(runs.load(path), corpus, data, progress, federated)


def _evaluate_held_out(path: Path, held_out: Path, data: Path | None, progress: Progress) -> dict[str, Any]:
    """Scores a model on the held-out part of a run, read in the model's own words and case."""
    config = runs.read_config(held_out)
    model = open_model(path)
    encoder = model.bulk.encoder
    spelling = encoder if isinstance(encoder, Spelling) else None
    text = replace(config.text, case=model.case, pieces=0, inventory="")  # the encoder replaces them
    ready = prepare(replace(config, text=text), encoder, data, progress)
    figures = {
        "text": f"{config.text.corpus}, held out",
        **summary(model.score(ready.test), ready.test, spelling),
    }
    if ready.seen is not None and not config.privacy.private:
        figures["seen"] = summary(model.score(ready.seen), ready.seen, spelling)
    return figures


def _evaluate_file(path: Path, corpus: str | None, data: Path | None, progress: Progress) -> dict[str, Any]:
    """Scores a model file on a corpus; for a model without capitals the text is lower-cased."""
    if corpus is None:
        raise TacitError(
            f"{path} is a file, which has no held-out text of its own; give --corpus, or --held-out RUN"
        )
    model = open_model(path)
    config = TextConfig(corpus=corpus, case=model.case, locale=model.source.locale)
    text = whole_corpus(config, TypistsConfig(), model.bulk.encoder, data, progress)
    return {"text": corpus, **summary(model.score(text), text)}
