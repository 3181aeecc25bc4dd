"""Generates the built-in typists: simulated people who chat by phone, with knobs for how much they differ.

Text from real keyboards cannot be shipped, so demos, tests and experiments train on these. No real text is copied:
lexicon and grammar were written for Tacit. A person's text is generated from the seed when it is read.

Reading order: `rules` and `lexicon` (data); `grammar`, `slots` and `phrases` (sentences); `people` (differences
between people); `clock`, `style`, `compose`.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import mix
from tacit.text.population import Message
from tacit.text.typists.compose import compose
from tacit.text.typists.people import Person, concentrations

__all__ = ["Typists", "TypistsConfig"]

KNOBS = ("feature_skew", "label_skew", "concept_drift", "concept_shift", "quantity_skew")
SIGMA = 1.6  # log-sd of the amounts at quantity_skew = 1
LARGEST = 40  # the largest amount, as a multiple of the median
_MOST = {"users": 20_000_000, "messages": 1_000_000}


@dataclass(frozen=True)
class TypistsConfig:
    """Number of people, amount of text, and how much people differ: every knob goes from 0 (all alike) to 1.

    x is the context and y the next word (Kairouz et al., 2021, section 3.1).

    - `feature_skew` changes P(x): kinds of message, hours, capitals, punctuation.
    - `label_skew` changes P(y): topics, names, favourite words and emoji.
    - `concept_drift` changes P(x|y): dialect, register, wording of the same thing.
    - `concept_shift` changes P(y|x): how a person's habits continue the same words.
    - `quantity_skew` changes the number of messages.

    >>> TypistsConfig(label_skew=1.5)
    Traceback (most recent call last):
    tacit.base.errors.TacitError: typists.label_skew is 1.5; it must lie between 0 and 1
    """

    users: int = 400
    messages: int = 150
    feature_skew: float = 0.5
    label_skew: float = 0.5
    concept_drift: float = 0.5
    concept_shift: float = 0.5
    quantity_skew: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        for key in ("users", "messages"):
            value = getattr(self, key)
            if value < 1:
                raise TacitError(f"typists.{key} is {value}; it must be at least 1")
            if value > _MOST[key]:
                raise TacitError(
                    f"typists.{key} is {value}; it must be at most {_MOST[key]:,} (sizes are in memory)"
                )
        for key in KNOBS:
            value = getattr(self, key)
            if not 0.0 <= value <= 1.0:
                raise TacitError(f"typists.{key} is {value}; it must lie between 0 and 1")


def _splitmix(x: np.ndarray) -> np.ndarray:
    """Hashes counters to 64 random bits by SplitMix64 (Steele, Lea and Flood, 2014); uint64 to uint64."""
    with np.errstate(over="ignore"):
        return mix(x + np.uint64(0x9E3779B97F4A7C15))


class Typists:
    """A population of simulated typists. The same config gives the same text, in whatever order people are read.

    >>> typists = Typists(TypistsConfig(users=1_000_000, seed=3))
    >>> len(typists), typists.user(42), len(typists.messages(42)) == int(typists.sizes()[42])
    (1000000, 'typist-000042', True)
    """

    def __init__(self, config: TypistsConfig | None = None) -> None:
        self.config = config = config or TypistsConfig()
        self._alphas = concentrations(asdict(config))

    @property
    def name(self) -> str:
        return "typists"

    @property
    def rebuild_args(self) -> tuple[TypistsConfig]:
        """The arguments with which another process rebuilds this population (`tacit.text.wire`)."""
        return (self.config,)

    def __len__(self) -> int:
        return self.config.users

    def user(self, k: int) -> str:
        """Returns the name of person k.

        >>> Typists().user(7)
        'typist-000007'
        """
        self._check(k)
        return f"typist-{k:06d}"

    def messages(self, k: int) -> list[Message]:
        """Returns the messages of person k, oldest first; every call generates the same messages again.

        >>> Typists().messages(7) == Typists().messages(7)
        True
        """
        self._check(k)
        person = Person(f"tacit typist {self.config.seed} {k}", self._alphas)
        return compose(person, int(self._amounts(np.array([k]))[0]))

    def sizes(self) -> np.ndarray:
        """Returns the number of messages of each person, [people] int64, without generating text."""
        return self._amounts(np.arange(self.config.users))

    def _amounts(self, people: np.ndarray) -> np.ndarray:
        start = _splitmix(np.array([self.config.seed & (2**64 - 1)], dtype=np.uint64))
        bits = _splitmix(start ^ _splitmix(people.astype(np.uint64)))
        first = ((bits >> np.uint64(11)).astype(np.float64) + 0.5) / 2.0**53
        second = (_splitmix(bits) >> np.uint64(11)).astype(np.float64) / 2.0**53
        normal = np.sqrt(-2.0 * np.log(first)) * np.cos(2.0 * np.pi * second)  # Box and Muller, 1958
        median = self.config.messages
        amounts = np.rint(median * np.exp(SIGMA * self.config.quantity_skew * normal))
        return np.clip(amounts, 1, LARGEST * median).astype(np.int64)

    def _check(self, k: int) -> None:
        if not 0 <= k < self.config.users:
            raise TacitError(f"there is no typist {k}; people run from 0 to {self.config.users - 1}")
