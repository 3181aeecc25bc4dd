"""Models when clients can be asked and which of them drop out, so that the bias of both can be studied.

A phone takes part while it is idle, charging and on an unmetered network: mostly at night, in its own time zone. The
devices at hand in a round are then no fair sample of people, and neither are those that finish.

    h_k(t) = start + ⌊t · round_hours⌋ + z_k                       local hour of client k in round t
    a_k(t) = day + (night − day) · (1 + cos(2π (h_k(t) − peak) / 24)) / 2       is it available?
    d_k    = sampling.dropout + dropout_spread · (2 r_k − 1)       does it drop out, once it is asked?

z_k, the client's time zone, is one of 0 … zones − 1 hours. r_k in [0, 1] is the client's rank, by chance or by what it
holds (`by`). The clients of rank below `excluded` have devices that never meet the conditions, such as 2 GB of memory.
Chance is tossed once for each client and hour, and d_k is kept within [0, 0.99].

A round samples from the available clients alone, fewer than it wants if there are fewer. With a period, a client that
has reported rests for so many hours. Who is chosen depends on the seed and the round only: earlier rounds are chosen
again if a period needs them, so a resumed run chooses as before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import stream, uniform
from tacit.base.settings import number
from tacit.federated.sampling import Chosen, Pool, SamplingConfig, choose, cohort_size

_ZONE, _RANK, _AWAKE = stream("time zones"), stream("ranks of devices"), stream("device is available")
_MOST = 0.99  # of a drop-out


@dataclass(frozen=True)
class AvailabilityConfig:
    """When clients can be asked, and which drop out: the table [availability] of a configuration."""

    model: Literal["always", "nights"] = "always"
    day: float = number(0.1, 0, 1)  # chance that a client is available, 12 hours from its peak
    night: float = number(0.8, 0, 1)  # and at its peak
    peak: float = number(3.0, 0, 24)  # local hour
    zones: int = number(1, 1, 24)  # time zones, an hour apart
    start: float = number(0.0, 0, 24)  # hour of the first round in the first zone
    round_hours: float = number(1.0, 0, 8784)  # from one round to the next
    period: float = number(0.0, 0, 8784)  # hours that a client rests after it has reported
    by: Literal["chance", "examples", "length"] = (
        "chance"  # a client's rank: the most, or the longest, rank 1
    )
    excluded: float = number(0.0, 0, 0.99)  # share of clients that are never available: the lowest ranks
    dropout_spread: float = number(0.0, -1, 1)  # above 0: the highest ranks drop out most


class Devices(NamedTuple):
    """The devices of a population, as the model sees them."""

    zone: np.ndarray  # [clients] int64, hours
    able: np.ndarray  # [clients] bool: meets the conditions at times
    dropout: np.ndarray  # [clients] float64, chance to drop out once asked


def check(
    config: AvailabilityConfig, sampling: SamplingConfig, separation: int = 0, private: bool = False
) -> None:
    """Refuses settings that would do nothing, and sampling whose promises assume that everybody can be asked."""
    if config.model == "always":
        usual = AvailabilityConfig()
        for key in usual.__dataclass_fields__:
            if getattr(config, key) != getattr(usual, key):
                raise TacitError(
                    f"availability.{key} would do nothing here: it needs availability.model = 'nights'"
                )
        return
    if sampling.scheme == "poisson":
        raise TacitError(
            "sampling.scheme = 'poisson' draws every client with the same probability, on which its ε rests, and "
            "availability.model = 'nights' draws from those that are there; use sampling.scheme = 'uniform'"
        )
    if sampling.scheme != "uniform":
        raise TacitError(
            f"sampling.scheme = '{sampling.scheme}' sets weights for a draw from everybody, and availability.model = "
            "'nights' draws from those that are there; use sampling.scheme = 'uniform'"
        )
    if separation:
        raise TacitError(
            "privacy.mechanism = 'matrix' deals clients into groups of a round each, and availability.model = 'nights' "
            "draws from those that are there; remove one"
        )
    if private and config.by != "chance":
        raise TacitError(
            f"availability.by = '{config.by}' ranks clients by their text, so one client's text would decide who else "
            "takes part, and no noise hides that; use availability.by = 'chance' in a private run"
        )
    if config.period and not config.round_hours:
        raise TacitError(
            f"availability.period = {config.period:g} needs availability.round_hours above 0, or nobody's rest ends"
        )


def refuse(config: AvailabilityConfig, what: str) -> None:
    """Refuses a model of availability where everybody can be asked."""
    if config.model != "always":
        raise TacitError(f"availability.model = '{config.model}' works in training, not in {what}; remove it")


def devices(config: AvailabilityConfig, sampling: SamplingConfig, held: np.ndarray, seed: int) -> Devices:
    """Returns the devices of clients, by what each of them holds, [clients]."""
    ids = np.arange(len(held))
    rank = ranks(np.zeros(len(held)) if config.by == "chance" else held, seed)
    spread = sampling.dropout + config.dropout_spread * (2 * rank - 1)
    return Devices(
        (uniform(seed, _ZONE, ids) * config.zones).astype(np.int64),
        rank >= config.excluded,
        np.clip(spread, 0, _MOST),
    )


def ranks(held: np.ndarray, seed: int) -> np.ndarray:
    """Returns each client's rank in [0, 1] by what it holds; chance decides between equals.

    >>> ranks(np.array([30, 10, 20]), seed=0).tolist()
    [1.0, 0.0, 0.5]
    """
    order = np.lexsort((uniform(seed, _RANK, np.arange(len(held))), held))
    rank = np.empty(len(held))
    rank[order] = np.linspace(0, 1, len(held))
    return rank


def chances(config: AvailabilityConfig, zone: np.ndarray, t: int) -> np.ndarray:
    """Returns a_k(t) for clients in these time zones, [clients].

    >>> settings = AvailabilityConfig("nights", day=0.2, night=0.6, peak=3.0)
    >>> chances(settings, np.array([3, 15]), 0).round(3).tolist()
    [0.6, 0.2]
    """
    hour = config.start + np.floor(t * config.round_hours) + zone
    wave = (1 + np.cos(2 * np.pi * (hour - config.peak) / 24)) / 2
    return config.day + (config.night - config.day) * wave


def available(config: AvailabilityConfig, given: Devices, seed: int, t: int) -> np.ndarray:
    """Returns which clients can be asked in round t, [clients] bool, whether or not they rest."""
    hour = int(np.floor(t * config.round_hours))
    tossed = uniform(seed, _AWAKE, hour, np.arange(len(given.zone)))
    return given.able & (tossed < chances(config, given.zone, t))


class Choice(NamedTuple):
    """The clients of a round, and how many could have been asked."""

    chosen: Chosen
    available: int


def choices(
    config: AvailabilityConfig, sampling: SamplingConfig, sizes: np.ndarray, given: Devices, seed: int
) -> Callable[[int], Choice]:
    """Returns the function that chooses the clients of round t = 0, 1, … from those that are available."""
    cohort_size(sampling, len(sizes))  # refuses a cohort larger than the population
    rounds_of_rest = _rounds_of_rest(config)
    reported: list[np.ndarray] = []  # in rounds 0, 1, …, where there is a period

    def choose_now(t: int) -> Choice:
        ready = available(config, given, seed, t)
        for ids in reported[max(0, t - rounds_of_rest) : t] if rounds_of_rest else []:
            ready[ids] = False
        ids = np.flatnonzero(ready)
        return Choice(choose(sampling, sizes, seed, t, pool=Pool(ids, given.dropout)), len(ids))

    def choice(t: int) -> Choice:
        while rounds_of_rest and len(reported) < t:
            before = choose_now(len(reported)).chosen
            reported.append(before.ids[before.present])
        return choose_now(t)

    return choice


def _rounds_of_rest(config: AvailabilityConfig) -> int:
    """Returns the number of rounds in which a client that has reported rests: those that begin within the period."""
    return int(np.ceil(config.period / config.round_hours)) - 1 if config.period else 0
