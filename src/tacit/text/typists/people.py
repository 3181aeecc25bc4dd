"""Models how people differ: each person makes the grammar's choices from their own distribution.

Every choice in the grammar has a kind (which words, which wording, ...), and each kind has a knob s in [0, 1]. Person
i chooses from p_i ~ Dirichlet(a p), where p is the population's distribution and a = c (1 - s) / s. At s = 0 everybody
has p itself; at s = 1 everybody always makes the same choice. At any s the average over people is p, so a knob changes
only the differences between people.

p_i is never drawn: a Pólya urn gives the same sequence of choices (Blackwell and MacQueen, 1973). After n choices,
repeat one of them with probability n / (n + a); otherwise draw from p. This needs one list per choice that occurs,
whatever the size of the lexicon.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from random import Random
from typing import TypeVar

from tacit.text.typists.zipf import Ranked

T = TypeVar("T")

# c above: a larger c makes a person repeat themselves less. Topics, words and sentence patterns vary more than set
# phrases.
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
    """Returns a for each kind of choice; None if people do not differ. At s = 1, a stays slightly above 0."""
    return {
        kind: c * max(1.0 - knobs[KNOB[kind]], 0.01) / knobs[KNOB[kind]] if knobs[KNOB[kind]] > 0 else None
        for kind, c in CONCENTRATION.items()
    }


class Person:
    """One person's random stream and urns. Uses only `Random.random()`, whose stream Python keeps stable."""

    def __init__(self, name: str, alphas: Mapping[str, float | None]) -> None:
        self.rng = Random(name)  # a string seed is hashed by SHA-512, so it is the same in every process
        self.alphas = alphas
        self.urns: dict[Hashable, list[int]] = {}

    def pick(self, kind: str, key: Hashable, options: Ranked[T]) -> T:
        """Picks one of the options by this person's habit; `key` identifies the choice, `kind` selects its knob."""
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
