"""Measures a distilled model on held-out text, and compares it with the network and plain n-gram models of its size.

One of these is a Kneser-Ney model of the clients' pooled text. It exists only in a simulation, where it shows the cost
of not collecting the text.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit import runs
from tacit.distillation import capitals
from tacit.distillation.model import Distilled, DistillOptions, words_of
from tacit.distillation.sampling import Sentences
from tacit.distillation.topology import from_corpus
from tacit.lm.protocol import suggest
from tacit.ngram.automaton import Automaton
from tacit.ngram.compact import reader
from tacit.ngram.compact.model import CompactSource
from tacit.ngram.score import score
from tacit.scoring.scores import summary
from tacit.text.packed import Packed
from tacit.text.prepare import Prepared
from tacit.text.vocabulary import BOS, UNK, Vocabulary

_ASKED = 300  # contexts whose suggestions are timed


class HeldOutText(NamedTuple):
    """The text that a distilled model is measured on."""

    network: Packed  # held-out text in the labels of the network
    words: Packed  # the same in words
    collected: Packed | None  # what the clients typed, in words; None where it is never in one place


def held_out_text(run: runs.Run, distilled: Distilled, ready: Prepared, data: Path | None) -> HeldOutText:
    """Returns the text of the run's held-out people (or its test split), and its clients' text.

    For a private run the clients' text is left out: scores of a model of that text have no noise.

    `ready` is the run's text in the labels of the network. For another vocabulary the text is read again.
    """
    words = ready
    # unigrams of a larger vocabulary count as known
    known = words_of(run) if distilled.caser else distilled.vocabulary
    if run.spelling or len(known) > len(run.vocabulary):
        words = run.prepare(data, words=known)
    clients = None if run.config.privacy.private else words.clients
    return HeldOutText(ready.test, words.test, clients if isinstance(clients, Packed) else None)


def measure(
    run: runs.Run, distilled: Distilled, options: DistillOptions, held_out: HeldOutText, file: Path
) -> dict[str, Any]:
    """Scores the model on held-out text, and with it the network and plain n-gram models of the same size.

    A cased model is scored on the same text with capitals restored by the caser; capitals count.
    """
    text = _in_labels_of(distilled, held_out.words)
    stored = reader.open(file)
    words, quantised = stored.to_automaton()
    places = np.array(
        [words.index.get(w, UNK) if i > UNK else i for i, w in enumerate(distilled.vocabulary.words)]
    )
    in_file = replace(text, tokens=places[text.tokens].astype(np.int32))
    scores = run.score(held_out.network)
    models = {
        "network": summary(scores, held_out.network, run.spelling),
        "n-gram": summary(score(distilled.model, text), text),
        "compact file": summary(score(quantised, in_file), in_file),
    }
    for name, model in _kneser_ney(run, distilled, options, held_out.collected).items():
        shorter = _known(text, model.topology.vocabulary)
        models[name] = summary(score(model, shorter), shorter)
    shape = distilled.model.topology
    return {
        "topology": options.topology,
        "inferred_from": _inferred_from(run, options),
        "client_counts": options.client_counts,
        "order": options.order,
        "cased": options.cased,
        "ngrams": len(shape.labels),
        "states": len(shape),
        "vocabulary": len(distilled.vocabulary),
        "sentences": options.sentences,
        "models": models,
        "latency_us": latency(stored, words, in_file),
    }


def _inferred_from(run: runs.Run, options: DistillOptions) -> str | None:
    """Returns which network's sentences gave n-grams: that over words, that over pieces, or None."""
    if options.topology == "e":
        return None
    return "pieces" if run.spelling and not options.pieces else "words"


def _kneser_ney(
    run: runs.Run, distilled: Distilled, options: DistillOptions, collected: Packed | None
) -> dict[str, Automaton]:
    """Returns Kneser-Ney models of the same size: of the supplement, and of the clients' pooled text."""
    models = {}
    if distilled.supplement is not None:
        models["Kneser-Ney, supplement"] = distilled.supplement
    if collected is not None:
        labels = len(distilled.caser.cased.words) if distilled.caser else len(words_of(run))
        pooled = _known(_in_labels_of(distilled, collected), labels)
        sentences = Sentences(pooled.tokens.astype(np.int64), pooled.offsets)
        models["Kneser-Ney, collected text"] = from_corpus(
            sentences, labels, options.order, options.max_ngrams
        )
    return models


def _in_labels_of(distilled: Distilled, text: Packed) -> Packed:
    """Returns a text of the run in the labels of the distilled model."""
    if not distilled.caser:
        return text
    tokens = capitals.recast(distilled.caser).rewrite(Sentences(text.tokens.astype(np.int64), text.offsets))
    return replace(text, tokens=tokens.astype(np.int32))


def _known(text: Packed, words: int) -> Packed:
    """Returns the text for a model that has only the first `words` words."""
    return replace(text, tokens=np.where(text.tokens < words, text.tokens, UNK).astype(np.int32))


def latency(stored: reader.Compact, words: Vocabulary, text: Packed) -> dict[str, float]:
    """Times the three best next words from the file at places of a text, in microseconds."""
    places = np.flatnonzero(text.tokens != BOS)
    source = CompactSource(stored)
    suggest(source, [], 3)  # the first call sorts the favourites
    times = []
    for at in places[np.linspace(0, len(places) - 1, min(_ASKED, len(places))).astype(int)].tolist():
        start = int(text.offsets[np.searchsorted(text.offsets, at, side="right") - 1]) + 1
        before = [words.words[i] for i in text.tokens[start:at]]
        began = time.perf_counter()
        suggest(source, before, 3)
        times.append(1e6 * (time.perf_counter() - began))
    return {"p50": float(np.percentile(times, 50)), "p99": float(np.percentile(times, 99))}
