"""Scores a run or a model file on text: what `tacit evaluate` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.federated.evaluation import scorer
from tacit.lm.open import kind_of
from tacit.lm.open import open as open_model
from tacit.scoring.scores import summary
from tacit.text.catalogue import resolve, same_corpus
from tacit.text.corpus import is_messages
from tacit.text.prepare import TextConfig, prepare, whole_corpus
from tacit.text.typists import TypistsConfig


def evaluate(
    path: Path, corpus: str | None = None, data: Path | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Metrics of a run's best model on its own held-out part, or on all of another corpus; of a file on a corpus.

    Held-out people (or the corpus's own test split) are scored; `seen` adds later text of people trained on.
    """
    if kind_of(path) != "run":
        return _evaluate_file(path, corpus, data, progress)
    run = runs.load(path)
    config, spelling, score = run.config, run.spelling, scorer(run.model, run.spelling)
    if corpus is not None and not same_corpus(corpus, config.text.corpus, data):
        people = corpus == "typists" or is_messages(resolve(corpus, data))  # which have no protocol
        protocol = "plain" if people else config.text.protocol
        other = config.text.of(corpus, protocol)
        text = whole_corpus(other, config.typists, run.encoder, data, progress)
        return {"text": corpus, **summary(score(run.params, text), text, spelling)}
    ready = prepare(config.text, config.partition, config.typists, config.seed, run.encoder, data, progress)
    measured = summary(score(run.params, ready.test), ready.test, spelling)
    found = {"text": f"{config.text.corpus}, held out", **measured}
    if ready.seen is not None:
        found["seen"] = summary(score(run.params, ready.seen), ready.seen, spelling)
    return found


def _evaluate_file(path: Path, corpus: str | None, data: Path | None, progress: Progress) -> dict[str, Any]:
    """Scores a model file; a model without capitals reads text without capitals."""
    if corpus is None:
        raise TacitError(f"{path} is a file, which has no held-out text of its own; give --corpus")
    model = open_model(path)
    config = TextConfig(corpus=corpus, case=model.case)
    text = whole_corpus(config, TypistsConfig(), model.bulk.encoder, data, progress)
    return {"text": corpus, **summary(model.score(text), text)}
