"""Measures 8-bit networks: bytes, milliseconds a word on one core, and the recall that quantisation loses.

    export OPENBLAS_NUM_THREADS=1                 # numpy's products in one thread
    python benchmarks/network8.py                 # Gboard's network of 10,000 words, untrained
    python benchmarks/network8.py RUN [RUN …]     # and trained runs, on their held-out people

Prints a JSON line for each network. The process is kept on one core while it is timed.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.lm import export
from tacit.lm.dense import likeliest
from tacit.lm.network8 import forward, reader, writer
from tacit.lm.network8.model import network8_model
from tacit.models import ARCHITECTURES, count_parameters, language_model
from tacit.runs import read_config
from tacit.text.vocabulary import SPECIALS, Vocabulary

WORDS, TIMED, CONTEXT = 10_000, 1000, 30


@contextmanager
def one_core() -> Iterator[None]:
    every = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(every)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, every)


def quantiles(call: Callable[[int], Any], times: int) -> dict[str, float]:
    """Returns percentiles in milliseconds over numbered calls, without the first few."""
    milliseconds = []
    for i in range(times + 5):
        began = time.perf_counter()
        call(i)
        milliseconds.append(1e3 * (time.perf_counter() - began))
    return {f"p{q}": round(float(np.percentile(milliseconds[5:], q)), 3) for q in (50, 95, 99)}


def speed(path: Path) -> dict[str, Any]:
    """Times opening, one more word with three suggestions, one more letter, and reading a whole context."""
    stored = reader.open(path)
    ids = np.random.default_rng(0).integers(len(SPECIALS), len(stored.words), TIMED + 5)
    source = network8_model(stored).source
    held = [forward.state_after(stored, [])]
    context = [stored.words[i] for i in ids[:CONTEXT]]
    log_p = forward.log_probs(stored, held[0])[0]

    def further(i: int) -> None:
        held[0] = forward.step(stored, held[0], ids[i : i + 1])
        likeliest(forward.log_probs(stored, held[0])[0, 3:], 3)

    def letter(i: int) -> None:
        first, last = source.starting(stored.words[ids[i]][:1])
        likeliest(log_p[first:last], 3)

    def whole(i: int) -> None:
        likeliest(forward.log_probs(stored, forward.state_after(stored, context))[0, 3:], 3)

    with one_core():
        return {
            "bytes": stored.size,
            "vocabulary": len(stored.words),
            "open_ms": quantiles(lambda i: reader.open(path), 20)["p50"],
            "word_ms": quantiles(further, TIMED),
            "letter_ms": quantiles(letter, TIMED),
            "context_ms": quantiles(whole, 50),
        }


def drawn(folder: Path) -> dict[str, Any]:
    """Measures Gboard's network with untrained weights and words of random syllables."""
    draw = np.random.default_rng(0)
    syllables = [c + v + e for c in "bcdfghjklmnprstvwz" for v in "aeiou" for e in ("", "n", "r", "s", "t")]
    words: dict[str, None] = {}
    while len(words) < WORDS - len(SPECIALS):
        words["".join(draw.choice(syllables, draw.integers(1, 5)))] = None
    config = ARCHITECTURES["gboard"]
    params = language_model(config, WORDS).init(jax.random.key(0))
    known = Vocabulary((*SPECIALS, *words))
    writer.write(folder / "drawn.tacit", known, config, params, name="drawn", max_words=CONTEXT)
    return {
        "network": "gboard, not trained",
        "parameters": count_parameters(params),
        **speed(folder / "drawn.tacit"),
    }


def trained(run: Path, folder: Path) -> dict[str, Any]:
    """Measures a run's network before and after quantisation."""
    config, file = read_config(run), folder / "run.tacit"
    exported = export.export_network(run, file, people=1000)
    before, after = exported["models"].values()
    return {
        "network": f"{config.model.kind} {config.model.hidden}, embedding {config.model.embedding}, "
        f"{config.training.mode} training",
        "parameters": exported["parameters"],
        **speed(file),
        **{k: before[k] for k in ("people", "words")},
        **{k: [round(before[k], 5), round(after[k], 5)] for k in ("top1", "top3", "perplexity")},
        "top1_lost": round(1 - after["top1"] / before["top1"], 5),
        "top3_lost": round(1 - after["top3"] / before["top3"], 5),
    }


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(json.dumps(drawn(Path(folder))), flush=True)
        for run in sys.argv[1:]:
            print(json.dumps(trained(Path(run), Path(folder))), flush=True)


if __name__ == "__main__":
    main()
