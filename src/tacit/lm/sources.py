"""One face for every model: the words it knows, and how likely each is after a context.

Ids are those of the compact file, whatever the model: 0 to 2 are `<s>`, `</s>`, `<unk>`, and all words follow in the
order of their UTF-8 bytes, so that a prefix is a range of ids. Two kinds are enough. A compact file answers from its
own arrays, in microseconds. Every other model (an automaton from ARPA or Kneser-Ney, a network, a person's network)
gives the log-probabilities of all its words after a context, and the best of them are picked.

Nothing here knows of capitals or keys; that is suggestions.py.
"""

from __future__ import annotations

import dataclasses
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.lm.network8 import forward as network8_suggest
from tacit.ngram import automaton
from tacit.ngram.automaton import Automaton
from tacit.ngram.compact.reader import Compact
from tacit.ngram.compact.search import best
from tacit.text.vocabulary import BOS, SPECIALS, UNK, Vocabulary

_RECENT = 32  # words that an automaton looks back at: more than any n-gram has


class Source(Protocol):
    """A model that can be asked. A state is whatever it remembers of a context."""

    @property
    def cased(self) -> bool:
        """Whether it knows capitals."""
        ...

    @property
    def words(self) -> tuple[str, ...]:
        """All words by id, the specials first."""
        ...

    def word(self, i: int) -> str:
        """The word of an id."""
        ...

    def id(self, word: str) -> int:
        """The id of a word, that of `<unk>` if it is not known."""
        ...

    def starting(self, prefix: str) -> tuple[int, int]:
        """The ids of the words that begin so: from the first to the second, which is not one of them."""
        ...

    def state(self, context: Sequence[str]) -> Any:
        """What is remembered of the first words of a message."""
        ...

    def best(self, state: Any, k: int, first: int, last: int) -> list[tuple[int, float]]:
        """The k likeliest words with ids from `first` to `last` − 1 that are not hidden, and their log p."""
        ...

    def log_probs(self, state: Any, ids: Ints) -> Floats:
        """Natural log p of these words; −inf for one that is impossible."""
        ...

    def hidden(self, i: int) -> bool:
        """Whether a word is never suggested."""
        ...

    def without(self, ids: Ints) -> Source:
        """The same model with these words hidden, too."""
        ...


@dataclass(frozen=True)
class CompactSource:
    """A compact file."""

    stored: Compact

    @property
    def cased(self) -> bool:
        return bool(self.stored.facts.get("cased"))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return (*SPECIALS, *self.stored.words.every())

    def word(self, i: int) -> str:
        return self.stored.word(i)

    def id(self, word: str) -> int:
        return self.stored.id(_sound(word))

    def starting(self, prefix: str) -> tuple[int, int]:
        first, last = self.stored.words.starting(_sound(prefix)) if prefix else (0, self.stored.words.count)
        return first + len(SPECIALS), last + len(SPECIALS)

    def state(self, context: Sequence[str]) -> Any:
        recent = context[max(0, len(context) - self.stored.order + 1) :]
        found = map(self.id, recent)
        ids = [i if i != UNK else self.id(w.lower()) for i, w in zip(found, recent, strict=True)]
        return self.stored.state([BOS, *ids])  # which forgets the start where there are enough words

    def best(self, state: Any, k: int, first: int, last: int) -> list[tuple[int, float]]:
        return best(self.stored, state, k, first, last)

    def log_probs(self, state: Any, ids: Ints) -> Floats:
        model, found = self.stored, np.zeros(len(ids))
        place = np.searchsorted(model.common, ids)
        here = np.minimum(place, max(0, len(model.common) - 1))
        place = np.where(model.common[here] == ids, here, -1) if len(model.common) else np.full(len(ids), -1)
        todo = np.arange(len(ids))
        for node in state:
            level = model.levels[node.n - 2]
            labels = level.labels[node.first : node.last]
            at = np.minimum(np.searchsorted(labels, place[todo]), len(labels) - 1)
            there = labels[at] == place[todo]
            found[todo[there]] += level.table[level.p[node.first + at[there]]]
            todo = todo[~there]
            found[todo] += node.log_backoff
        found[todo] += model.table[model.p[ids[todo]]]
        return found

    def hidden(self, i: int) -> bool:
        return bool(self.stored.hidden[i])

    def without(self, ids: Ints) -> Source:
        hidden = self.stored.hidden.copy()
        hidden[ids] = True
        return CompactSource(dataclasses.replace(self.stored, hidden=hidden))


@dataclass(frozen=True)
class DenseSource:
    """A model that gives the log-probabilities of all its words at once."""

    words: tuple[str, ...]  # in the order of this module's ids
    columns: Ints  # [words] where each is in what `forward` gives
    forward: Callable[[list[str]], Floats]  # words of a message to log p [columns]
    shown: NDArray[np.bool_]  # [words]

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
        key = _sound(prefix).encode()
        first, last = bisect_left(self._bytes, key), bisect_left(self._bytes, key + b"\xff")
        return first + len(SPECIALS), last + len(SPECIALS)

    def state(self, context: Sequence[str]) -> Any:
        known = [word if word in self._index else word.lower() for word in context]
        return self.forward(known)[self.columns]

    def best(self, state: Any, k: int, first: int, last: int) -> list[tuple[int, float]]:
        log_p = np.where(self.shown[first:last], state[first:last], -np.inf)
        return [(first + i, p) for i, p in network8_suggest.best(log_p, k, first=0) if p > -np.inf]

    def log_probs(self, state: Any, ids: Ints) -> Floats:
        return np.asarray(state)[ids]

    def hidden(self, i: int) -> bool:
        return not self.shown[i]

    def without(self, ids: Ints) -> Source:
        shown = self.shown.copy()
        shown[ids] = False
        return dataclasses.replace(self, shown=shown)


def _sound(text: str) -> str:
    """Text that can be written in UTF-8: half a surrogate pair, which a page may send, becomes a question mark."""
    return text.encode("utf-8", "replace").decode()


def dense(
    words: Sequence[str], forward: Callable[[list[str]], Floats], columns: Sequence[int] | None = None
) -> DenseSource:
    """A source from any function that gives log-probabilities, of which `words[i]` has column i or `columns[i]`.

    The first three words are the specials.

    >>> flat = dense([*SPECIALS, "you", "see"], lambda context: np.log(np.array([1e-9, 0.1, 0.1, 0.5, 0.3])))
    >>> flat.words[3:], flat.best(flat.state([]), 1, 3, 5)
    (('see', 'you'), [(4, -0.6931471805599453)])
    """
    at = np.arange(len(words)) if columns is None else np.asarray(columns)
    by = sorted(range(len(SPECIALS), len(words)), key=lambda i: words[i].encode())
    order = [*range(len(SPECIALS)), *by]
    shown = np.arange(len(order)) > UNK
    return DenseSource(tuple(words[i] for i in order), at[order].astype(np.int64), forward, shown)


def of_automaton(words: Vocabulary, model: Automaton) -> DenseSource:
    """A source from a backoff automaton: an ARPA file, a Kneser-Ney model, one that was just distilled."""
    shape = model.topology

    def forward(context: list[str]) -> Floats:
        ids = words.encode(context[-_RECENT:]).astype(np.int64)
        state = int(shape.states_along(ids, np.array([0, len(ids)]))[-1])
        with np.errstate(divide="ignore"):  # a word may have no probability
            found: Floats = np.log(automaton.distribution(model, state))
        found[BOS] = -np.inf
        return found

    return dense(words.words, forward)
