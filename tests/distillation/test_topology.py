"""Which n-grams a model has: from a corpus, from samples, from two models."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import toys
from tacit.base.errors import TacitError
from tacit.distillation import topology
from tacit.distillation.sampling import Sentences, weighted
from tacit.distillation.topology import from_corpus, infer, merge
from tacit.ngram.automaton import Automaton, distribution
from tacit.ngram.grams import grams, words
from tacit.ngram.validity import check
from tacit.text.vocabulary import BOS

V = 8


def ngrams(model: Automaton) -> set[tuple[int, ...]]:
    trie = grams(model.topology).trie
    return {tuple(g) for n in range(1, trie.order + 1) for g in words(trie, n).tolist()}


def after(model: Automaton, history: tuple[int, ...]) -> np.ndarray:
    """p(· | history): walk there word by word."""
    shape = model.topology
    state = 0
    for word in history:
        if word == BOS:
            state = shape.initial
            continue
        where = next(q for q in toys.path(shape, state) if word in toys.has(shape, q))
        state = int(shape.targets[toys.has(shape, where)[word]])
    return toys.dense(model, state)


def test_a_corpus_gives_its_own_ngrams_and_the_size_asked_for() -> None:
    text = toys.sentences(0, 30, V)
    whole = ngrams(from_corpus(text, V, order=3))
    rows = [
        text.tokens[a:b].tolist()
        for a, b in zip(text.offsets.tolist(), text.offsets[1:].tolist(), strict=False)
    ]
    seen = {tuple(r[i : i + n]) for r in rows for n in (1, 2, 3) for i in range(len(r) - n + 1)}
    assert whole == seen | {(w,) for w in range(V)}
    for size in (V - 1, V + 10, len(whole) - 3):
        small = from_corpus(text, V, order=3, max_ngrams=size)
        assert len(small.topology.labels) == size and not check(small).problems


def test_longer_ngrams_are_made_of_common_words() -> None:
    text = toys.sentences(0, 60, V)
    found = ngrams(from_corpus(text, V, order=3, common=5))
    assert {g for g in found if len(g) == 1} == {(w,) for w in range(V)}
    whole = ngrams(from_corpus(text, V, order=3))
    assert {g for g in found if len(g) > 1} == {g for g in whole if len(g) > 1 and max(g) < 5}


def test_an_inferred_topology_is_that_of_the_samples() -> None:
    source = weighted(toys.kneser(3, vocabulary=V))
    found = infer(source, 40, seed=5, order=2)
    assert ngrams(found) == ngrams(from_corpus(source.sample(5, 0, 40), V, order=2))


@settings(max_examples=15)
@given(st.integers(0, 100_000), st.sampled_from([0.0, 0.3, 1.0]), st.integers(1, 3), st.integers(1, 4))
def test_a_merged_model_mixes_the_probabilities_of_every_ngram(
    seed: int, weight: float, m: int, n: int
) -> None:
    first, second = toys.kneser(seed, 12, V, m), toys.kneser(seed + 1, 12, V, n)
    both = merge(first, second, weight)
    assert not check(both).problems
    assert ngrams(both) == ngrams(first) | ngrams(second)
    for gram in ngrams(both):
        if gram[-1] != BOS:
            expected = weight * after(first, gram[:-1]) + (1 - weight) * after(second, gram[:-1])
            assert after(both, gram[:-1])[gram[-1]] == pytest.approx(expected[gram[-1]], rel=1e-9)


def test_a_merged_model_is_pruned_to_the_size() -> None:
    first, second = toys.kneser(0, 40, V), toys.kneser(1, 40, V)
    text = toys.sentences(2, 30, V)
    small = merge(first, second, max_ngrams=60, text=text)
    assert len(small.topology.labels) == 60 and not check(small).problems
    assert ngrams(small) != ngrams(merge(first, second, max_ngrams=60))  # the text has its say
    for state in range(len(small.topology)):
        assert abs(distribution(small, state).sum() - 1) < 1e-9


def test_bad_input_is_told_in_one_line() -> None:
    nothing = Sentences(np.zeros(0, np.int64), np.zeros(1, np.int64))
    with pytest.raises(TacitError, match="no sentences"):
        from_corpus(nothing, V)
    with pytest.raises(TacitError, match="cannot hold 7 words"):
        from_corpus(toys.sentences(0, 3, V), V, max_ngrams=3)
    with pytest.raises(TacitError, match="over 8 and 9 labels"):
        merge(toys.kneser(0, vocabulary=8), toys.kneser(0, vocabulary=9))
    with pytest.raises(TacitError, match="from 0 to 1"):
        merge(toys.kneser(0), toys.kneser(1), weight=1.5)
    shape = toys.topology(1, roots=2)
    pieces = Automaton(shape, np.zeros(len(shape.labels)), np.zeros(len(shape)))
    with pytest.raises(TacitError, match="several roots"):
        merge(pieces, pieces)


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(topology).failed == 0
