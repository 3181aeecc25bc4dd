"""Measures a model as a keyboard: `tacit evaluate --keyboard`.

The measures are defined in tacit.keyboard.measures.effort. The typed text is the held-out part of a run, or a given
corpus.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.keyboard import suggestions
from tacit.keyboard.measures import accuracy, effort
from tacit.keyboard.measures.effort import TypingCounts
from tacit.keyboard.suggestions import Suggester
from tacit.lm.open import open as open_model
from tacit.lm.protocol import Model
from tacit.lm.typed_text import typed_text
from tacit.text import typed as text
from tacit.text.typed import Typed, Words
from tacit.text.vocabulary import Vocabulary

_ASKED = 500  # number of suggestions that are timed
_HANDS = 1 << 20  # largest number of people in one measurement


class KeyboardOptions(NamedTuple):
    """How much text is typed."""

    people: int = 0  # 0: all
    messages: int = 50  # of each person, evenly spread over all of theirs; 0: all
    noisy: int = 1000  # words for noisy taps and glides; 0: none
    seed: int = 0  # of the noise


def measure(
    path: Path,
    corpus: str | None = None,
    options: KeyboardOptions = KeyboardOptions(),  # noqa: B008
    data: Path | None = None,
    progress: Progress = no_progress,
    held_out: Path | None = None,
) -> dict[str, Any]:
    """Measures a run directory, an 8-bit network, or an n-gram file.

    The text is that of `corpus`, or the held-out part of a run: `held_out`, or else `path` itself.
    """
    model, vocabulary = _word_model(path)
    source = typed_text(path, model.case, corpus, held_out, data, model.source.locale)
    suggester = suggestions.over(model.source, capitals=False)
    typed = text.read(*source, options.people, options.messages, data, progress)
    flat = [message for messages in typed.messages for message in messages]

    def scored() -> Any:
        for done, one in enumerate(model.bulk.along(flat), start=1):
            yield one
            progress("typing", done / len(flat))

    counts = effort.count(effort.bar(vocabulary.words), flat, scored())
    decoded = _noisy(suggester, typed, options, progress) if options.noisy else None
    part = "" if source.seed is None else ", held out"
    return {
        "text": f"{source.config.corpus}{part}",
        **effort.summarise(counts, typed, decoded.counts if decoded else None),
        "latency_ms": {
            **_latency(suggester, flat, progress),
            **(decoded.latency if decoded else {}),
        },
        "runtime": model.runtime,
        "model_bytes": model.size,
        "simulated": {
            "typist": "types without a mistake and taps a word as soon as it is one of three",
            "look": effort.LOOK,
            "slots": effort.SLOTS,
            "noise_seed": options.seed,
        },
    }


def _word_model(path: Path) -> tuple[Model, Vocabulary]:
    """Opens a word model; raises a TacitError for a word-piece model."""
    model = open_model(path)
    if not isinstance(model.bulk.encoder, Vocabulary):
        raise TacitError(
            f"{path} is a word-piece model, and --keyboard needs whole words; distil it (`tacit distill`) and "
            "give the resulting model.tacit"
        )
    return model, model.bulk.encoder


class _Decoded(NamedTuple):
    counts: TypingCounts  # [people]
    latency: dict[str, dict[str, float]]


def _noisy(suggester: Suggester, typed: Typed, options: KeyboardOptions, progress: Progress) -> _Decoded:
    """Counts for each person the noisy words typed by taps and by glides, and those decoded correctly."""
    each = math.ceil(options.noisy / len(typed.names))  # words of each person
    counts: TypingCounts = {}
    seconds: dict[str, list[float]] = {way: [] for way in effort.WAYS}
    for k, messages in enumerate(typed.messages):
        hand = options.seed * _HANDS + k  # a separate seed for each person
        for way, outcomes in (
            ("tapped", accuracy.tap_accuracy(suggester, [messages], seed=hand, limit=each)),
            ("glided", accuracy.glide_accuracy(suggester, [messages], seed=hand, limit=each)),
        ):
            right = {way: outcomes.known, f"{way}_alone": outcomes.spatial, f"{way}_model": outcomes.decoded}
            for name, value in right.items():
                counts.setdefault(name, np.zeros(len(typed.names)))[k] = (outcomes.known & value).sum()
            seconds[way] += outcomes.seconds.tolist()
        progress("decoding noisy taps and glides", (k + 1) / len(typed.names))
    latency = {way: _percentiles(times) for way, times in seconds.items()}
    return _Decoded(counts, latency)


def _latency(suggester: Suggester, messages: list[Words], progress: Progress) -> dict[str, dict[str, float]]:
    """Measures how long three suggestions take: of the next word, and of completions of its first letter.

    Requests come in the order of a keyboard, word after word, in messages spread over the text. Every message is typed
    twice and only the second pass is timed, so that caches are warm.
    """
    mean = sum(map(len, messages)) / len(messages)
    chosen = [messages[i] for i in text.spread(len(messages), math.ceil(_ASKED / mean))]
    seconds: dict[str, list[float]] = {"next_word": [], "completion": []}
    for repeat in range(2):
        for done, words in enumerate(chosen, start=1):
            for i, word in enumerate(words):
                for name, prefix in (("next_word", ""), ("completion", word[:1])):
                    began = time.perf_counter()
                    suggester.complete(words[:i], prefix)
                    if repeat:
                        seconds[name].append(time.perf_counter() - began)
            progress("timing suggestions", (done / len(chosen) + repeat) / 2)
    return {name: _percentiles(times) for name, times in seconds.items()}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    """Returns percentiles in milliseconds."""
    if not seconds:
        return {}
    return {f"p{q}": round(1e3 * float(np.percentile(seconds, q)), 4) for q in (50, 95, 99)}


_NAMES = {
    "top1": "top-1 recall",
    "top3": "top-3 recall",
    "keystroke_savings": "keystroke savings",
    "oov": "out of vocabulary",
    "impression_top1": "impressions, top-1 (simulated)",
    "impression_top3": "impressions, top-3 (simulated)",
    "click_through": "click-through (simulated)",
    "tapped_alone": "taps, keys alone (simulated)",
    "tapped_model": "taps, with model (simulated)",
    "glided_alone": "glides, keys alone (simulated)",
    "glided_model": "glides, with model (simulated)",
}


def table(measured: dict[str, Any]) -> list[list[str]]:
    """Returns the measures as table rows: the overall figure, its interval, and percentiles over typists."""
    rows = [["", "everybody", "95 %", "p10", "p50", "p90"]]
    for name, label in _NAMES.items():
        if name not in measured:
            continue
        half, spread = measured["ci95"][name], measured["by_person"][name]
        shown = f"±{half:.2%}" if math.isfinite(half) else ""
        rows.append(
            [label, f"{measured[name]:.2%}", shown, *(f"{spread[q]:.2%}" for q in ("p10", "p50", "p90"))]
        )
    return rows


def facts(measured: dict[str, Any]) -> list[str]:
    """Returns the lines below the table: amount of text, size of the model, latencies."""
    labels = {"next_word": "next word", "completion": "completion", "tapped": "taps", "glided": "glide"}
    times = [
        f"  {labels[name]}: {p['p50']:.2f} / {p['p95']:.2f} / {p['p99']:.2f}"
        for name, p in measured["latency_ms"].items()
        if p
    ]
    return [
        f"{measured['text']}: {measured['people']:,} people, {measured['messages']:,} messages, "
        f"{measured['words']:,} words, {measured['characters']:,} characters typed with {measured['keys']:,} keys",
        f"model: {measured['model_bytes']:,} bytes ({measured['runtime']}); milliseconds, p50 / p95 / p99:",
        *times,
    ]
