"""The order-2 model of an n-gram model, against all its states' distributions, one step after another."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

from file_models import any_weights, kneser
from tacit.ngram import order_2 as module
from tacit.ngram.automaton import Automaton, distribution, from_kneser_ney
from tacit.ngram.kneser_ney import fit
from tacit.ngram.order_2 import last_words, order_2

SIZE = 12


def expected(model: Automaton) -> dict[int, np.ndarray]:
    """p(w | v) over all words, for each v that occurs: its states' distributions, by how often each is reached."""
    shape = model.topology
    p = [distribution(model, q) for q in range(len(shape))]
    move = np.zeros((len(shape), len(shape)))
    for q in range(len(shape)):
        labels = np.flatnonzero(p[q])
        arcs = shape.reading(np.full(len(labels), q), labels)[1]
        for label, target in zip(labels, shape.targets[arcs], strict=True):
            if target >= 0:
                move[q, target] += p[q][label]
    start = np.zeros(len(shape))
    start[shape.initial] = 1
    visits = np.linalg.solve((np.eye(len(shape)) - move).T, start)
    last = last_words(shape)
    found = {}
    for v in range(SIZE):
        states = np.flatnonzero((last == v) & (visits > 1e-9))
        if len(states):
            found[v] = (visits[states, None] * np.array(p)[states]).sum(axis=0) / visits[states].sum()
    return found


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", range(3))
def test_it_is_the_mean_over_all_contexts(seed: int, order: int) -> None:
    for model in (kneser(seed, SIZE, order, 60), any_weights(seed, SIZE, order, 60)):
        shape = model.topology
        pairs, found = order_2(model), expected(model)
        assert np.allclose(pairs.words, distribution(model, int(np.argmin(shape.backoff))))
        assert set(pairs.first.tolist()) <= set(found)
        differs = 0.0
        for v, p in found.items():
            here = pairs.first == v
            got = pairs.rest[v] * pairs.words
            got[pairs.second[here]] = pairs.p[here]
            assert np.allclose(got, p, atol=1e-7), v
            one = distribution(model, int(np.flatnonzero((last_words(shape) == v) & (shape.depth == 1))[0]))
            differs = max(differs, float(np.abs(one - p).max()))
        if order > 2 and seed == 0:  # and not the weights of the pairs, which are for backing off
            assert differs > 0.05


def test_a_model_without_pairs() -> None:
    pairs = order_2(from_kneser_ney(fit([0, 3, 4, 1], [0, 4], vocabulary=5, order=1)))
    assert not len(pairs.first) and (pairs.rest == 1).all() and pairs.words.sum() == pytest.approx(1)


def test_examples() -> None:
    assert doctest.testmod(module).failed == 0
