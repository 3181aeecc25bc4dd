"""Suggestions and scores of automata against whole distributions, word by word."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_ngram_score import V, random_text

from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, distribution, from_kneser_ney
from tacit.ngram.counts.quality import change, score_counts, share
from tacit.ngram.distillation.pruning import with_backoffs
from tacit.ngram.score import score
from tacit.ngram.suggest import top_k
from tacit.scoring.scores import Sums
from tacit.text.packed import Packed
from tacit.text.vocabulary import EOS, SPECIALS, UNK, Vocabulary


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


class TestCompared:
    WORDS = Vocabulary((*SPECIALS, *(f"w{i}" for i in range(3, V))))

    def test_only_the_commonest_words_fit(self) -> None:
        text = random_text(3, 40)
        counts = np.array([0, 0, 0, 5, 4, 3, 2, 0, 1.0])
        for capacity, known in ((2, {3, 4}), (4, {3, 4, 5, 6}), (99, {3, 4, 5, 6, 8})):
            typed = [t for t in text.tokens.tolist() if t not in (0, EOS)]
            missed = sum(t not in known for t in typed)
            for supplement in (None, random_text(4, 60)):
                people = score_counts(counts, self.WORDS, capacity, text, supplement)
                assert people.words.sum() == len(typed) and people.oov.sum() == missed

    def test_accuracy_is_that_of_the_ngram_whose_unigrams_were_replaced(self) -> None:
        """A unigram model suggests the word counted most, whatever the supplement says."""
        text, supplement = random_text(5, 40), random_text(6, 60)
        counts = np.array([0, 0, 0, 1, 1, 1, 1, 50, 1.0])
        people = score_counts(counts, self.WORDS, 99, text, supplement, order=1)
        assert people.top1.sum() == np.count_nonzero(text.tokens == 7)
        trigram = score_counts(counts, self.WORDS, 99, text, supplement, order=3)
        assert trigram.top1.sum() > people.top1.sum()

    def test_change_is_the_jackknife_of_the_ratio(self) -> None:
        def sums(words: list[float], oov: list[float]) -> Sums:
            zero = np.zeros(len(words))
            return Sums(zero, zero, np.array(words), np.array(oov), zero, zero, np.ones(len(words)))

        base, other = sums([10, 20, 30], [2, 4, 9]), sums([10, 20, 30], [1, 4, 6])
        ratios = []
        for i in range(3):
            kept = [j for j in range(3) if j != i]
            ratios.append(other.oov[kept].sum() / base.oov[kept].sum() - 1)
        spread = np.sqrt(2 / 3 * sum((r - np.mean(ratios)) ** 2 for r in ratios))
        found = change(base, other, "oov")
        assert found.value == pytest.approx(11 / 15 - 1) and found.half == pytest.approx(1.96 * spread)
        assert share(base, "oov") == 15 / 60
        one = change(sums([10], [2]), sums([10], [1]), "oov")
        assert one.value == -0.5 and np.isnan(one.half)
        assert np.isnan(change(sums([10, 10], [0, 0]), base, "oov").value)
