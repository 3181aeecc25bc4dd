"""Wraps a compact n-gram file as a `Model`: suggestions come from the mapped arrays, in microseconds."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.lm.dense import encodable
from tacit.lm.protocol import Bulk, MessageLogProbs, Model
from tacit.ngram.compact.arrays import Compact, State
from tacit.ngram.compact.search import best
from tacit.ngram.model import automaton_along
from tacit.ngram.score import score
from tacit.scoring.scores import Scores
from tacit.text.locale import DEFAULT, find
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, SPECIALS, UNK, Vocabulary


class CompactState(NamedTuple):
    """The last words of a context, as many as the order needs, and their histories in the file."""

    recent: tuple[int, ...]
    histories: State


@dataclass(frozen=True)
class CompactSource:
    """A `WordSource` over a compact file."""

    stored: Compact

    @property
    def cased(self) -> bool:
        return bool(self.stored.facts.get("cased"))

    @property
    def locale(self) -> str:
        return str(self.stored.facts.get("locale", DEFAULT))

    @cached_property
    def words(self) -> tuple[str, ...]:
        return (*SPECIALS, *self.stored.words.every())

    def word(self, i: int) -> str:
        return self.stored.word(i)

    def id(self, word: str) -> int:
        return self.stored.id(encodable(word))

    def starting(self, prefix: str) -> tuple[int, int]:
        words = self.stored.words
        first, last = words.starting(encodable(prefix)) if prefix else (0, words.count)
        return first + len(SPECIALS), last + len(SPECIALS)

    def state(self, context: Sequence[str]) -> CompactState:
        recent = context[max(0, len(context) - self.stored.order + 1) :]
        lower = find(self.locale).lower
        ids = [
            i if i != UNK else self.id(lower(w)) for w, i in zip(recent, map(self.id, recent), strict=True)
        ]
        return self._after((BOS, *ids))

    def step(self, state: CompactState, i: int) -> CompactState:
        return self._after((*state.recent, i))

    def _after(self, ids: tuple[int, ...]) -> CompactState:
        recent = ids[max(0, len(ids) - self.stored.order + 1) :]  # longer histories are not stored
        return CompactState(recent, self.stored.state(recent))

    def best(self, state: CompactState, k: int, first: int, last: int) -> list[tuple[int, float]]:
        return best(self.stored, state.histories, k, first, last)

    def log_probs(self, state: CompactState, ids: Ints) -> Floats:
        model, log_p = self.stored, np.zeros(len(ids))
        place = np.searchsorted(model.common, ids)
        here = np.minimum(place, max(0, len(model.common) - 1))
        place = np.where(model.common[here] == ids, here, -1) if len(model.common) else np.full(len(ids), -1)
        todo = np.arange(len(ids))
        for node in state.histories:
            level = model.levels[node.n - 2]
            labels = level.labels[node.first : node.last]
            at = np.minimum(np.searchsorted(labels, place[todo]), len(labels) - 1)
            there = labels[at] == place[todo]
            log_p[todo[there]] += level.table[level.p[node.first + at[there]]]
            todo = todo[~there]
            log_p[todo] += node.log_backoff
        log_p[todo] += model.table[model.p[ids[todo]]]
        return log_p

    def hidden(self, i: int) -> bool:
        return bool(self.stored.hidden[i])

    def without(self, ids: Ints) -> CompactSource:
        hidden = self.stored.hidden.copy()
        hidden[ids] = True
        return CompactSource(dataclasses.replace(self.stored, hidden=hidden))


def compact_model(stored: Compact, size: int) -> Model:
    """Returns the `Model` of an open file of `size` bytes."""
    source = CompactSource(stored)

    def text_score(text: Packed) -> Scores:
        return score(stored.to_automaton()[1], text)

    def along(messages: Sequence[Sequence[str]]) -> Iterator[MessageLogProbs]:
        return automaton_along(*stored.to_automaton(), stored.hidden)(messages)

    return Model(
        source=source,
        bulk=Bulk(Vocabulary(source.words), text_score, along),
        size=size,
        case="keep" if source.cased else "lower",
        runtime="compact n-gram file",
    )
