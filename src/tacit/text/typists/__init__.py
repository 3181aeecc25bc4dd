"""The built-in typists: people who chat by phone, made from a seed, with knobs for how they differ.

Real keyboards' text cannot be shipped, so demos, tests and experiments train on these. Nobody's words are
copied: lexicon and grammar were written for Tacit. A person is made when visited, and only then.

Reading order: `rules` and `lexicon` (data), `grammar`, `slots` and `phrases` (how a sentence comes
about), `people` (how people differ), `clock`, `style`, `compose`.
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
SIGMA = 1.6  # of the log-normal amounts at quantity_skew = 1
LARGEST = 40  # nobody has more than this many times the median


@dataclass(frozen=True)
class TypistsConfig:
    """How many people, how much they type, and how they differ; every knob runs from 0 (alike) to 1.

    With x the context and y the next word (Kairouz et al., 2021, section 3.1): `feature_skew` moves P(x)
    (kinds of message, hours, capitals, punctuation), `label_skew` moves P(y) (topics, names, favourite
    words and emoji), `concept_drift` moves P(x|y) (dialect, register, wording of the same thing),
    `concept_shift` moves P(y|x) (how a habit continues the same words), `quantity_skew` the amounts.

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
        for key in KNOBS:
            value = getattr(self, key)
            if not 0.0 <= value <= 1.0:
                raise TacitError(f"typists.{key} is {value}; it must lie between 0 and 1")


def _splitmix(x: np.ndarray) -> np.ndarray:
    """SplitMix64 (Steele, Lea and Flood, 2014): a counter hashed to 64 random bits; uint64 to uint64."""
    with np.errstate(over="ignore"):
        return mix(x + np.uint64(0x9E3779B97F4A7C15))


class Typists:
    """A population of made-up typists. The same config gives the same text, in any order of visiting.

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
    def made_of(self) -> tuple[TypistsConfig]:
        """What another process makes the same people of (`tacit.text.wire`)."""
        return (self.config,)

    def __len__(self) -> int:
        return self.config.users

    def user(self, k: int) -> str:
        """The name of person k.

        >>> Typists().user(7)
        'typist-000007'
        """
        self._check(k)
        return f"typist-{k:06d}"

    def messages(self, k: int) -> list[Message]:
        """What person k typed, oldest first; made anew at every call, always the same.

        >>> Typists().messages(7) == Typists().messages(7)
        True
        """
        self._check(k)
        person = Person(f"tacit typist {self.config.seed} {k}", self._alphas)
        return compose(person, int(self._amounts(np.array([k]))[0]))

    def sizes(self) -> np.ndarray:
        """Messages per person, [people] int64, hashed from seed and place: no text is made."""
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
