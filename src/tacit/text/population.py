"""People and what each of them typed: the one shape in which text enters Tacit.

A population is anything that can say how many people it has and give one person's messages in time
order. A corpus read from a file keeps them as bytes and the built-in typists make them when asked, so
a population of a million costs little until its people are visited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np


class Message(NamedTuple):
    """One thing a person typed. `topic` is known only where the source says it (the built-in typists)."""

    text: str
    time: str = ""
    topic: str = ""


class Population(Protocol):
    """People and their messages; `k` runs from 0 to `len(population) - 1`."""

    @property
    def name(self) -> str: ...

    def __len__(self) -> int: ...

    def user(self, k: int) -> str:
        """The name under which person k is known."""
        ...

    def messages(self, k: int) -> Sequence[Message]:
        """What person k typed, oldest first."""
        ...

    def sizes(self) -> np.ndarray:
        """How many messages each person holds, [people] int64, without making the text."""
        ...
