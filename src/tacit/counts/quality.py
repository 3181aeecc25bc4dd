"""Measures a unigram distribution on held-out people (paper 4, section 3.3 and Table 1).

A keyboard holds the `capacity` commonest words of the counts. Two measures on held-out typists:

- out-of-vocabulary rate: the share of typed words that are not among the `capacity` commonest of the counts;
- top-1 accuracy: how often the first suggestion is the word typed. The model is a Kneser-Ney n-gram of the supplemental
  corpus over these words, with the counts as its unigrams. A word outside the vocabulary is a miss.

The paper measured both on live traffic, against unigrams of centrally collected logs. Here the baseline is the
supplemental corpus's own unigrams, in the same n-gram.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats
from tacit.counts.unigrams import chosen_words
from tacit.distillation.large_vocabulary import with_unigrams
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.score import score
from tacit.scoring import recall
from tacit.scoring.jackknife import half_width
from tacit.scoring.scores import Scores, Sums, by_person, of_cells
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary


class Change(NamedTuple):
    """Holds a relative change and the half-width of its 95 % interval over people (jackknife)."""

    value: float
    half: float


def score_counts(
    counts: Floats,
    words: Vocabulary,
    capacity: int,
    text: Packed,
    supplement: Packed | None = None,
    order: int = 3,
) -> Sums:
    """Scores the counts [V] of the words on each held-out person; without a supplement only by OOV rate.

    `text` and `supplement` are over `words`.
    """
    kept = chosen_words(counts, capacity)
    narrow = np.full(len(words), UNK, np.int32)  # [V] whitelist id to the model's
    narrow[[BOS, EOS]] = BOS, EOS
    narrow[kept] = len(SPECIALS) + np.arange(len(kept))
    text = dataclasses.replace(text, tokens=narrow[text.tokens])
    if supplement is None:
        return by_person(_oov_only(text), text)
    model_words = Vocabulary(SPECIALS + tuple(words.words[i] for i in kept.tolist()))
    fitted = kneser_ney.fit(narrow[supplement.tokens], supplement.offsets, len(model_words), order)
    counted = {words.words[i]: float(counts[i]) for i in kept.tolist()}
    model, _ = with_unigrams(from_kneser_ney(fitted), model_words, counted)
    return by_person(score(model, text), text)


def _oov_only(text: Packed) -> Scores:
    """Returns the words and which are out of vocabulary, without predictions."""
    none, missed = np.zeros(len(text.tokens)), np.full(len(text.tokens), len(text.tokens))
    word, outside = recall.is_word(text.tokens), text.tokens == UNK
    return of_cells(recall.cells(none, missed, word, outside, recall.is_known(text.tokens)), text)


def share(people: Sums, what: str) -> float:
    """Returns `oov` or `top1` as a share of all words typed."""
    return float(getattr(people, what).sum() / max(1.0, people.words.sum()))


def change(base: Sums, other: Sums, what: str) -> Change:
    """Returns the relative change of a share from the baseline, with a jackknife interval over people.

    Both are measured on the same people and words, so their common variation cancels.
    """

    def without(sums: Sums) -> Floats:
        hits, words = getattr(sums, what), sums.words
        return (hits.sum() - hits) / np.maximum(words.sum() - words, 1.0)

    value = share(other, what) / share(base, what) - 1 if share(base, what) else float("nan")
    below = without(base)
    if not (below > 0).all():
        return Change(value, float("nan"))
    return Change(value, half_width(without(other) / below - 1))
