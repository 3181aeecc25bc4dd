"""Entropy pruning against the relative entropy itself, computed over whole distributions."""

from __future__ import annotations

import doctest

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import toys
from tacit.base.errors import TacitError
from tacit.distillation import pruning
from tacit.distillation.pruning import losses, parents, prune, restrict
from tacit.distillation.sampling import Sentences
from tacit.distillation.soft_counts import visits
from tacit.ngram.automaton import Automaton, from_kneser_ney, log_probs
from tacit.ngram.grams import grams, words
from tacit.ngram.kneser_ney import fit
from tacit.ngram.validity import check

V = 8
seeds = st.integers(0, 100_000)


def nll(model: Automaton, text: Sentences) -> float:
    """Mean −log p of a token."""
    states = model.topology.states_along(text.tokens, text.offsets)
    real = states >= 0
    return float(-log_probs(model, states[real], text.tokens[real]).mean())


def of_text(model: Automaton, text: Sentences) -> np.ndarray:
    return visits(model.topology, model.topology.states_along(text.tokens, text.offsets))


def ngrams(model: Automaton) -> set[tuple[int, ...]]:
    trie = grams(model.topology).trie
    return {tuple(g) for n in range(1, trie.order + 1) for g in words(trie, n).tolist()}


def without(model: Automaton, arc: int, state: int) -> np.ndarray:
    """p(· | state) when the state loses one arc: straight from the definition of a backoff model."""
    shape = model.topology
    below = toys.dense(model, int(shape.backoff[state]))
    own = {x: np.exp(model.log_p[a]) for x, a in toys.has(shape, state).items() if a != arc}
    others = [x for x in range(1, V) if x not in own]
    p = np.zeros(V)
    for x, value in own.items():
        p[x] = value
    p[others] = below[others] * (1 - sum(own.values())) / below[others].sum()
    return p


@settings(max_examples=20)
@given(seeds)
def test_a_loss_is_the_relative_entropy_of_the_state(seed: int) -> None:
    model = toys.kneser(seed, count=15, vocabulary=V)
    shape, text = model.topology, toys.sentences(seed + 1, 10, V)
    n = of_text(model, text)
    found = losses(model, n)
    assert (found[shape.backoff[shape.owners] < 0] == 0).all()
    for arc in np.flatnonzero(shape.backoff[shape.owners] >= 0).tolist():
        state = int(shape.owners[arc])
        p, q = toys.dense(model, state)[1:], without(model, arc, state)[1:]
        expected = n[state] / n[0] * float(np.sum(p * np.log(p / q)))
        assert found[arc] == pytest.approx(expected, rel=1e-6, abs=1e-12)


def test_without_a_text_histories_occur_as_the_model_says() -> None:
    model = toys.kneser(1, count=15, vocabulary=V)
    shape = model.topology
    found, whole = losses(model), grams(shape)
    unigram = toys.dense(model, 0)
    for n in (1, 2):
        for history, state in zip(words(whole.trie, n).tolist(), whole.states[n].tolist(), strict=True):
            if state >= 0:
                p, at = 1.0, 0
                for word in history:
                    p *= unigram[1] if word == 0 else np.exp(model.log_p[toys.has(shape, at)[word]])
                    at = shape.initial if word == 0 else int(shape.targets[toys.has(shape, at)[word]])
                arc = int(shape.starts[state])
                a, b = toys.dense(model, state)[1:], without(model, arc, state)[1:]
                assert found[arc] == pytest.approx(p * float(np.sum(a * np.log(a / b))), rel=1e-6, abs=1e-12)


@settings(max_examples=25)
@given(seeds, st.integers(2, 4), st.floats(0, 1))
def test_the_size_is_met_and_a_whole_model_left(seed: int, order: int, part: float) -> None:
    model = toys.kneser(seed, count=20, vocabulary=V, order=order)
    size = int(V - 1 + part * (len(model.topology.labels) - V + 1))
    small = prune(model, size)
    assert len(small.topology.labels) == size
    assert not check(small).problems
    kept, before = ngrams(small), ngrams(model)
    assert kept <= before
    assert all(g[1:] in kept and g[:-1] in kept for g in kept if len(g) > 1)
    for state in range(len(small.topology)):
        assert abs(toys.dense(small, state).sum() - 1) < 1e-9


@given(seeds, st.floats(0, 1))
def test_a_size_leaves_what_a_threshold_leaves(seed: int, part: float) -> None:
    """Stolcke's way: from the longest n-grams down, what costs less than a threshold and is needed by none goes."""
    model = toys.kneser(seed, count=20, vocabulary=V)
    whole, values = grams(model.topology), losses(model)
    worth = {
        tuple(g): values[a]
        for n in range(2, whole.trie.order + 1)
        for g, a in zip(words(whole.trie, n).tolist(), whole.arcs[n].tolist(), strict=True)
    }
    ranked = sorted(worth.values())
    at = int(part * (len(ranked) - 1))
    assume(ranked[at] * (1 + 1e-6) < ranked[min(at + 1, len(ranked) - 1)])
    threshold = ranked[at] * (1 + 5e-7)
    left = ngrams(model)
    for n in range(whole.trie.order, 1, -1):
        needed = {g[:-1] for g in left} | {g[1:] for g in left}
        left -= {g for g in left if len(g) == n and g not in needed and worth[g] < threshold}
    assert ngrams(prune(model, len(left) - 1)) == left  # `<s>` is no arc


def test_perplexity_grows_slowly_and_without_jumps() -> None:
    train, test = toys.sentences(0, 800, 30), toys.sentences(1, 200, 30)
    model = from_kneser_ney(fit(train.tokens, train.offsets, 30, 3))
    whole, least = len(model.topology.labels), 29
    sizes = [least + (whole - least) * k // 8 for k in range(8, -1, -1)]
    found = [nll(prune(model, size, of_text(model, train)), test) for size in sizes]
    assert found[0] == pytest.approx(nll(model, test), rel=1e-12)
    assert found[4] - found[0] < 0.25 * (found[-1] - found[0])  # half of the n-grams carry most of it
    luck = pruning._with_dependents(model.topology, np.random.default_rng(0).random(whole))
    luck[model.topology.backoff[model.topology.owners] < 0] = 1.0
    at_random = restrict(model, luck >= np.sort(luck)[whole - sizes[4]])
    assert len(at_random.topology.labels) >= sizes[4]
    assert nll(at_random, test) - found[0] > 2 * (found[4] - found[0])


def test_arcs_that_are_not_allowed_go() -> None:
    model = toys.kneser(2, count=20, vocabulary=V)
    shape = model.topology
    roots = shape.backoff[shape.owners] < 0
    small = prune(model, 10_000, allowed=roots)
    assert len(small.topology) == 1 and len(small.topology.labels) == V - 1 and small.topology.initial == 0
    np.testing.assert_allclose(toys.dense(small, 0), toys.dense(model, 0))


def test_parents_spell_histories() -> None:
    shape = toys.kneser(2, count=20, vocabulary=V, order=4).topology
    whole = grams(shape)
    arc = parents(shape)
    for n in range(1, whole.trie.order):
        for row, state in enumerate(whole.states[n].tolist()):
            if state >= 0:
                assert arc[state] == whole.arcs[n][row]


def test_more_words_than_ngrams_is_refused() -> None:
    with pytest.raises(TacitError, match="a model of 6 n-grams cannot hold 7 words"):
        prune(toys.kneser(0, vocabulary=V), 6)


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(pruning).failed == 0
