"""Sources: drawn words have the probabilities they should have, and blocks hold them."""

from __future__ import annotations

import doctest
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import chisquare

import reference
import toys
from tacit.distillation import sampling
from tacit.distillation.sampling import Sentences, network, weighted
from tacit.models import ModelConfig, language_model
from tacit.ngram.automaton import Automaton, Topology, distribution, distributions
from tacit.text.vocabulary import BOS, EOS, UNK

V = 9


@functools.cache  # one compilation
def small_model(**options):
    return language_model(ModelConfig(**({"embedding": 5, "hidden": 5} | options)), V)


def small(**options):
    model = small_model(**options)
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 0, 0.7)
    params["output_bias"][BOS] = 3.0  # would be the commonest word if it could be drawn
    return model, params


def of(rows: list[list[int]]) -> Sentences:
    return Sentences(np.array([w for r in rows for w in r]), np.cumsum([0, *map(len, rows)]))


def fits(found: np.ndarray, p: np.ndarray) -> bool:
    """Counts that are what p gives, but for luck that happens once in a million."""
    expected = p * found.sum()
    assert found[expected == 0].sum() == 0
    some = expected > 0
    return chisquare(found[some], expected[some] * found.sum() / expected[some].sum()).pvalue > 1e-6


def without_start(logits: np.ndarray) -> np.ndarray:
    odds = np.exp(np.asarray(logits, np.float64))
    odds[..., BOS] = 0
    return odds / odds.sum(axis=-1, keepdims=True)


def test_a_network_draws_words_by_their_probabilities():
    model, params = small()
    text = network(model, params, longest=6).sample(5, 0, 20_000)
    assert len(text.offsets) == 20_001
    first, second = (
        text.tokens[text.offsets[:-1] + 1],
        text.tokens[np.minimum(text.offsets[:-1] + 2, len(text.tokens) - 1)],
    )
    logits = np.asarray(model.apply(params, jnp.array([[0, w] for w in range(V)])))
    assert fits(np.bincount(first, minlength=V), without_start(logits[0, 0]))
    for word in range(UNK, V):  # `<unk>` is a word like any other
        after = second[first == word]
        assert len(after) > 100
        assert fits(np.bincount(after, minlength=V), without_start(logits[word, 1]))


def test_sentences_are_whole_and_end_at_the_longest():
    model, params = small()
    params["output_bias"][EOS] = -3.0
    text = network(model, params, longest=4).sample(0, 0, 300)
    assert (text.tokens[text.offsets[:-1]] == BOS).all() and (text.tokens == BOS).sum() == 300
    assert (text.tokens[text.offsets[1:] - 1] == EOS).all() and (text.tokens == EOS).sum() == 300
    assert np.diff(text.offsets).max() == 4 + 2 and (np.diff(text.offsets) == 6).mean() > 0.5


@pytest.mark.parametrize("kind", ["network", "automaton"])
def test_a_sentence_is_drawn_alike_alone_and_with_others(kind):
    def source(at_once: int) -> sampling.SampledModel:
        return network(*small(), 8, at_once) if kind == "network" else weighted(toys.kneser(1), 8, at_once)

    together = source(1 << 16).sample(7, 0, 200)
    few = source(64 * V).sample(7, 0, 200)  # 64 lanes: most sentences wait for one
    np.testing.assert_array_equal(together.tokens, few.tokens)
    late = source(1 << 16).sample(7, 150, 50)
    np.testing.assert_array_equal(late.tokens, together.tokens[together.offsets[150] :])
    assert not np.array_equal(source(0).sample(8, 0, 200).tokens, together.tokens)


def test_drawing_in_parts_is_drawing(monkeypatch):
    monkeypatch.setattr(sampling, "_AT_ONCE", 30)
    source, heard = weighted(toys.kneser(1)), []
    text = sampling.draw(source, 3, 100, lambda what, share: heard.append(share))
    np.testing.assert_array_equal(text.tokens, source.sample(3, 0, 100).tokens)
    np.testing.assert_array_equal(text.offsets, source.sample(3, 0, 100).offsets)
    assert heard == [0.25, 0.5, 0.75, 1.0]


def test_choosing_by_slices_is_choosing():
    """Even draws over [0, 1)² give each word its share of them."""
    words, side, choose = 700, 300, jax.jit(sampling._choose)
    logits = np.random.default_rng(2).normal(0, 2, words).astype(np.float32)
    u, v = (x.ravel() for x in np.meshgrid(np.arange(side), np.arange(side)))
    draws = (np.stack([u, v], axis=1).astype(np.float32) + 0.5) / side
    found = np.bincount(
        np.concatenate([choose(jnp.tile(logits, (len(d), 1)), d) for d in np.split(draws, 30)]),
        minlength=words,
    )
    p = without_start(logits)
    assert found[BOS] == 0 and len(found) == words
    np.testing.assert_allclose(found / side**2, p, atol=2.0 / side)
    by_slice = np.add.reduceat(p, np.arange(0, words, sampling._SLICE))
    np.testing.assert_allclose(
        np.add.reduceat(found, np.arange(0, words, sampling._SLICE)) / side**2, by_slice, atol=1.1 / side
    )
    extremes = np.array([[0, 0], [1 - 2**-23, 1 - 2**-23]], np.float32)
    assert sampling._choose(jnp.tile(logits, (2, 1)), extremes).tolist() == [1, words - 1]


