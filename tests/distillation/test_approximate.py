"""SampleApprox as a whole: nearer with more samples, on any topology, from networks and from automata."""

from __future__ import annotations

import doctest
import functools

import jax
import numpy as np
import pytest

import reference
import toys
from tacit.base.errors import TacitError
from tacit.distillation import approximate as module
from tacit.distillation.approximate import Recast, algorithm_1, approximate, count
from tacit.distillation.sampling import SampledModel, Sentences, network, weighted
from tacit.distillation.topology import from_corpus
from tacit.models import ModelConfig, language_model
from tacit.ngram.automaton import Automaton, distributions
from tacit.ngram.validity import check

V = 9


@functools.cache  # one compilation
def small_network(seed: int = 0) -> SampledModel:
    model = language_model(ModelConfig(embedding=6, hidden=6), V)
    return network(
        model, reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), seed, 1.0), longest=12
    )


def divergence(source: SampledModel, model: Automaton, text: Sentences) -> float:
    """KL(source ‖ model) per word on a text, from whole distributions."""
    states = model.topology.states_along(text.tokens, text.offsets)
    groups = np.where(states >= 0, np.arange(len(states)), -1)
    total = count = 0.0
    for block in source.blocks(text, groups):
        p = np.asarray(block.p, np.float64)[: len(block.positions), 1:]
        q = distributions(model, states[block.positions])[:, 1:]
        times = p.sum(axis=1, keepdims=True)
        total += float(np.sum(p * (np.log(p / times) - np.log(q))))
        count += float(times.sum())
    return total / count


def test_more_samples_come_nearer_and_a_model_finds_itself() -> None:
    model = toys.kneser(2, count=200, vocabulary=12)
    source = weighted(model)
    test = source.sample(99, 0, 2000)
    few, some, many = (
        divergence(source, approximate(source, model.topology, n, seed=1), test) for n in (10, 100, 3000)
    )
    assert few > 1.5 * some > 3 * many >= 0
    assert many < 1e-3


def test_a_network_becomes_an_automaton() -> None:
    source = small_network()
    text = source.sample(4, 0, 1500)
    test = source.sample(5, 0, 500)
    found = {}
    for order in (1, 2, 3):
        shape = from_corpus(text, V, order).topology
        model = approximate(source, shape, 1500, seed=3)
        assert not check(model).problems
        found[order] = divergence(source, model, test)
        cheap = approximate(source, shape, 1500, seed=3, fixed=True)
        assert found[order] <= divergence(source, cheap, test) + 1e-3
        assert order == 1 or not np.allclose(cheap.log_p, model.log_p, atol=1e-6)  # another way was gone
    assert found[1] > found[2] > found[3] > 0
    soft, hard = found[2], divergence(source, from_corpus(text, V, 2), test)
    assert soft < hard  # counting probabilities beats counting the drawn words


def test_algorithm_1_gives_four_models_of_the_size() -> None:
    source = small_network(1)
    supplement = from_corpus(toys.sentences(0, 50, V), V, 3, max_ngrams=80)
    heard: list[float] = []
    found = algorithm_1(
        source, supplement, 800, seed=2, max_ngrams=80, progress=lambda what, share: heard.append(share)
    )
    assert all(len(model.topology.labels) <= 80 and not check(model).problems for model in found)
    assert found.external.topology is supplement.topology
    assert heard == sorted(heard) and heard[-1] == 1 and len(heard) >= 3
    test = source.sample(77, 0, 500)
    e, i, m, r = (divergence(source, model, test) for model in found)
    assert (
        r < min(e, m) and i < e
    )  # weighted anew, the merged topology is nearer; the supplement is another language
    assert e < divergence(source, supplement, test)
    again = algorithm_1(source, supplement, 800, seed=2, max_ngrams=80)
    np.testing.assert_array_equal(again.refined.log_p, found.refined.log_p)


def test_algorithm_1_heeds_the_weight_and_what_is_common() -> None:
    """Of single words A_m is the mixture itself; of words that are not common no longer n-gram is inferred."""
    source = small_network(1)
    supplement = from_corpus(toys.sentences(0, 50, V), V, 3)
    found = algorithm_1(source, supplement, 200, seed=2, weight=0.9, common=5)
    external, inferred, merged, _ = (distributions(model, np.array([0]))[0] for model in found)
    np.testing.assert_allclose(merged, 0.9 * external + 0.1 * inferred, rtol=1e-9)
    shape = found.inferred.topology
    assert shape.depth.max() > 0 and (shape.labels[shape.depth[shape.owners] > 0] < 5).all()


def casing() -> Recast:
    """Each word w ≥ 3 also as V + w − 3, by a share that depends on the place in the text."""
    wide = 2 * V - 3
    lower = np.concatenate([np.arange(V), np.arange(3, V)])

    def context(text: Sentences) -> np.ndarray:
        return np.arange(len(text.tokens)) % 5

    def ratio(context: np.ndarray) -> np.ndarray:
        upper = (context[:, None] + 1) / 10 * np.ones(wide)
        return np.where(np.arange(wide) < 3, 1.0, np.where(np.arange(wide) < V, 1 - upper, upper))

    def spread(text, positions, p):
        factors = np.zeros((p.shape[0], wide))
        factors[: len(positions)] = ratio(context(text)[positions])
        return p[:, lower] * factors.astype(np.float32)

    def rewrite(text: Sentences) -> np.ndarray:
        raised = (text.tokens >= 3) & (np.arange(len(text.tokens)) % 3 == 0)
        return np.where(raised, text.tokens + V - 3, text.tokens)

    return Recast(wide, rewrite, spread, context)


@pytest.mark.parametrize("kind", ["network", "automaton"])
@pytest.mark.parametrize("told", [True, False])
def test_counts_over_other_labels_are_those_of_the_definition(kind: str, told: bool) -> None:
    source = small_network() if kind == "network" else weighted(toys.kneser(3, vocabulary=V))
    recast = casing() if told else casing()._replace(context=None)
    text = source.sample(1, 0, 25)
    cased = Sentences(recast.rewrite(text), text.offsets)
    shape = from_corpus(cased, recast.vocabulary, 2).topology
    (found,) = count(source, [shape], text, recast=recast)
    states = shape.states_along(cased.tokens, cased.offsets)
    p = np.zeros((len(states), recast.vocabulary))
    for block in source.blocks(text, np.where(states >= 0, np.arange(len(states)), -1)):
        p[block.positions] = np.asarray(recast.spread(cased, block.positions, block.p))[
            : len(block.positions)
        ]
    np.testing.assert_allclose(p[states >= 0].sum(axis=1), 1, rtol=1e-5)
    expected = toys.literal_counts(shape, states[states >= 0], p[states >= 0])
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=2e-5)


def test_bad_input_is_told_in_one_line() -> None:
    source = weighted(toys.kneser(0, vocabulary=V))
    with pytest.raises(TacitError, match="sentences is 0"):
        approximate(source, toys.kneser(0, vocabulary=V).topology, 0)
    with pytest.raises(TacitError, match="has 8 labels, the neural model gives 9"):
        algorithm_1(source, toys.kneser(0, vocabulary=8), 10)


def test_examples_in_the_docstrings() -> None:
    assert doctest.testmod(module).failed == 0
