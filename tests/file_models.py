"""Small random models for the tests of files: words, texts, Kneser-Ney and automata with any weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, Topology, distribution, from_kneser_ney
from tacit.ngram.compact import reader, writer
from tacit.text.vocabulary import SPECIALS, Vocabulary

WORDS = (
    "to",
    "be",
    "bee",
    "Bee",
    "été",
    "or",
    "not",
    "don't",
    "🙂",
    "zoo",
    "日本",
    "日",
    "a",
    "ab",
    "abc",
    "b",
)


def vocabulary(size: int) -> Vocabulary:
    """Known words first, then as many others as are wanted; by no means in order."""
    return Vocabulary((*SPECIALS, *WORDS, *(f"w{i * 7919 % 100_003}" for i in range(size)))[:size])


def sentences(seed: int, count: int, size: int) -> list[list[int]]:
    """Words that depend on the one before; the last two of the vocabulary are never used."""
    draw = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        body, last = [], 0
        for _ in range(int(draw.integers(0, 9))):
            last = 2 + (int(draw.zipf(1.5)) * 5 + last * 3) % (size - 4)
            body.append(last)
        found.append(body)
    return found


def flat(bodies: Sequence[Sequence[int]]) -> tuple[np.ndarray, np.ndarray]:
    whole = [[0, *body, 1] for body in bodies]
    return np.array([i for s in whole for i in s]), np.cumsum([0, *map(len, whole)])


def kneser(seed: int, size: int = 20, order: int = 3, count: int = 40) -> Automaton:
    return from_kneser_ney(kneser_ney.fit(*flat(sentences(seed, count, size)), size, order))


def any_weights(seed: int, size: int = 20, order: int = 3, count: int = 40) -> Automaton:
    """The same n-grams with random weights that sum to one: an arc may be less likely than what it hides."""
    shape = kneser(seed, size, order, count).topology
    return weighted(shape, np.random.default_rng(seed))


def weighted(shape: Topology, draw: np.random.Generator) -> Automaton:
    """Random weights, state by state from the root, the plain way."""
    log_p, log_backoff = np.zeros(len(shape.labels)), np.zeros(len(shape))
    for q in np.argsort(shape.depth, kind="stable"):
        arcs = slice(shape.starts[q], shape.starts[q + 1])
        mass = draw.dirichlet(np.full(arcs.stop - arcs.start + (shape.backoff[q] >= 0), 0.5)) * 0.98
        mass += 0.02 / len(mass)
        log_p[arcs] = np.log(mass[: arcs.stop - arcs.start])
        if shape.backoff[q] >= 0:
            below = distribution(Automaton(shape, log_p, log_backoff), int(shape.backoff[q]))
            below[shape.labels[arcs]] = 0
            log_backoff[q] = np.log(mass[-1] / below.sum())
    return Automaton(shape, log_p, log_backoff)


def saved(tmp_path: Path, model: Automaton, v: Vocabulary, **more) -> reader.Compact:
    """The model written to m.tng in this folder, and opened."""
    size = writer.write(tmp_path / "m.tng", v, model, name="a model", **more)
    assert size == (tmp_path / "m.tng").stat().st_size
    return reader.open(tmp_path / "m.tng")


def refused(call, told: str, *folders: Path) -> None:
    """The call raises one line that says this, and leaves no file behind in these folders."""
    before = [sorted(folder.iterdir()) for folder in folders]
    with pytest.raises(TacitError, match=told) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert [sorted(folder.iterdir()) for folder in folders] == before