def test_blocks_of_a_network_are_its_probabilities():
    model, params = small(kind="lstm", hidden=7, layer_norm=True)
    text = network(model, params, longest=8).sample(1, 0, 60)
    groups = np.random.default_rng(0).integers(0, 5, len(text.tokens))
    groups[text.tokens == BOS] = -1
    groups[:10] = -1  # nobody asks for these
    found = {}
    for block in network(model, params, at_once=64 * V).blocks(text, groups):
        assert (np.diff(groups[block.positions]) >= 0).all()
        assert not np.asarray(block.p)[len(block.positions) :].any()
        found |= dict(zip(block.positions.tolist(), np.asarray(block.p), strict=False))
    assert sorted(found) == np.flatnonzero(groups >= 0).tolist()
    inputs = np.zeros((60, 10), np.int64)
    for row, start, end in zip(inputs, text.offsets, text.offsets[1:], strict=False):
        row[: end - start - 1] = text.tokens[start : end - 1]
    p = without_start(model.apply(params, jnp.asarray(inputs)))
    for n, start in enumerate(text.offsets[:-1].tolist()):
        for i in range(start + 1, int(text.offsets[n + 1])):
            if groups[i] >= 0:
                np.testing.assert_allclose(found[i], p[n, i - start - 1], rtol=1e-4, atol=1e-6)
    assert list(network(model, params).blocks(of([]), np.zeros(0, np.int64))) == []


@pytest.mark.parametrize("roots", [1, 3])
def test_distributions_are_the_slow_ones(roots):
    shape = toys.topology(3, vocabulary=8, states=15, roots=roots)
    draw = np.random.default_rng(0)
    model = Automaton(shape, np.log(draw.random(len(shape.labels))), np.log(draw.random(len(shape))))
    states = np.array([4, 14, 0, 7, 7, 2, 13])
    expected = [toys.dense(model, q) for q in states]
    np.testing.assert_allclose(distributions(model, states), expected, rtol=1e-12)
    np.testing.assert_allclose([distribution(model, q) for q in states], expected, rtol=1e-12)


def test_an_automaton_draws_words_by_their_probabilities():
    model = toys.kneser(4, count=60, vocabulary=8)
    shape = model.topology
    text = weighted(model).sample(2, 0, 20_000)
    states = shape.states_along(text.tokens, text.offsets)
    for q in np.unique(states[states >= 0]).tolist():
        found = np.bincount(text.tokens[states == q], minlength=8)
        assert fits(found, toys.dense(model, q))
    longest = weighted(model, longest=3).sample(2, 0, 50)
    assert np.diff(longest.offsets).max() == 5 and (longest.tokens[longest.offsets[1:] - 1] == EOS).all()


def test_a_label_that_is_hidden_nearly_always_is_still_drawn():
    """The root gives 4 next to nothing; the other state has all but 4, and half of its weight on φ."""
    rare = 1e-9
    shape = Topology(
        5,
        np.array([0, 4, 7]),
        np.array([1, 2, 3, 4, 1, 2, 3]),
        np.array([-1, 1, 1, 1, -1, 1, 1]),
        np.array([-1, 0]),
        1,
    )
    root = np.array([0.5, 0.25, 0.25 - rare, rare])
    model = Automaton(
        shape, np.log(np.concatenate([root, [0.3, 0.1, 0.1]])), np.array([0.0, np.log(0.5 / rare)])
    )
    text = weighted(model, longest=3).sample(0, 0, 5000)
    assert fits(
        np.bincount(text.tokens[text.offsets[:-1] + 1], minlength=5), np.array([0, 0.3, 0.1, 0.1, 0.5])
    )


def test_blocks_of_an_automaton_add_up_positions_of_one_group_and_state():
    model = toys.kneser(4, vocabulary=8)
    shape = model.topology
    text = weighted(model).sample(2, 0, 80)
    groups = np.where(text.tokens == BOS, -1, np.arange(len(text.tokens)) % 3)
    states = shape.states_along(text.tokens, text.offsets)
    expected, found, rows = np.zeros((3, 8)), np.zeros((3, 8)), 0
    for i in np.flatnonzero(groups >= 0).tolist():
        expected[groups[i]] += toys.dense(model, states[i])
    for block in weighted(model, at_once=40).blocks(text, groups):
        assert (np.diff(groups[block.positions]) >= 0).all() and len(block.p) <= 5
        np.add.at(found, groups[block.positions], block.p)
        rows += len(block.p)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert rows == len(np.unique(np.stack([states, groups])[:, groups >= 0], axis=1).T)


def test_examples_in_the_docstrings():
    assert doctest.testmod(sampling).failed == 0
