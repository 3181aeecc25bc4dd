"""Looks up words, histories and probabilities in the arrays of an open compact n-gram file.

`reader` documents the layout and opens a file; `model` makes it a `Model`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Ints
from tacit.ngram.automaton import Automaton, from_trie
from tacit.ngram.compact.words import Words
from tacit.ngram.trie import Trie, find
from tacit.text.vocabulary import SPECIALS, UNK, Vocabulary

RANK, PICK = 512, 64
FAVOURITES = 4096  # unigrams sorted by probability, for `search`


class Node(NamedTuple):
    """A history in the file: its n-grams are rows first … last − 1 of order n."""

    n: int
    first: int
    last: int
    log_backoff: float


State = tuple[Node, ...]  # the known histories, longest first, without the empty one


class StoredOrder(NamedTuple):
    """The n-grams of one order ≥ 2 and, below the highest order, which of them are histories."""

    labels: NDArray[np.uint16]
    p: NDArray[np.uint8]
    table: NDArray[np.float64]  # [256]
    deep: NDArray[np.uint8]
    rank: NDArray[np.uint32]
    backoff: NDArray[np.uint8]
    backoff_table: NDArray[np.float64]  # [256]
    head: NDArray[np.uint8]  # of the next order
    pick: NDArray[np.uint32]


@dataclass(frozen=True)
class Compact:
    """An open file. `compact_model` (model.py) makes it a `Model`."""

    facts: dict[str, Any]  # the section "meta"
    words: Words  # from id 3 on
    hidden: NDArray[np.bool_]  # [V]
    p: NDArray[np.uint8]  # [V]
    table: NDArray[np.float64]  # [256]
    common: NDArray[np.uint32]  # [C]
    starts: NDArray[np.uint32]  # [C + 1]
    backoff: NDArray[np.uint8]  # [C]
    backoff_table: NDArray[np.float64]  # [256]
    levels: tuple[StoredOrder, ...]  # item n − 2 is for order n

    @property
    def order(self) -> int:
        """Returns the length of the longest n-grams."""
        return len(self.levels) + 1

    @cached_property
    def favourites(self) -> tuple[Ints, Ints]:
        """Returns the likeliest unigrams that may be suggested, best first, and their indices into the common words."""
        codes = np.where(self.hidden, 0, self.p).astype(np.uint8)
        ids = np.argsort(255 - codes, kind="stable")[:FAVOURITES]
        ids = ids[codes[ids] > 0]
        at = np.minimum(self.common.searchsorted(ids.astype(np.uint32)), max(0, len(self.common) - 1))
        return ids, np.where(self.common[at] == ids, at, -1) if len(self.common) else np.full(len(ids), -1)

    def word(self, i: int) -> str:
        """Returns the word with this id."""
        return SPECIALS[i] if i <= UNK else self.words[i - len(SPECIALS)]

    def id(self, word: str) -> int:
        """Returns the id of a word, or that of `<unk>` if it is missing. `<s>` and `</s>` are not words."""
        number = self.words.find(word)
        return UNK if number < 0 else number + len(SPECIALS)

    def state(self, ids: Sequence[int]) -> State:
        """Returns the histories in the file that end these ids, longest first; `<s>` starts a message."""
        places: list[int] = []  # indices into the common words, the last word first
        nodes: list[Node] = []
        for i in reversed(ids[max(0, len(ids) - self.order + 1) :]):
            places.append(self.place(i))
            node = self._after(places)
            if node is None:  # then the file has no longer history either
                break
            nodes.append(node)
        return tuple(reversed(nodes))

    def log_prob(self, state: State, i: int) -> float:
        """Returns the natural log p of the word with id i."""
        place, spent = self.place(i), 0.0
        for node in state:
            row = self._row(node, place)
            if row >= 0:
                level = self.levels[node.n - 2]
                return spent + float(level.table[level.p[row]])
            spent += node.log_backoff
        return spent + float(self.table[self.p[i]])

    def place(self, i: int) -> int:
        """Returns the index of a word among the common words, −1 if it is not common."""
        at = int(self.common.searchsorted(np.uint32(i)))
        return at if at < len(self.common) and self.common[at] == i else -1

    def _row(self, node: Node, place: int) -> int:
        if place < 0:
            return -1
        labels = self.levels[node.n - 2].labels[node.first : node.last]
        at = int(labels.searchsorted(np.uint16(place)))
        return node.first + at if at < len(labels) and labels[at] == place else -1

    def _after(self, places: list[int]) -> Node | None:
        """Returns the node of a history, given by indices into the common words, the last word first."""
        place = places[-1]
        if place < 0 or self.starts[place] == self.starts[place + 1]:
            return None
        first, last = int(self.starts[place]), int(self.starts[place + 1])
        node = Node(2, first, last, float(self.backoff_table[self.backoff[place]]))
        for place in reversed(places[:-1]):
            row = self._row(node, place)
            if row < 0 or node.n == self.order:
                return None
            level = self.levels[node.n - 2]
            if not level.deep[row >> 3] >> (row & 7) & 1:
                return None
            block = row // RANK
            bits = int.from_bytes(level.deep[block * RANK // 8 : (row >> 3) + 1].tobytes(), "little")
            history = int(level.rank[block]) + (bits & ((1 << row % RANK) - 1)).bit_count()
            first, last = _span(level, history)
            log_backoff = float(level.backoff_table[level.backoff[history]])
            node = Node(node.n + 1, first, last, log_backoff)
        return node

    def to_automaton(self) -> tuple[Vocabulary, Automaton]:
        """Returns the vocabulary and the model as an automaton, with the file's ids."""
        v = len(self.p)
        every = np.arange(v)
        empty = np.zeros(1, np.int64)
        keys, suffix, p = [empty, every], [empty, np.zeros(v, np.int64)], [self.table[self.p[1:]]]
        counts = np.asarray(np.diff(self.starts), np.int64)
        history, backoff = self.common.astype(np.int64), [self.backoff_table[self.backoff[counts > 0]]]
        for n, level in enumerate(self.levels, start=2):
            row = np.repeat(history, counts)
            word = self.common[level.labels].astype(np.int64)
            keys.append(row * v + word)
            suffix.append(find(keys[n - 1], suffix[n - 1][row] * v + word) if n > 2 else word)
            if (suffix[n] < 0).any():
                raise ValueError(f"an n-gram of order {n} lacks the one without its first word")
            p.append(level.table[level.p])
            if n < self.order:
                history = set_bits(level.deep, len(level.p))
                after = len(self.levels[n - 1].p)
                counts = np.diff(np.concatenate([set_bits(level.head, after), [after]]))
                backoff.append(level.backoff_table[level.backoff])
        shape = from_trie(Trie(v, tuple(keys), tuple(suffix)))
        vocabulary = Vocabulary((*SPECIALS, *self.words.every()))
        return vocabulary, Automaton(shape, np.concatenate(p), np.concatenate([[0.0], *backoff]))


def _span(level: StoredOrder, history: int) -> tuple[int, int]:
    """Returns where the n-grams of a history begin and end, one order above `level`."""
    begin, end = int(level.pick[history // PICK]), int(level.pick[history // PICK + 1])
    heads = set_bits(level.head[begin >> 3 : (end >> 3) + 1]) + (begin & ~7)
    at = int(heads.searchsorted(begin)) + history % PICK
    return int(heads[at]), int(heads[at + 1]) if at + 1 < len(heads) else end


def set_bits(bits: NDArray[np.uint8], count: int | None = None) -> Ints:
    """Returns the numbers of the bits that are set, among the first `count`."""
    return np.flatnonzero(np.unpackbits(bits, count=count, bitorder="little"))
