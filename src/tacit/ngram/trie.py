"""A set of n-grams, one flat level per order.

Level 0 is the empty history; the rows of level n are the different n-grams in lexicographic order, the row of
"h w" being found under the key (row of h at level n − 1)·V + w. So a look-up is one binary search per order and
the words that follow a history are one slice. Level 1 holds every word of the vocabulary, row = id. The set is
closed: with an n-gram it holds its first n − 1 words and its last n − 1 words (`suffix` gives their row).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints


class Trie(NamedTuple):
    """Item n of each tuple is for order n; item 0 is the one empty history."""

    vocabulary: int
    keys: tuple[Ints, ...]  # [grams] ascending: row of the history at the level below, times V, plus the word
    suffix: tuple[Ints, ...]  # [grams] row at the level below of the n-gram less its first word

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.keys) - 1

    def starts(self, n: int) -> Ints:
        """[grams + 1]: rows at level n + 1 that continue row r of level n are starts[r]:starts[r + 1]."""
        if n >= self.order:
            return np.zeros(len(self.keys[n]) + 1, np.int64)
        return np.searchsorted(self.keys[n + 1], np.arange(len(self.keys[n]) + 1) * self.vocabulary)


def find(keys: Ints, wanted: Ints) -> Ints:
    """Row of each wanted key, −1 where it is not there."""
    at = np.searchsorted(keys, wanted)
    if not len(keys):
        return np.full(np.shape(at), -1, np.int64)
    return np.where(keys[np.minimum(at, len(keys) - 1)] == wanted, at, -1)


def of_words(grams: Sequence[Ints], vocabulary: int) -> Trie:
    """The trie of n-grams given as words: `grams[n − 2]` holds those of order n ≥ 2, [grams, n], closed.

    >>> of_words([np.array([[3, 1], [0, 3]])], vocabulary=4).keys[2].tolist()
    [3, 13]
    """
    empty = np.zeros(1, np.int64)
    keys, suffix = [empty, np.arange(vocabulary)], [empty, np.zeros(vocabulary, np.int64)]

    def row_of(words: Ints) -> Ints:
        row = np.zeros(len(words), np.int64)
        for n in range(words.shape[1]):
            row = find(keys[n + 1], row * vocabulary + words[:, n])
        return row

    for words in grams:
        key = row_of(words[:, :-1]) * vocabulary + words[:, -1]
        by = np.argsort(key)
        keys.append(key[by])
        suffix.append(row_of(words[by][:, 1:]))
    return Trie(vocabulary, tuple(keys), tuple(suffix))
