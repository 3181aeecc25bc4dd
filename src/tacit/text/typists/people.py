"""A person: what makes their text differ from everybody else's.

Every choice in the grammar is of a kind (which words, which wording, ...), and each kind has a knob s in
[0, 1]. A person chooses from their own distribution p_i ~ Dirichlet(a p), where p is the population's and
a = c (1 - s) / s: at s = 0 everybody has p itself, at s = 1 everybody always makes one choice, and at any
s the average over people is p, so a knob moves the differences between people and nothing else.

p_i is never drawn: a Pólya urn gives the same sequence of choices (Blackwell and MacQueen, 1973). With n
choices made so far, repeat one of them with probability n / (n + a), otherwise draw from p. That costs one
list per kind of choice met, whatever the size of the lexicon.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from random import Random
from typing import TypeVar

from tacit.text.typists.zipf import Ranked

T = TypeVar("T")

# c above: how soon a person repeats themselves. Topics, words and sentence patterns stay more varied than
# set phrases.
CONCENTRATION = {
    "feature": 3.0,
    "topic": 4.0,
    "label": 8.0,
    "drift": 1.5,
    "pattern": 5.0,
    "shift": 1.5,
    "turn": 5.0,
}
KNOB = {
    "feature": "feature_skew",
    "topic": "label_skew",
    "label": "label_skew",
    "drift": "concept_drift",
    "pattern": "concept_drift",
    "shift": "concept_shift",
    "turn": "concept_shift",
}


def concentrations(knobs: Mapping[str, float]) -> dict[str, float | None]:
    """The a of each kind of choice; None where people do not differ. At s = 1 a stays a little above 0."""
    return {
        kind: c * max(1.0 - knobs[KNOB[kind]], 0.01) / knobs[KNOB[kind]] if knobs[KNOB[kind]] > 0 else None
        for kind, c in CONCENTRATION.items()
    }


class Person:
    """One person's random stream and urns. Only `Random.random()` is used: Python keeps its stream fixed."""

    def __init__(self, name: str, alphas: Mapping[str, float | None]) -> None:
        self.rng = Random(name)  # a string seed goes through SHA-512, the same in every process
        self.alphas = alphas
        self.urns: dict[Hashable, list[int]] = {}

    def pick(self, kind: str, key: Hashable, options: Ranked[T]) -> T:
        """One of the options by this person's habit; `key` names the choice, `kind` what moves it."""
        alpha = self.alphas.get(kind)
        if alpha is None:
            return options.draw(self.rng)
        urn = self.urns.get(key)
        if urn is None:
            urn = self.urns[key] = []
        ball = self.rng.random() * (len(urn) + alpha)
        choice = urn[int(ball)] if ball < len(urn) else options.place(self.rng)
        urn.append(choice)
        return options.items[choice]
