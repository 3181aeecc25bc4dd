"""Who and what is kept from training, drawn by a run's seed: some to choose by, and as many to report.

Whoever measures a run again (the text as packed arrays in `prepare`, the words as typed in `keyboard.measures_text`)
must find the very people that it never saw, so all of them ask here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import stream, uniform
from tacit.text.population import Population
from tacit.text.typists import Typists

LAZY_ABOVE = 20_000  # people; a larger population of typists is made as it is visited
LONGEST_SCORED = 1000  # words of a message in text that is scored: a longer one goes on as another
_LAZY_HELD_OUT = 200  # people of such a population who are kept apart, twice
_PEOPLE, _SENTENCES = stream("held-out people"), stream("held-out sentences")


class Kept(NamedTuple):
    """Numbers of people, or of one voice's messages."""

    train: np.ndarray  # ascending
    valid: np.ndarray
    test: np.ndarray


def is_lazy(population: Population) -> bool:
    """Whether it is too large to be made at once."""
    return isinstance(population, Typists) and len(population) > LAZY_ABOVE


def people(population: Population, share: float, seed: int, where: str) -> Kept:
    """A share of the people for validation and as many for the test, in the order drawn; `where` is told of errors.

    >>> from tacit.text.corpus import from_messages
    >>> kept = people(from_messages("demo", {name: ["hi"] for name in "abcde"}), 0.2, seed=0, where="demo")
    >>> [len(part) for part in kept], sorted(np.concatenate(kept).tolist())
    ([3, 1, 1], [0, 1, 2, 3, 4])
    """
    count = len(population)
    apart = max(1, round(share * count)) if share else 0
    if count - 2 * apart < 1 or apart == 0:
        raise TacitError(
            f"{where}: {count} people and text.held_out_users = {share} leave nobody to train on or to test with; "
            "give text of at least 3 people and a share above 0"
        )
    ranked = np.argsort(uniform(seed, _PEOPLE, np.arange(count)), kind="stable")
    valid, test, train = ranked[:apart], ranked[apart : 2 * apart], np.sort(ranked[2 * apart :])
    most = _LAZY_HELD_OUT if is_lazy(population) else None
    return Kept(train, valid[:most], test[:most])


def sentences(count: int, share: float, seed: int) -> Kept:
    """The messages of one voice, each drawn by itself.

    >>> [len(part) for part in sentences(1000, 0.1, seed=0)]
    [793, 106, 101]
    """
    draw = uniform(seed, _SENTENCES, np.arange(count))
    part = np.where(draw < share, 1, np.where(draw < 2 * share, 2, 0))
    return Kept(*(np.flatnonzero(part == which) for which in range(3)))
