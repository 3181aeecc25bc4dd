"""Scores a run's best model on text that it was not trained on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base.progress import Progress, no_progress
from tacit.federated.evaluation import federated_sums
from tacit.runs.data import prepare
from tacit.scoring.scores import Sums, summary
from tacit.text.catalogue import resolve, same_corpus
from tacit.text.corpus import is_messages
from tacit.text.packed import Packed
from tacit.text.prepare import whole_corpus

if TYPE_CHECKING:
    from tacit.runs.run import Run


def evaluate_run(
    run: Run,
    corpus: str | None = None,
    data: Path | None = None,
    progress: Progress = no_progress,
    federated: bool = False,
) -> dict[str, Any]:
    """Scores the best model on the run's held-out part, or on all of another corpus.

    The held-out part is the people excluded from training, or the corpus's own test split. `seen` adds later text of
    the people trained on; a private run has no `seen`, because its figures would have no noise. With `federated` each
    person scores the model and only sums are used, so there is no interval over people.
    """
    config = run.config

    def figures_of(text: Packed) -> dict[str, Any]:
        if federated:
            return federated_figures(*federated_sums(lambda params, own: run.score(own), run.params, text))
        return summary(run.score(text), text, run.spelling)

    if corpus is not None and not same_corpus(corpus, config.text.corpus, data):
        by_people = corpus == "typists" or is_messages(resolve(corpus, data))  # these have no protocol
        other = config.text.of(corpus, "plain" if by_people else config.text.protocol)
        text = whole_corpus(other, config.typists, run.encoder, data, progress)
        return {"text": corpus, **figures_of(text)}
    if corpus is not None:  # the user names it, so it is opened even if the run is somebody else's
        config = replace(config, text=replace(config.text, corpus=corpus))
    ready = prepare(config, run.encoder, data, progress)
    figures = {"text": f"{run.config.text.corpus}, held out", **figures_of(ready.test)}
    if ready.seen is not None and not config.privacy.private:
        figures["seen"] = figures_of(ready.seen)
    return figures


def federated_figures(sums: Sums, people: int) -> dict[str, Any]:
    """Returns the figures of a federated evaluation, from sums [1] over the people who reported."""
    return {**{name: float(value[0]) for name, value in sums.metrics().items()}, "people": people}
