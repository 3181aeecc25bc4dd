"""Makes word sources of models that give the log-probabilities of all their words at once.

An automaton, a network and a person's network each give one function, from the words of a message to the
log-probabilities of every word; `DenseSource` finds the likeliest among them.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.lm.protocol import ask_for
from tacit.text.locale import DEFAULT, find
from tacit.text.vocabulary import SPECIALS, UNK, Vocabulary

Forward = Callable[[list[str]], Floats]  # words of a message → log p [columns]


class DenseState(NamedTuple):
    """Holds a context and the log-probabilities of all words after it."""

    context: tuple[str, ...]
    log_p: Floats  # [words]


@dataclass(frozen=True)
class DenseSource:
    """A `WordSource` over a function that gives the log-probabilities of all words."""

    words: tuple[str, ...]  # the specials, then by UTF-8 bytes
    columns: Ints  # [words] the column of each word in the result of `forward`
    forward: Forward
    shown: NDArray[np.bool_]  # [words]
    locale: str = DEFAULT

    @cached_property
    def cased(self) -> bool:
        return Vocabulary(self.words).cased

    @cached_property
    def _bytes(self) -> list[bytes]:
        return [word.encode() for word in self.words[len(SPECIALS) :]]

    @cached_property
    def _index(self) -> dict[str, int]:
        return {word: i for i, word in enumerate(self.words) if i > UNK}

    def word(self, i: int) -> str:
        return self.words[i]

    def id(self, word: str) -> int:
        return self._index.get(word, UNK)

    def starting(self, prefix: str) -> tuple[int, int]:
        return prefix_range(self._bytes, prefix)

    def state(self, context: Sequence[str]) -> DenseState:
        lower = find(self.locale).lower
        known = [word if word in self._index else lower(word) for word in context]
        return DenseState(tuple(known), self.forward(known)[self.columns])

    def step(self, state: DenseState, i: int) -> DenseState:
        return self.state((*state.context, self.words[i]))

    def best(self, state: DenseState, k: int, first: int, last: int) -> list[tuple[int, float]]:
        log_p = np.where(self.shown[first:last], state.log_p[first:last], -np.inf)
        return [(first + i, p) for i, p in likeliest(log_p, k) if p > -np.inf]

    def log_probs(self, state: DenseState, ids: Ints) -> Floats:
        return state.log_p[ids]

    def hidden(self, i: int) -> bool:
        return not self.shown[i]

    def without(self, ids: Ints) -> DenseSource:
        shown = self.shown.copy()
        shown[ids] = False
        return dataclasses.replace(self, shown=shown)


def dense(
    words: Sequence[str], forward: Forward, columns: Sequence[int] | None = None, locale: str = DEFAULT
) -> DenseSource:
    """Makes a word source from any function that gives log-probabilities.

    `words[i]` has column i or `columns[i]`; the first three are the specials.

    >>> flat = dense([*SPECIALS, "you", "see"], lambda context: np.log(np.array([1e-9, 0.1, 0.1, 0.5, 0.3])))
    >>> flat.words[3:], flat.best(flat.state([]), 1, 3, 5)
    (('see', 'you'), [(4, -0.6931471805599453)])
    """
    at = np.arange(len(words)) if columns is None else np.asarray(columns)
    by = sorted(range(len(SPECIALS), len(words)), key=lambda i: words[i].encode())
    order = [*range(len(SPECIALS)), *by]
    shown = np.arange(len(order)) > UNK
    return DenseSource(tuple(words[i] for i in order), at[order].astype(np.int64), forward, shown, locale)


def likeliest(log_p: NDArray[np.floating], k: int) -> list[tuple[int, float]]:
    """Returns the k greatest log-probabilities with their indices; among equal ones the first.

    >>> likeliest(np.array([-3, -1, -2], np.float32), k=2)
    [(1, -1.0), (2, -2.0)]
    """
    ask_for(k)
    if len(log_p) > k:
        least = np.partition(log_p, len(log_p) - k)[len(log_p) - k]
        at = np.flatnonzero(log_p >= least)
    else:
        at = np.arange(len(log_p))
    order = at[np.argsort(-log_p[at], kind="stable")[:k]]
    return [(int(i), float(log_p[i])) for i in order]


def prefix_range(words: list[bytes], prefix: str) -> tuple[int, int]:
    """Returns the ids whose words begin with a prefix; `words` are those from id 3 on, ascending.

    >>> prefix_range([b"be", b"tie", b"to"], "t")
    (4, 6)
    """
    key = encodable(prefix).encode()
    first, last = bisect_left(words, key), bisect_left(words, key + b"\xff")  # 255 never occurs in UTF-8
    return first + len(SPECIALS), last + len(SPECIALS)


def encodable(text: str) -> str:
    """Returns text that UTF-8 can encode: a lone surrogate, which a page may send, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()
