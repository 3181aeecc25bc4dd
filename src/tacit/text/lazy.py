"""Generates the text of a large population on demand: a person's text is made when a cohort needs it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tacit.text.encode import cut, numbered, packed
from tacit.text.locale import DEFAULT
from tacit.text.packed import Packed, join
from tacit.text.population import Population
from tacit.text.vocabulary import Vocabulary

_CACHED = 2000  # people whose text stays in memory


class LazyText:
    """Training text that is generated on demand; client c trains on its first `kept[c]` messages."""

    def __init__(
        self,
        population: Population,
        people: np.ndarray,  # [clients], index in the population
        sizes: np.ndarray,  # [clients], number of messages
        kept: np.ndarray,  # [clients], number of messages to train on
        words: Vocabulary,
        lower: bool,
        limit: int,
        locale: str = DEFAULT,
    ):
        self.sizes = kept
        self.longest = limit + 1

        @lru_cache(maxsize=_CACHED)
        def text(client: int) -> Packed:
            only = slice(client, client + 1)
            one = numbered(population, people[only], sizes[only], lower, locale=locale)
            return packed(one, cut(one, np.arange(kept[client]), kept[only], one.names, limit), words)

        self._text = text

    def __len__(self) -> int:
        return len(self.sizes)

    def gather(self, clients: np.ndarray) -> Packed:
        return join([self._text(client) for client in clients.tolist()])
