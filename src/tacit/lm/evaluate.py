"""Scores a run or a model file on text (`tacit evaluate`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.lm.open import kind_of
from tacit.lm.open import open as open_model
from tacit.runs.evaluate import evaluate_run
from tacit.scoring.scores import summary
from tacit.text.prepare import TextConfig, whole_corpus
from tacit.text.typists import TypistsConfig


def evaluate(
    path: Path, corpus: str | None = None, data: Path | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Returns the figures of a run's best model on its held-out part or on another corpus, or of a file on a corpus.

    The held-out part is the held-out people, or the corpus's own test split; `seen` adds later text of people in
    training.
    """
    if kind_of(path) != "run":
        return _evaluate_file(path, corpus, data, progress)
    return evaluate_run(runs.load(path), corpus, data, progress)


def _evaluate_file(path: Path, corpus: str | None, data: Path | None, progress: Progress) -> dict[str, Any]:
    """Scores a model file; for a model without capitals the text is lower-cased."""
    if corpus is None:
        raise TacitError(f"{path} is a file, which has no held-out text of its own; give --corpus")
    model = open_model(path)
    config = TextConfig(corpus=corpus, case=model.case)
    text = whole_corpus(config, TypistsConfig(), model.bulk.encoder, data, progress)
    return {"text": corpus, **summary(model.score(text), text)}
