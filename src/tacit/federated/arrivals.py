"""When clients come and go without rounds: who trains from which version of the model, and when it answers.

Some clients train at once, each from the model that was the newest when it began. The server steps after every K
answers; the model's version is the number of steps so far. An answer of staleness s was computed from a model s steps
old.

    version v ──> a client begins ──(its time)──> it answers at version v + s ──> after K answers: the next version

Nothing here depends on what clients learn, so a run that resumes replays these events from its seed. On a network
clients really come and go, and only `queue` is used, so that both ask the same people.
"""

from __future__ import annotations

import dataclasses
import heapq
import math
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import generator, stream, uniform
from tacit.base.settings import number
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.sampling import SamplingConfig, choose, cohort_size
from tacit.privacy.config import PrivacyConfig

RULES = ("mean", "norm-bounded")  # whose message is (weighted update, weight)
_TIME, _DEVICE, _QUEUE = stream("time of a training"), stream("speed of a device"), stream("queue of clients")
_TINY = 2.0**-54  # instead of a draw of 0, whose logarithm is infinite


@dataclass(frozen=True)
class BufferConfig:
    """Asynchronous rounds, FedBuff: the table [buffer] of a configuration."""

    size: int = number(0, 0)  # K, answers before the server steps, at most the population; 0: synchronous
    concurrency: int = number(0, 0)  # clients that train at once; 0: as many as [sampling] says
    max_staleness: int = number(10, 0, 1000)  # steps after which an answer is too old to be used
    # the simulator's model of how long a client takes; the time's unit has no meaning
    time: Literal["half-normal", "lognormal", "exponential", "equal"] = "half-normal"
    spread: float = number(0.0, 0, 5)  # σ of the logarithm of each device's own speed; 0: all alike


class Step(NamedTuple):
    """What happens up to one step of the server."""

    ids: np.ndarray  # [K] int64: whose answers it uses, in the order of arrival
    versions: np.ndarray  # [K] int64: the version that each began with
    stale: int  # answers that came and were too old
    kept: tuple[int, ...]  # older versions that clients still train from after this step, ascending
    clock: float  # the time of the step


def check(
    buffer: BufferConfig,
    aggregation: AggregationConfig,
    sampling: SamplingConfig,
    privacy: PrivacyConfig,
    federated: bool,
) -> None:
    """Refuses settings that do not go with a buffer, and keys of a buffer where there is none.

    >>> check(BufferConfig(spread=1.0), AggregationConfig(), SamplingConfig(), PrivacyConfig(), True)
    Traceback (most recent call last):
    tacit.base.errors.TacitError: buffer.spread would do nothing here: it needs buffer.size above 0; remove it
    """
    if not buffer.size:
        for field in dataclasses.fields(BufferConfig):
            if getattr(buffer, field.name) != field.default:
                raise TacitError(
                    f"buffer.{field.name} would do nothing here: it needs buffer.size above 0; remove it"
                )
        return
    what = f"does not go with buffer.size = {buffer.size}"
    if not federated:
        raise TacitError(f"training.mode = 'central' {what}: nobody else trains; remove one")
    if privacy.private:
        raise TacitError(
            f"privacy.mechanism = '{privacy.mechanism}' {what}: who answers first is no random sample, and a client's "
            "update may be used in any step, so no ε is known; remove one"
        )
    if aggregation.rule not in RULES:
        raise TacitError(
            f"aggregation.rule = '{aggregation.rule}' {what}, which weighs a client's update by its age: use 'mean' or "
            "'norm-bounded', or set buffer.size = 0"
        )
    if sampling.scheme != "uniform":
        raise TacitError(
            f"sampling.scheme = '{sampling.scheme}' {what}: clients begin one by one; use 'uniform'"
        )
    if sampling.dropout:
        raise TacitError(
            f"sampling.dropout = {sampling.dropout:g} {what}: the server waits for K answers, not for clients; "
            "remove one"
        )


def buffer_size(buffer: BufferConfig, population: int) -> int:
    """Returns K for a population."""
    return min(buffer.size, population)


def at_once(buffer: BufferConfig, sampling: SamplingConfig, population: int) -> int:
    """Returns the number of clients that train at once."""
    return min(buffer.concurrency or cohort_size(sampling, population), population)


def queue(sampling: SamplingConfig, together: int, population: int, seed: int, version: int) -> list[int]:
    """Returns everybody in the order in which they may begin with a version; nobody begins twice with the same.

    The first `together` of them are the clients of a synchronous round.
    """
    some = dataclasses.replace(sampling, clients=together)
    first = choose(some, np.ones(population), seed, version).ids
    draw = generator(seed, _QUEUE, version)
    others = np.setdiff1d(np.arange(population), first, assume_unique=True)
    return np.concatenate([draw.permutation(first), draw.permutation(others)]).tolist()


def take(waiting: list[int], busy: Container[int]) -> int | None:
    """Removes the first who is not busy from a queue and returns them; None if all are.

    >>> waiting = [4, 2, 7]
    >>> take(waiting, busy={4}), waiting
    (2, [4, 7])
    """
    for place, client in enumerate(waiting):
        if client not in busy:
            return waiting.pop(place)
    return None


def duration(buffer: BufferConfig, seed: int, version: int, client: int) -> float:
    """Returns how long a client takes to train from a version: drawn anew each time, by its device's speed."""
    u, normal = max(float(uniform(seed, _TIME, version, client)), _TINY), NormalDist()
    times: dict[str, Callable[[], float]] = {
        "half-normal": lambda: normal.inv_cdf((1 + u) / 2),
        "lognormal": lambda: math.exp(normal.inv_cdf(u)),
        "exponential": lambda: -math.log(u),
        "equal": lambda: 1.0,
    }
    speed = normal.inv_cdf(max(float(uniform(seed, _DEVICE, client)), _TINY))
    return times[buffer.time]() * math.exp(buffer.spread * speed)


def arrivals(buffer: BufferConfig, sampling: SamplingConfig, population: int, seed: int) -> Iterator[Step]:
    """Gives step after step, for ever. Who answers at the same moment is replaced together, after the last of them."""
    size, together = buffer_size(buffer, population), at_once(buffer, sampling, population)
    training: list[tuple[float, int, int, int]] = []  # (end, number of the task, client, version), a heap
    busy: set[int] = set()
    begun, version, stale, now = 0, 0, 0, 0.0
    answered: list[tuple[int, int]] = []  # (client, version)
    waiting = queue(sampling, together, population, seed, 0)
    while True:
        while len(training) < together and (client := take(waiting, busy)) is not None:
            end = now + duration(buffer, seed, version, client)
            heapq.heappush(training, (end, begun, client, version))
            busy.add(client)
            begun += 1
        now, before = training[0][0], version
        while training and training[0][0] == now:
            _, _, client, began = heapq.heappop(training)
            busy.remove(client)
            if version - began > buffer.max_staleness:
                stale += 1
                continue
            answered.append((client, began))
            if len(answered) == size:
                version += 1
                oldest = max(0, version - buffer.max_staleness)
                kept = sorted({v for *_, v in training if oldest <= v < version})
                ids, versions = np.array(answered, np.int64).T
                yield Step(ids, versions, stale, tuple(kept), now)
                answered, stale = [], 0
        if version > before:
            waiting = queue(sampling, together, population, seed, version)
