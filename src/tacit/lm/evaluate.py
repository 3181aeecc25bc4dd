"""Scoring and asking a finished run, or a model file: what `tacit evaluate` and `tacit predict` do.

A file is an n-gram model (compact or ARPA) or an 8-bit network of `tacit export`; its first bytes say which.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np

from tacit import runs
from tacit.base.errors import TacitError
from tacit.base.progress import Watch, nobody
from tacit.federated.evaluation import scorer, suggest
from tacit.lm import files
from tacit.lm.network8 import forward, reader
from tacit.ngram import baseline
from tacit.ngram.automaton import log_probs
from tacit.ngram.compact import reader as compact
from tacit.ngram.compact.search import next_words
from tacit.ngram.suggest import top_k
from tacit.runs.evaluate import evaluate_run
from tacit.scoring.scores import summary
from tacit.text.pieces import MARKER
from tacit.text.prepare import TextConfig, context, whole_corpus
from tacit.text.tokens import tokenize
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import UNK


def evaluate(
    path: Path, corpus: str | None = None, data: Path | None = None, watch: Watch = nobody
) -> dict[str, Any]:
    """Metrics of a run's best model on its own held-out part, or on all of another corpus; of a file on a corpus.

    Held-out people (or the corpus's own test split) are scored; `seen` adds later text of people trained on.
    """
    if files.is_model_file(path):
        return _evaluate_file(path, corpus, data, watch)
    return evaluate_run(runs.load(path), corpus, data, watch)


def _evaluate_file(path: Path, corpus: str | None, data: Path | None, watch: Watch) -> dict[str, Any]:
    """Metrics of a model file; a model without capitals reads text without capitals."""
    if corpus is None:
        raise TacitError(f"{path} is a file, which has no held-out text of its own; give --corpus")
    if reader.is_network8(path):
        return _evaluate_network8(path, corpus, data, watch)
    words, model = files.read(path)
    case: Literal["keep", "lower"] = "keep" if words.cased else "lower"
    config = TextConfig(corpus=corpus, case=case)
    text = whole_corpus(config, TypistsConfig(), words, data, watch)
    return {"text": corpus, **summary(baseline.score(model, text), text)}


def _evaluate_network8(path: Path, corpus: str, data: Path | None, watch: Watch) -> dict[str, Any]:
    from tacit.lm.network8.writer import as_model  # not needed for n-grams

    stored = reader.open(path)
    model, params = as_model(stored)
    config = TextConfig(corpus=corpus, case=stored.facts["case"])
    text = whole_corpus(config, TypistsConfig(), stored.vocabulary, data, watch)
    return {"text": corpus, **summary(scorer(model)(params, text), text)}


def _predict_from(path: Path, text: str, k: int) -> list[tuple[str, float]]:
    """The next words from a file; of a compact one or an 8-bit network in the way of a phone."""
    if reader.is_network8(path):
        network = reader.open(path)
        typed = [w if network.id(w) != UNK else w.lower() for w in tokenize(text)]
        return forward.next_words(network, typed, k)
    if files.is_compact(path):
        stored = compact.open(path)
        return next_words(stored, [w if stored.id(w) != UNK else w.lower() for w in tokenize(text)], k)
    words, model = files.read(path)
    typed = [w if w in words.index else w.lower() for w in tokenize(text)]
    ids = words.encode(typed).astype(np.int64)  # with its end, before which the state is asked for
    state = model.topology.states_along(ids, np.array([0, len(ids)]))[-1:]
    best = top_k(model, state, k)[0]
    best = best[best >= 0]
    p = np.exp(log_probs(model, np.repeat(state, len(best)), best))
    return [(words.words[i], float(q)) for i, q in zip(best.tolist(), p, strict=True)]


def predict(path: Path, text: str, k: int, user: str | None = None) -> list[tuple[str, float]]:
    """The k likeliest next words after `text`, with their probabilities; of a piece model, words of one piece.

    With `user`, those of that person's own model, which `tacit personalize` left in the run.
    """
    if files.is_model_file(path):
        if user is not None:
            raise TacitError(f"{path} is a file and has no personal models; give a run directory with --user")
        return _predict_from(path, text, k)
    run = runs.load(path)
    if user is not None:
        from tacit.personal import models  # not needed without

        own = models.load(run, user)
        ids = context(text, run.encoder, run.config.text)
        return [(run.vocabulary.words[i], p) for i, p in models.suggest(run, own, ids, k)]
    allowed = run.spelling.pieces.whole if run.spelling else None
    best = suggest(run.model, run.params, context(text, run.encoder, run.config.text), k, allowed)
    return [
        (run.vocabulary.words[i].removesuffix(MARKER) if run.spelling else run.vocabulary.words[i], p)
        for i, p in best
    ]
