"""Samples the clients of a round, and sets their weights (paper 5, Table 4).

    uniform         K of N without replacement      weight n_k
    poisson         each with probability K/N       weight n_k
    original        K of N without replacement      weight p_k = n_k / n, absent clients keep w_t
    I               K draws with replacement by p   weight 1 for each draw
    II              K of N without replacement      weight p_k N/K
    transformed-II  K of N without replacement      weight 1, local objective N p_k F_k

n_k counts sentences. With `sampling.weight = "words"` a client of scheme uniform weighs as many as its batches have
words to predict. A loss is a mean over words, so only with these weights the mean of full-batch gradients (FedSGD) is
the gradient of the pooled text.

K = max(C·N, 1), so C = 0 means one client. A client that drops out is sampled and does not report; the weights of
scheme II count only those that report. The rule `mean` can ignore the weight (`aggregation.uniform`).

Poisson sampling is what privacy amplification needs: every client by its own draw, so a cohort's size varies and may be
0. A private run draws from SHAKE-256 under a secret key, so its released models tell nobody who was in a cohort.

With a separation b the population is dealt into b groups, once, at random; round t samples from group t mod b, so
nobody takes part twice in b rounds (privacy.mechanism = 'matrix').

Not everybody can be asked at all times: a `Pool` (`availability`) holds those who can, and who drops out.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import generator, stream, uniform
from tacit.base.settings import number
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Cohort

SCALE_FREE = ("adam", "adagrad", "yogi", "lion")  # client optimisers that undo a factor on the gradient
_CHOOSE, _DROP, _DEAL = stream("choose clients"), stream("drop out"), stream("deal into groups")


@dataclass(frozen=True)
class SamplingConfig:
    """Which clients take part in a round: the table [sampling] of a configuration."""

    clients: int = number(0, 0)  # clients a round; 0: use `fraction`
    fraction: float = number(0.1, 0, 1)  # C of the papers; 0 means one client
    scheme: Literal["uniform", "poisson", "original", "I", "II", "transformed-II"] = "uniform"
    weight: Literal["sentences", "words"] = "sentences"  # what a client's weight counts
    dropout: float = number(0.0, 0, 0.99)  # share of sampled clients that never report


class Chosen(NamedTuple):
    """The clients of a round, before they have batches."""

    ids: np.ndarray  # [clients] int64, sorted
    weight: np.ndarray  # [clients] float32
    scale: np.ndarray  # [clients] float32, factor on the client's objective
    present: np.ndarray  # [clients] bool, False: dropped out


class Pool(NamedTuple):
    """Whom a round can ask."""

    ids: np.ndarray  # [available] int64, sorted
    dropout: (
        np.ndarray
    )  # [population] float64, each client's chance to drop out, in place of `sampling.dropout`


def cohort_size(config: SamplingConfig, population: int) -> int:
    """Returns the number of clients in a round.

    >>> cohort_size(SamplingConfig(fraction=0.0), 100), cohort_size(SamplingConfig(fraction=0.1), 100)
    (1, 10)
    """
    if config.clients > population:
        raise TacitError(
            f"sampling.clients = {config.clients} is more than the population of {population}; "
            f"set sampling.clients to at most {population}, or sampling.fraction"
        )
    return config.clients or max(1, round(config.fraction * population))


def check_scheme(config: SamplingConfig, client: ClientConfig, rule: AggregationConfig) -> None:
    """Refuses a scheme or a weight that the rest of an algorithm would silently undo."""
    if config.scheme == "transformed-II" and client.optimiser in SCALE_FREE:
        raise TacitError(
            f"sampling.scheme = 'transformed-II' scales a client's objective, and client.optimiser = "
            f"'{client.optimiser}' makes the same steps at any scale; use client.optimiser = 'sgd', or the scheme 'II'"
        )
    if config.weight == "words" and config.scheme not in ("uniform", "poisson"):
        raise TacitError(
            f"sampling.weight = 'words' needs sampling.scheme = 'uniform' or 'poisson', not '{config.scheme}', which "
            "weighs by shares of sentences; remove one"
        )
    if config.weight == "words" and rule.settings.get("uniform"):
        raise TacitError(
            "aggregation.uniform = true and sampling.weight = 'words' both set a client's weight; remove one"
        )


def check_separation(config: SamplingConfig, population: int, separation: int) -> None:
    """Refuses a separation for which the population is too small."""
    count = cohort_size(config, population)
    if separation and count * separation > population:
        raise TacitError(
            f"privacy.separation = {separation} with {count} clients a round needs a population of "
            f"{count * separation}, and there are {population} clients; lower sampling.clients or privacy.separation"
        )


def group(population: int, separation: int, seed: int, round_: int) -> np.ndarray:
    """Returns the clients that may take part in round `round_`: one of `separation` fixed random groups."""
    dealt = np.argsort(uniform(seed, _DEAL, np.arange(population)), kind="stable")
    return dealt[round_ % separation :: separation]


def _tossed(seed: int | bytes, use: int, round_: int, population: int) -> np.ndarray:
    """Returns a uniform draw in [0, 1) for each client; a seed of bytes is a secret key."""
    if isinstance(seed, int):
        return uniform(seed, use, round_, np.arange(population))
    address = np.array([use, round_], "<u8").tobytes()
    stretched = hashlib.shake_256(seed + address).digest(8 * population)
    return (np.frombuffer(stretched, "<u8") >> np.uint64(11)) * 2.0**-53


def choose(
    config: SamplingConfig,
    sizes: np.ndarray,
    seed: int | bytes,
    round_: int,
    separation: int = 0,
    pool: Pool | None = None,
) -> Chosen:
    """Returns the clients of round `round_`, from the number of examples each holds ([population]).

    A pool, which goes with the scheme `uniform` only, limits whom the round can ask. A seed of bytes is a secret key,
    which goes with the scheme `poisson` only.
    """
    population, count = len(sizes), cohort_size(config, len(sizes))
    if config.scheme == "poisson" and pool is None and not separation:
        ids = np.flatnonzero(_tossed(seed, _CHOOSE, round_, population) < count / population)
        present = _tossed(seed, _DROP, round_, population)[ids] >= config.dropout
        return Chosen(ids, sizes[ids].astype(np.float32), np.ones(len(ids), np.float32), present)
    assert isinstance(seed, int)
    draw = generator(seed, _CHOOSE, round_)
    if pool is not None:
        ids = np.sort(draw.choice(pool.ids, min(count, len(pool.ids)), replace=False))
        times = np.ones(len(ids), np.int64)
    elif separation:
        check_separation(config, population, separation)
        ids = np.sort(draw.choice(group(population, separation, seed, round_), count, replace=False))
        times = np.ones(count, np.int64)
    elif config.scheme == "I":
        drawn = draw.choice(population, count, p=sizes / sizes.sum())
        ids, times = np.unique(drawn, return_counts=True)
    else:
        ids = np.sort(draw.choice(population, count, replace=False))
        times = np.ones(count, np.int64)
    present = uniform(seed, _DROP, round_, ids) >= (config.dropout if pool is None else pool.dropout[ids])
    share = sizes[ids] / sizes.sum()  # p_k
    weight = {
        "uniform": sizes[ids],
        "original": share,
        "I": times,
        "II": share * population / max(1, present.sum()),  # K counts those that report
        "transformed-II": np.ones(len(ids)),
    }[config.scheme]
    scale = population * share if config.scheme == "transformed-II" else np.ones(len(ids))
    return Chosen(ids, weight.astype(np.float32), scale.astype(np.float32), present)


def everybody(clients: int) -> Chosen:
    """Returns clients 0, 1, …, all present and of weight 1."""
    ones = np.ones(clients, np.float32)
    return Chosen(np.arange(clients), ones, ones, np.ones(clients, bool))


def chosen_cohort(chosen: Chosen, batches: Any, steps: np.ndarray) -> Cohort:
    """Returns the chosen clients with their batches, a tree of [clients, steps, …]; `steps` [clients] are real.

    >>> chosen_cohort(everybody(2), np.zeros((2, 3, 4)), np.array([3, 1])).steps.tolist()
    [3, 1]
    """
    return Cohort(
        ids=chosen.ids.astype(np.int32),
        batches=batches,
        steps=steps.astype(np.int32),
        weight=chosen.weight,
        scale=chosen.scale,
        present=chosen.present,
    )
