"""Minimises a quadratic of two clients and one parameter, to show the bias of local steps (paper 5, 5.5 and 5.6.4).

    F₁ = (w − 1)²,   F₂ = 2(w − 5)²,   F = (F₁ + F₂)/2,   w* = 11/3

With E gradient steps of a fixed size η the clients contract to their own minima by (1 − 2η)^E and (1 − 4η)^E. FedAvg
converges where both pulls cancel: at w* for E = 1, and towards 3 for larger E, at a distance from w* that grows like
(E − 1)η (Theorem 4). With η decaying like 1/t it converges to w*.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.experiments.entry import Settings
from tacit.experiments.labelled import follow
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Cohort
from tacit.federated.rounds import federation
from tacit.federated.sampling import SamplingConfig, chosen_cohort, everybody
from tacit.federated.server import ServerConfig
from tacit.models.base import Params

BEST = 11 / 3
STEEP, CENTRE = np.array([1.0, 2.0], np.float32), np.array([1.0, 5.0], np.float32)


def settles(steps: int, lr: float) -> float:
    """Returns the fixed point of FedAvg with E full-gradient steps of one size, from the formula.

    >>> round(settles(1, 0.1), 4), round(settles(1000, 0.1), 4)
    (3.6667, 3.0)
    """
    pull = 1 - (1 - 2 * STEEP.astype(float) * lr) ** steps  # [2]: share of the way to its own minimum
    return float((pull * CENTRE).sum() / pull.sum())


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `steps` E, `lr` η, `rounds`, and `decay` γ: η_t = η γ/(γ + t) over local steps t."""
    steps, lr, rounds = settings["steps"], settings["lr"], settings["rounds"]
    decay = settings.get("decay", 0)

    def loss(params: Params, batch: tuple[Array, Array, Array], key: Array | None) -> tuple[Array, Array]:
        steep, centre, pace = batch
        return pace * steep * jnp.square(params["w"] - centre), jnp.int32(1)

    def cohort_of(t: int) -> Cohort:
        step = t * steps + np.arange(steps)
        pace = decay / (decay + step) if decay else np.ones(steps)
        batches = (
            np.repeat(STEEP[:, None], steps, axis=1),
            np.repeat(CENTRE[:, None], steps, axis=1),
            np.repeat(pace[None].astype(np.float32), 2, axis=0),
        )
        return chosen_cohort(everybody(2), batches, np.full(2, steps))

    algorithm = Algorithm(
        ClientConfig(lr=lr), AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0)
    )
    trainer = federation(lambda key: {"w": jnp.float32(0)}, loss, algorithm, cohort_of, seed, rounds)
    run = follow(trainer, seed, rounds, lambda params: float(params["w"]), say=place.say)
    w = run.seen[-1]
    bias = abs(w - BEST)
    values: dict[str, float | None] = {"w": w, "bias": bias}
    if not decay:
        values["formula"] = settles(steps, lr)
        if steps > 1:
            values["bias_by_theorem"] = bias / ((steps - 1) * lr)
    return Measured(values, {"distance": (list(range(len(run.seen))), [abs(v - BEST) for v in run.seen])})
