"""Scores a run's best model on text that it was not trained on."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.base.progress import Progress, no_progress
from tacit.runs.data import prepare
from tacit.scoring.scores import summary
from tacit.text.catalogue import resolve, same_corpus
from tacit.text.corpus import is_messages
from tacit.text.prepare import whole_corpus

if TYPE_CHECKING:
    from tacit.runs.run import Run


def evaluate_run(
    run: Run, corpus: str | None = None, data: Path | None = None, progress: Progress = no_progress
) -> dict[str, Any]:
    """Scores the best model on the run's held-out part, or on all of another corpus.

    The held-out part is the people excluded from training, or the corpus's own test split; `seen` adds later text of
    the people trained on.
    """
    config, spelling = run.config, run.spelling
    if corpus is not None and not same_corpus(corpus, config.text.corpus, data):
        by_people = corpus == "typists" or is_messages(resolve(corpus, data))  # these have no protocol
        other = config.text.of(corpus, "plain" if by_people else config.text.protocol)
        text = whole_corpus(other, config.typists, run.encoder, data, progress)
        return {"text": corpus, **summary(run.score(text), text, spelling)}
    ready = prepare(config, run.encoder, data, progress)
    test = summary(run.score(ready.test), ready.test, spelling)
    figures = {"text": f"{config.text.corpus}, held out", **test}
    if ready.seen is not None:
        figures["seen"] = summary(run.score(ready.seen), ready.seen, spelling)
    return figures
