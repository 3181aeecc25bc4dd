"""The text of a population too large to be made at once: a person's is made when a cohort asks for it."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from tacit.text.encode import cut, numbered, packed
from tacit.text.packed import Packed, join
from tacit.text.population import Population
from tacit.text.vocabulary import Vocabulary

_REMEMBERED = 2000  # people whose text is kept for the next time


class LazyText:
    """Training text that is made as it is visited; of client c the first `kept[c]` messages count."""

    def __init__(
        self,
        population: Population,
        people: np.ndarray,  # [clients], which of the population
        sizes: np.ndarray,  # [clients], messages each of them has
        kept: np.ndarray,  # [clients], messages to train on
        words: Vocabulary,
        lower: bool,
        limit: int,
    ):
        self.sizes = kept
        self.longest = limit + 1

        @lru_cache(maxsize=_REMEMBERED)
        def text(client: int) -> Packed:
            here = slice(client, client + 1)
            one = numbered(population, people[here], sizes[here], lower)
            return packed(one, cut(one, np.arange(kept[client]), kept[here], one.names, limit), words)

        self._text = text

    def __len__(self) -> int:
        return len(self.sizes)

    def gather(self, clients: np.ndarray) -> Packed:
        return join([self._text(client) for client in clients.tolist()])
