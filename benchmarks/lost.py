"""Measures, step by step, where a distilled n-gram model loses accuracy against Kneser-Ney on the collected text.

The two differ in three ways. Each step changes one of them:

    Kneser-Ney          typed n-grams, weights from typed text
    network             the same n-grams, weights from the network on typed text
    sampled sentences   the same n-grams, weights from the network on sampled sentences
    A_r                 n-grams of the supplement and of sampled sentences

The first three need the clients' text in one place: a simulation has it, a server does not.

    python benchmarks/lost.py RUN [--supplement NAME] [--sentences 20000] [--max-ngrams 100000] [--out lost.json]

`python tools/measured.py add-lost NAME lost.json` adds the output to docs/ngram.md.
"""

from __future__ import annotations

import argparse
import datetime
import json
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit import runs
from tacit.distillation import sampling
from tacit.distillation.approximate import algorithm_1, count
from tacit.distillation.minimise import minimise
from tacit.distillation.sampling import Sentences
from tacit.distillation.topology import from_corpus
from tacit.federated.evaluation import scorer
from tacit.ngram.automaton import Automaton, Topology
from tacit.ngram.score import score
from tacit.runs.data import prepare
from tacit.scoring.scores import summary
from tacit.text import supplement
from tacit.text.packed import Packed


def measure(run: runs.Run, beside: supplement.Supplement, given: argparse.Namespace) -> dict[str, Any]:
    """Every step's figures on the run's held-out people; what is being done goes to stderr."""
    began, config = time.perf_counter(), run.config
    ready = prepare(config, run.vocabulary, given.data)
    assert isinstance(ready.clients, Packed)
    source = sampling.network(run.model, run.params)
    limits = given.order, given.max_ngrams
    figures: dict[str, Any] = {}

    def note(name: str, scores: Any) -> None:
        s = summary(scores, ready.test)
        figures[name] = {k: float(f"{s[k]:.6g}") for k in ("top1", "top3", "perplexity")}
        figures[name]["ci95_top1"] = float(f"{s['ci95']['top1']:.6g}")
        print(
            f"{time.perf_counter() - began:6.0f} s  {name}: top-1 {s['top1']:.2%}",
            file=sys.stderr,
            flush=True,
        )

    def weighted_by(shape: Topology, text: Sentences) -> Automaton:
        (counts,) = count(source, [shape], text)
        return minimise(shape, counts).model

    note("network", scorer(run.model)(run.params, ready.test))
    typed = _sentences(ready.clients)
    collected = from_corpus(typed, source.vocabulary, *limits)
    note("collected", score(collected, ready.test))
    note("expected", score(weighted_by(collected.topology, typed), ready.test))
    drawn = sampling.draw(source, 0, given.sentences)
    note("drawn", score(weighted_by(collected.topology, drawn), ready.test))
    own = from_corpus(_sentences(beside.packed(run.vocabulary)), source.vocabulary, *limits)
    refined = algorithm_1(source, own, given.sentences, 0, *limits).refined
    note("refined", score(refined, ready.test))
    return figures


def _sentences(text: Packed) -> Sentences:
    return Sentences(text.tokens.astype(np.int64), text.offsets)


def main() -> None:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("run", type=Path)
    given.add_argument("--supplement")
    given.add_argument("--sentences", type=int, default=20_000)
    given.add_argument("--max-ngrams", type=int, default=100_000)
    given.add_argument("--order", type=int, default=3)
    given.add_argument("--data", type=Path)
    given.add_argument("--out", type=Path)
    options = given.parse_args()
    run = runs.load(options.run)
    beside = supplement.find(run.config.text, run.config.typists, options.supplement, options.data)
    if beside is None or run.spelling:
        given.error("give --supplement CORPUS, and a run over words")
    asked = {k: getattr(options, k) for k in ("sentences", "max_ngrams", "order")}
    words = f"--supplement {options.supplement} " if options.supplement else ""
    line = json.dumps(
        {
            "command": f"python benchmarks/lost.py RUN {words}--sentences {options.sentences} "
            f"--max-ngrams {options.max_ngrams}",
            "date": str(datetime.date.today()),
            "jax": jax.__version__,
            **asked,
            "steps": measure(run, beside, options),
        }
    )
    if options.out:
        options.out.write_text(line + "\n", "utf-8")
    print(line)


if __name__ == "__main__":
    main()
