"""Defines `Population`, the interface of every text source: people and the messages of each, in time order.

A corpus read from a file stores messages as bytes, and the built-in typists generate them on demand. So a
population of a million people costs little until its messages are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np


class Message(NamedTuple):
    """One message. Only the built-in typists provide a `topic`."""

    text: str
    time: str = ""
    topic: str = ""


class Population(Protocol):
    """People and their messages; `k` runs from 0 to `len(population) - 1`."""

    @property
    def name(self) -> str: ...

    def __len__(self) -> int: ...

    def user(self, k: int) -> str:
        """Returns the name of person k."""
        ...

    def messages(self, k: int) -> Sequence[Message]:
        """Returns the messages of person k, oldest first."""
        ...

    def sizes(self) -> np.ndarray:
        """Returns the number of messages of each person, [people] int64, without generating text."""
        ...
