"""Merges two word lists: a distilled one, and one that a keyboard already has.

Both are read as probabilities, and each list has half of the weight:

    p(w) = ½ p₁(w) + ½ p₂(w)                 a list without w has p(w) = 0
    p(w | v) = ½ p₁(w | v) + ½ p₂(w | v)     if both have bigrams after v; else as the one that has

So a word of one list alone loses 9 of 255 steps, and the two lists' words stay comparable. A word with f = 0 in either
list is never suggested, and a word that either calls offensive stays so. Which words begin a sentence comes from the
first list, since a `.combined` file cannot say it.
"""

from __future__ import annotations

import numpy as np

from tacit.base.arrays import Bools, Ints
from tacit.ngram.formats.aosp.word_list import WordList, frequency, of_bigrams, probability
from tacit.text import blocked


def merged(first: WordList, second: WordList, block: frozenset[str] = frozenset()) -> WordList:
    """Returns the words and bigrams of both lists, by falling f; words of a block list are possibly offensive."""
    names = tuple(dict.fromkeys((*first.words, *second.words)))
    number = {word: i for i, word in enumerate(names)}
    at = [np.array([number[word] for word in words.words], np.int64) for words in (first, second)]
    p, never, offensive = np.zeros(len(names)), np.zeros(len(names), np.bool_), np.zeros(len(names), np.bool_)
    for words, where in zip((first, second), at, strict=True):
        p[where] += probability(words.f) / 2
        never[where] |= words.f == 0
        offensive[where] |= words.offensive
    offensive |= np.array([blocked.fold(word) in block for word in names], np.bool_)
    f, p = np.where(never, 0, frequency(p)), np.where(never, 0.0, p)
    order = np.lexsort((np.arange(len(names)), -p))
    rank = np.empty(len(names), np.int64)  # [names] place in the merged list
    rank[order] = np.arange(len(names))
    silent = never | offensive

    rows, followers, weights = _bigrams(first, second, [rank[where] for where in at], silent[order])
    return of_bigrams(
        tuple(names[i] for i in order.tolist()), f[order], offensive[order], rows, followers, weights
    )


def _bigrams(
    first: WordList, second: WordList, ranks: list[Ints], silent: Bools
) -> tuple[Ints, Ints, np.ndarray]:
    """Returns row, follower and probability of every bigram of either list, in the merged list's numbers."""
    words = len(silent)
    has = np.zeros((2, words + 1), np.bool_)
    parts = []
    for k, (listed, rank) in enumerate(zip((first, second), ranks, strict=True)):
        rows = np.append(rank, words)[np.repeat(np.arange(len(listed.words) + 1), np.diff(listed.begins))]
        has[k, rows] = True
        parts.append((rows, rank[listed.followers], probability(listed.follower_f)))
    both = has[0] & has[1]
    rows, followers, p = (np.concatenate(part) for part in zip(*parts, strict=True))
    p = np.where(both[rows], p / 2, p)
    keys, which = np.unique(rows * (words + 1) + followers, return_inverse=True)
    total = np.bincount(which, p, len(keys)).astype(np.float64, copy=False)
    rows, followers = np.divmod(keys, words + 1)
    kept = ~silent[followers] & (total > 0)
    return rows[kept], followers[kept], total[kept]
