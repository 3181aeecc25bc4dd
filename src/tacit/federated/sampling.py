"""Samples the clients of a round, and sets their weights (paper 5, Table 4).

    uniform         K of N without replacement      weight n_k
    original        the same                        weight p_k = n_k / n, absent clients keep w_t
    I               K draws with replacement by p   weight 1 for each draw
    II              K of N without replacement      weight p_k N/K
    transformed-II  the same                        weight 1, local objective N p_k F_k

K = max(C·N, 1), so C = 0 means one client. A client that drops out is sampled and does not report; the weights of
scheme II count only those that report. The rule `mean` can ignore the weight (`aggregation.uniform`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import generator, stream, uniform
from tacit.base.settings import number
from tacit.federated.local import Cohort

_CHOOSE, _DROP = stream("choose clients"), stream("drop out")


@dataclass(frozen=True)
class SamplingConfig:
    """Which clients take part in a round: the table [sampling] of a configuration."""

    clients: int = number(0, 0)  # clients a round; 0: use `fraction`
    fraction: float = number(0.1, 0, 1)  # C of the papers; 0 means one client
    scheme: Literal["uniform", "original", "I", "II", "transformed-II"] = "uniform"
    dropout: float = number(0.0, 0, 0.99)  # share of sampled clients that never report


class Chosen(NamedTuple):
    """The clients of a round, before they have batches."""

    ids: np.ndarray  # [clients] int64, sorted
    weight: np.ndarray  # [clients] float32
    scale: np.ndarray  # [clients] float32, factor on the client's objective
    present: np.ndarray  # [clients] bool, False: dropped out


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


def choose(config: SamplingConfig, sizes: np.ndarray, seed: int, round_: int) -> Chosen:
    """Returns the clients of round `round_`, from the number of examples each holds ([population])."""
    population, count = len(sizes), cohort_size(config, len(sizes))
    draw = generator(seed, _CHOOSE, round_)
    if config.scheme == "I":
        drawn = draw.choice(population, count, p=sizes / sizes.sum())
        ids, times = np.unique(drawn, return_counts=True)
    else:
        ids = np.sort(draw.choice(population, count, replace=False))
        times = np.ones(count, np.int64)
    present = uniform(seed, _DROP, round_, ids) >= config.dropout
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
