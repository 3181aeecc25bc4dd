"""Draws the people or sentences to hold out from training, by a run's seed: for validation, and as many for the test.

Training (`prepare`) and every later measurement of the run (`typed`) must hold out the same people, so all of them
call this module.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import stream, uniform
from tacit.text.population import Population
from tacit.text.typists import Typists

# people and messages; a population of typists with more of both is generated on demand
LAZY_ABOVE, LAZY_MESSAGES = 20_000, 8_000_000
LONGEST_SCORED = 1000  # words; in evaluation a longer message is split
_LAZY_HELD_OUT = 200  # people of such a population for validation, and as many for the test
_PEOPLE, _SENTENCES = stream("held-out people"), stream("held-out sentences")


class Kept(NamedTuple):
    """Indices of people, or of one person's messages."""

    train: np.ndarray  # ascending
    valid: np.ndarray
    test: np.ndarray


def is_lazy(population: Population) -> bool:
    """Returns whether a population is too large to generate all its text at once."""
    large = isinstance(population, Typists) and len(population) > LAZY_ABOVE
    return large and int(population.sizes().sum()) > LAZY_MESSAGES


def people(population: Population, share: float, seed: int, where: str) -> Kept:
    """Draws a share of the people for validation and as many for the test; `where` names the corpus in errors.

    The held-out people are in the order drawn.

    >>> from tacit.text.corpus import from_messages
    >>> kept = people(from_messages("demo", {name: ["hi"] for name in "abcde"}), 0.2, seed=0, where="demo")
    >>> [len(part) for part in kept], sorted(np.concatenate(kept).tolist())
    ([3, 1, 1], [0, 1, 2, 3, 4])
    """
    count = len(population)
    held = max(1, round(share * count)) if share else 0
    if count - 2 * held < 1 or held == 0:
        raise TacitError(
            f"{where}: {count} people and text.held_out_users = {share} leave nobody to train on or nobody to test; "
            "give text of at least 3 people and a share above 0"
        )
    ranked = np.argsort(uniform(seed, _PEOPLE, np.arange(count)), kind="stable")
    valid, test, train = ranked[:held], ranked[held : 2 * held], np.sort(ranked[2 * held :])
    most = _LAZY_HELD_OUT if is_lazy(population) else None
    return Kept(train, valid[:most], test[:most])


def sentences(count: int, share: float, seed: int) -> Kept:
    """Draws validation and test sentences of a corpus of one person, each sentence independently.

    >>> [len(part) for part in sentences(1000, 0.1, seed=0)]
    [793, 106, 101]
    """
    draw = uniform(seed, _SENTENCES, np.arange(count))
    part = np.where(draw < share, 1, np.where(draw < 2 * share, 2, 0))
    return Kept(*(np.flatnonzero(part == which) for which in range(3)))
