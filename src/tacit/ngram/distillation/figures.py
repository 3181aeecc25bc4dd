"""How good a distilled model is: on held-out text, beside the network and beside plain n-grams of its size.

What it is compared with includes a Kneser-Ney model of the clients' own collected text: in the world nobody could
make it, in a simulation it tells what not collecting costs.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tacit import runs
from tacit.federated.evaluation import scorer
from tacit.ngram import baseline
from tacit.ngram.automaton import Automaton
from tacit.ngram.compact import reader
from tacit.ngram.compact.search import next_words
from tacit.ngram.distillation import capitals
from tacit.ngram.distillation.sampling import Sentences
from tacit.ngram.distillation.topology import from_corpus
from tacit.scoring.scores import summary
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, UNK, Vocabulary

if TYPE_CHECKING:
    from tacit.ngram.distillation.distill import Distilled, DistillOptions

_ASKED = 300  # contexts whose suggestions are timed


class Judged(NamedTuple):
    """Text that a model is measured on."""

    network: Packed  # held-out text in the labels of the network
    words: Packed  # the same in words
    collected: Packed | None  # what the clients typed, in words; None where it is never in one place


def held_out(run: runs.Run, found: Distilled, data: Path | None) -> Judged:
    """The run's own held-out people (or test split), and its clients' text."""
    ready = words = run.prepare(data)
    known = run.spelling.words if run.spelling else run.vocabulary
    known = known if found.caser else found.vocabulary  # single words of a larger vocabulary count as known
    if run.spelling or len(known) > len(run.vocabulary):
        words = run.prepare(data, words=known)
    return Judged(ready.test, words.test, words.clients if isinstance(words.clients, Packed) else None)


def measure(
    run: runs.Run, found: Distilled, options: DistillOptions, judged: Judged, file: Path
) -> dict[str, Any]:
    """How good the model is on held-out text, beside the network and beside plain n-grams of its size.

    A cased model is scored on the same text with capitals put back by the caser, capitals counted.
    """
    text = _text_of(found, judged.words)
    stored = reader.open(file)
    words, quantised = stored.to_automaton()
    places = np.array(
        [words.index.get(w, UNK) if i > UNK else i for i, w in enumerate(found.vocabulary.words)]
    )
    own = replace(text, tokens=places[text.tokens].astype(np.int32))
    scores = scorer(run.model, run.spelling)(run.params, judged.network)
    rows = {
        "network": summary(scores, judged.network, run.spelling),
        "n-gram": summary(baseline.score(found.model, text), text),
        "compact file": summary(baseline.score(quantised, own), own),
    }
    labels = len(found.caser.cased.words) if found.caser else len(run.vocabulary)
    labels = len(run.spelling.words) if run.spelling and not found.caser else labels
    plain: dict[str, Automaton | None]
    plain = {"Kneser-Ney, supplement": found.supplement, "Kneser-Ney, collected text": None}
    if judged.collected is not None:
        pooled = _known(_text_of(found, judged.collected), labels)
        plain["Kneser-Ney, collected text"] = from_corpus(
            Sentences(pooled.tokens.astype(np.int64), pooled.offsets),
            labels,
            options.order,
            options.max_ngrams,
        )
    for name, model in plain.items():
        if model is not None:
            shorter = _known(text, labels)
            rows[name] = summary(baseline.score(model, shorter), shorter)
    shape = found.model.topology
    return {
        "topology": options.topology,
        "order": options.order,
        "cased": options.cased,
        "ngrams": len(shape.labels),
        "states": len(shape),
        "vocabulary": len(found.vocabulary),
        "sentences": options.sentences,
        "models": rows,
        "latency_us": latency(stored, words, own),
    }


def _text_of(found: Distilled, text: Packed) -> Packed:
    """A text of the run in the model's labels."""
    if not found.caser:
        return text
    tokens = capitals.recast(found.caser).rewrite(Sentences(text.tokens.astype(np.int64), text.offsets))
    return replace(text, tokens=tokens.astype(np.int32))


def _known(text: Packed, words: int) -> Packed:
    """The text for a model that knows the first so many words only."""
    return replace(text, tokens=np.where(text.tokens < words, text.tokens, UNK).astype(np.int32))


def latency(stored: reader.Compact, words: Vocabulary, text: Packed) -> dict[str, float]:
    """Microseconds for the three best next words from the file, at places of a text."""
    places = np.flatnonzero(text.tokens != BOS)
    next_words(stored, [], 3)  # the first call puts favourites in order
    times = []
    for at in places[np.linspace(0, len(places) - 1, min(_ASKED, len(places))).astype(int)].tolist():
        start = int(text.offsets[np.searchsorted(text.offsets, at, side="right") - 1]) + 1
        before = [words.words[i] for i in text.tokens[start:at]]
        began = time.perf_counter()
        next_words(stored, before, 3)
        times.append(1e6 * (time.perf_counter() - began))
    return {"p50": float(np.percentile(times, 50)), "p99": float(np.percentile(times, 99))}
