"""What `tacit evaluate --keyboard` does: a model measured as somebody who types would feel it.

Definitions: tacit.keyboard.measures.effort. People type on the run's held-out part, or on a corpus that is given.
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
from tacit.keyboard.measures.effort import Sums
from tacit.keyboard.suggestions import Suggester
from tacit.lm.open import open as open_model
from tacit.lm.protocol import Model
from tacit.lm.typed_text import typed_text
from tacit.text import typed as text
from tacit.text.typed import Typed, Words
from tacit.text.vocabulary import Vocabulary

_ASKED = 500  # places of the text at which a suggestion is timed
_HANDS = 1 << 20  # people in one measurement, at most


class KeyboardOptions(NamedTuple):
    """How much is typed."""

    people: int = 0  # 0: all
    messages: int = 50  # of each, spread over all of theirs; 0: all
    noisy: int = 1000  # words that are tapped and glided; 0: none
    seed: int = 0  # of the noise


def measure(
    path: Path,
    corpus: str | None = None,
    options: KeyboardOptions = KeyboardOptions(),  # noqa: B008
    data: Path | None = None,
    progress: Progress = no_progress,
    held_out: Path | None = None,
) -> dict[str, Any]:
    """All measures of a run directory, an 8-bit network, or an n-gram file.

    People of `corpus` type, or those that were held out of a run: of the model's own, or of `held_out`.
    """
    model, vocabulary = _word_model(path)
    source = typed_text(path, model.case, corpus, held_out, data)
    suggester = suggestions.over(model.source, capitals=False)
    typed = text.read(*source, options.people, options.messages, data, progress)
    flat = [message for said in typed.messages for message in said]

    def scored() -> Any:
        for done, one in enumerate(model.bulk.along(flat), start=1):
            yield one
            progress("typing", done / len(flat))

    sums = effort.count(effort.bar(vocabulary.words), flat, scored())
    decoded = _noisy(suggester, typed, options, progress) if options.noisy else None
    part = "" if source.seed is None else ", held out"
    return {
        "text": f"{source.config.corpus}{part}",
        **effort.summarise(sums, typed, decoded.sums if decoded else None),
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
    """Opens a model over words."""
    model = open_model(path)
    if not isinstance(model.bulk.encoder, Vocabulary):
        raise TacitError(
            f"{path} is over word-pieces, and --keyboard needs whole words; distil it (`tacit distill`) and "
            "give its model.tacit"
        )
    return model, model.bulk.encoder


class _Decoded(NamedTuple):
    sums: Sums  # [people]
    latency: dict[str, dict[str, float]]


def _noisy(suggester: Suggester, typed: Typed, options: KeyboardOptions, progress: Progress) -> _Decoded:
    """Words that were tapped and glided, and how many of them were found, of each person."""
    each = math.ceil(options.noisy / len(typed.names))  # words: as many of everybody
    sums: Sums = {}
    seconds: dict[str, list[float]] = {way: [] for way in effort.WAYS}
    for k, said in enumerate(typed.messages):
        hand = options.seed * _HANDS + k  # everybody has their own
        for way, found in (
            ("tapped", accuracy.tap_accuracy(suggester, [said], seed=hand, limit=each)),
            ("glided", accuracy.glide_accuracy(suggester, [said], seed=hand, limit=each)),
        ):
            right = {way: found.known, f"{way}_alone": found.spatial, f"{way}_model": found.decoded}
            for name, value in right.items():
                sums.setdefault(name, np.zeros(len(typed.names)))[k] = (found.known & value).sum()
            seconds[way] += found.seconds.tolist()
        progress("decoding noisy taps and glides", (k + 1) / len(typed.names))
    latency = {way: _percentiles(times) for way, times in seconds.items()}
    return _Decoded(sums, latency)


def _latency(suggester: Suggester, messages: list[Words], progress: Progress) -> dict[str, dict[str, float]]:
    """How long three suggestions take: the next word, and completions of its first letter.

    Asked as a keyboard does, word after word and then a letter, in messages spread over the text. They are typed twice
    and timed the second time, when everything that is made once is there.
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
    return {name: _percentiles(found) for name, found in seconds.items()}


def _percentiles(seconds: list[float]) -> dict[str, float]:
    """Milliseconds."""
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


def table(found: dict[str, Any]) -> list[list[str]]:
    """The measures as rows of a table: everybody, the interval, and how they are spread over typists."""
    rows = [["", "everybody", "95 %", "p10", "p50", "p90"]]
    for name, label in _NAMES.items():
        if name not in found:
            continue
        half, spread = found["ci95"][name], found["by_person"][name]
        shown = f"±{half:.2%}" if math.isfinite(half) else ""
        rows.append(
            [label, f"{found[name]:.2%}", shown, *(f"{spread[q]:.2%}" for q in ("p10", "p50", "p90"))]
        )
    return rows


def facts(found: dict[str, Any]) -> list[str]:
    """What stands below the table."""
    said = {"next_word": "next word", "completion": "completion", "tapped": "taps", "glided": "glide"}
    times = [
        f"  {said[name]}: {p['p50']:.2f} / {p['p95']:.2f} / {p['p99']:.2f}"
        for name, p in found["latency_ms"].items()
        if p
    ]
    return [
        f"{found['text']}: {found['people']:,} people, {found['messages']:,} messages, {found['words']:,} words, "
        f"{found['characters']:,} characters typed with {found['keys']:,} keys",
        f"model: {found['model_bytes']:,} bytes ({found['runtime']}); milliseconds, p50 / p95 / p99:",
        *times,
    ]
