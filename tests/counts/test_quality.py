"""Measures of counts on held-out people: by hand, and the interval by the jackknife's formula."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.counts.quality import change, score_counts, share
from tacit.scoring.scores import Sums
from tacit.text.vocabulary import EOS, SPECIALS, Vocabulary
from toys import V, random_text


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
