"""Scoring and asking a finished run: what `tacit evaluate` and `tacit predict` do."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from tacit import runs
from tacit.federated.evaluation import scorer, suggest, summary
from tacit.text.prepare import context, prepare, whole_corpus


def evaluate(path: Path, corpus: str | None = None, data: Path | None = None) -> dict[str, Any]:
    """Metrics of a run's best model on its own held-out part, or on all of another corpus.

    Held-out people (or the corpus's own test split) are scored; `seen` adds later text of people trained on.
    """
    run = runs.load(path)
    config, score = run.config, scorer(run.model)
    if corpus is not None and not _same(corpus, config.text.corpus):
        people = corpus == "typists" or ".json" in Path(corpus).name  # messages, which have no protocol
        protocol = "plain" if people else config.text.protocol
        other = dataclasses.replace(config.text, corpus=corpus, protocol=protocol)
        text = whole_corpus(other, config.typists, run.vocabulary, data)
        return {"text": corpus, **summary(score(run.params, text), text)}
    ready = prepare(config.text, config.partition, config.typists, config.seed, run.vocabulary, data)
    found = {"text": f"{config.text.corpus}, held out", **summary(score(run.params, ready.test), ready.test)}
    if ready.seen is not None:
        found["seen"] = summary(score(run.params, ready.seen), ready.seen)
    return found


def _same(corpus: str, own: str) -> bool:
    """Do two names mean the same corpus? Paths may be written in several ways."""
    if corpus == own or "typists" in (corpus, own):
        return corpus == own
    a, b = Path(corpus).expanduser(), Path(own).expanduser()
    return a.exists() and b.exists() and a.samefile(b)


def predict(path: Path, text: str, k: int) -> list[tuple[str, float]]:
    """The k likeliest next words after `text`, with their probabilities."""
    run = runs.load(path)
    best = suggest(run.model, run.params, context(text, run.vocabulary, run.config.text), k)
    return [(run.vocabulary.words[i], p) for i, p in best]
