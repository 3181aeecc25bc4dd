"""Suggestions and scores of automata against whole distributions, word by word."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.distillation.pruning import with_backoffs
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, distribution, from_kneser_ney
from tacit.ngram.score import score
from tacit.ngram.suggest import top_k
from tacit.text.packed import Packed
from tacit.text.vocabulary import UNK
from toys import V, random_text


def model_of(text: Packed, order: int) -> Automaton:
    return from_kneser_ney(kneser_ney.fit(text.tokens, text.offsets, V, order))


def shaken(model: Automaton, seed: int) -> Automaton:
    """Any weights that sum to one: an arc may be less likely than what it hides, as in no Kneser-Ney model."""
    draw, shape = np.random.default_rng(seed), model.topology
    raw = draw.random(len(shape.labels)) ** 3 + 1e-6
    share = np.where(shape.backoff >= 0, draw.random(len(shape)), 1.0)
    p = raw / np.bincount(shape.owners, raw)[shape.owners] * share[shape.owners]
    return with_backoffs(shape, np.log(p))


@settings(max_examples=40)
@given(seed=st.integers(0, 9999), order=st.integers(1, 5), k=st.integers(1, 8), any_weights=st.booleans())
def test_the_best_words_are_those_of_the_whole_distribution(
    seed: int, order: int, k: int, any_weights: bool
) -> None:
    model = model_of(random_text(seed, 12), order)
    if any_weights:
        model = shaken(model, seed)
    states = np.random.default_rng(seed).integers(0, len(model.topology), 30)
    found = top_k(model, states, k)
    for state, words in zip(states.tolist(), found.tolist(), strict=True):
        p = distribution(model, state)
        best = sorted(range(UNK + 1, V), key=lambda w: (-p[w], w))[:k]
        assert len(words) == k and words[len(best) :] == [-1] * (k - len(best))
        given_ = words[: len(best)]
        assert len(set(given_)) == len(given_) and min(given_) > UNK
        np.testing.assert_allclose(p[given_], p[best], rtol=1e-9)  # equal words may change places


@settings(max_examples=15)
@given(seed=st.integers(0, 9999), order=st.integers(1, 5))
def test_a_kneser_ney_automaton_scores_like_the_model_it_was_made_of(seed: int, order: int) -> None:
    train, test = random_text(seed, 40), random_text(seed + 1, 12)
    fitted = kneser_ney.fit(train.tokens, train.offsets, V, order)
    found, expected = score(from_kneser_ney(fitted), test), score(fitted, test)
    for name in ("nll", "nll_oov", "words", "oov"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-9, err_msg=name)
    for name in ("top1", "top3"):  # words that differ by rounding alone may come in either order
        assert abs(getattr(found, name).sum() - getattr(expected, name).sum()) <= 2
