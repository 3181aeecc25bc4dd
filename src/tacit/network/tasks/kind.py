"""Defines what a kind of work is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from tacit.network.person import Person
from tacit.network.work import Facts

Arrays = Mapping[str, np.ndarray]


class Kind(NamedTuple):
    """Describes a kind of work: the facts of a task besides `work.TASK_FACTS`, and the client's answer."""

    facts: Mapping[str, type]
    begin: Callable[
        [Person], Callable[[Facts, Arrays], Arrays]
    ]  # once for a client; then (facts, arrays) → arrays
