"""A set of n-grams as a trie with one flat level per order.

Level 0 is the empty history; the rows of level n are the distinct n-grams in lexicographic order, and the key of "h w"
is (row of h at level n − 1)·V + w. So a look-up is one binary search per order, and the words that follow a history are
one slice. Level 1 holds every word of the vocabulary, row = id. The set is closed: for each n-gram it also holds its
first n − 1 words and its last n − 1 words (`suffix` gives their row).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints


class Trie(NamedTuple):
    """A closed set of n-grams. Item n of each tuple is for order n; item 0 is the empty history."""

    vocabulary: int
    keys: tuple[Ints, ...]  # [grams] ascending: row of the history at the level below, times V, plus the word
    suffix: tuple[Ints, ...]  # [grams] row at the level below of the n-gram without its first word

    @property
    def order(self) -> int:
        """Returns the length of the longest n-grams."""
        return len(self.keys) - 1

    def starts(self, n: int) -> Ints:
        """Returns [grams + 1]: rows starts[r]:starts[r + 1] of level n + 1 continue row r of level n."""
        if n >= self.order:
            return np.zeros(len(self.keys[n]) + 1, np.int64)
        return np.searchsorted(self.keys[n + 1], np.arange(len(self.keys[n]) + 1) * self.vocabulary)


def find(keys: Ints, wanted: Ints) -> Ints:
    """Returns the row of each wanted key, −1 where it is missing."""
    at = np.searchsorted(keys, wanted)
    if not len(keys):
        return np.full(np.shape(at), -1, np.int64)
    return np.where(keys[np.minimum(at, len(keys) - 1)] == wanted, at, -1)


def of_words(grams: Sequence[Ints], vocabulary: int) -> Trie:
    """Builds a trie from n-grams given as words: `grams[n − 2]` holds those of order n ≥ 2, [grams, n], closed.

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
