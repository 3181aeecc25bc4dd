"""Logistic regression on devices that differ (paper 5, Figures 7 to 9): local steps E, active devices K, schemes.

E steps of SGD on batches drawn with replacement, rate η₀/(1 + t) in round t, ridge 10⁻⁴, as in Li et al. (2020),
from whom paper 5 takes the figures. The loss is the global one, over all devices' points and without the ridge.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from tacit.base.errors import TacitError
from tacit.experiments import synthetic
from tacit.experiments.data import Points, Sets, mnist, toy_digits
from tacit.experiments.entry import Settings
from tacit.experiments.labelled import first_at, follow, judge, train
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.experiments.synthetic import Devices
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.local import ClientConfig
from tacit.federated.rounds import Algorithm
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.models.images import logistic_regression

RIDGE = 1e-4


@lru_cache(maxsize=1)
def digits(data: Path | None, stand_in: bool) -> Sets:
    """MNIST, or what stands for it; read once for all rows."""
    return toy_digits(2000, 500) if stand_in else mnist(data)


@lru_cache(maxsize=2)
def devices_of(name: str, count: int, seed: int, data: Path | None, stand_in: bool, most: int = 0) -> Devices:
    """One of the four sets of the figures, by its name there; `most` points on a made device."""
    made = {"synthetic(0,0)": 0.0, "synthetic(1,1)": 1.0}
    if name in made:
        return synthetic.synthetic(made[name], made[name], count, seed, most=most)
    if name == "synthetic iid":
        return synthetic.synthetic(0, 0, count, seed, iid=True, most=most)
    points = digits(data, stand_in).train
    if name == "mnist balanced":
        return synthetic.balanced_digits(points, count, seed)
    if name == "mnist unbalanced":
        return synthetic.unbalanced_digits(points, count, seed)
    raise TacitError(f"no set of devices '{name}'")


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """`set` (`draw` fixes which), `devices` N, `active` K, `steps` E, `batch`, `lr` η₀, `scheme`, `rounds`, and a
    `target` loss."""
    devices = devices_of(
        settings["set"],
        settings["devices"],
        settings.get("draw", seed),
        place.data,
        settings.get("stand_in", False),
        settings.get("most", 0),
    )
    rounds = settings["rounds"]
    points = devices.points
    model = logistic_regression(points.x.shape[1], 10)
    look = judge(model, Points(points.x[devices.held.order], points.y[devices.held.order]))
    algorithm = Algorithm(
        ClientConfig(lr=settings["lr"], batch=settings["batch"]),
        AggregationConfig(),
        ServerConfig(),
        SamplingConfig(clients=settings["active"], scheme=settings.get("scheme", "I")),
    )
    trainer = train(
        model,
        algorithm,
        devices,
        seed,
        rounds,
        settings["steps"],
        lambda t, step: np.full(len(step), 1 / (1 + t)),
        RIDGE,
    )
    target = settings.get("target", 0.0)
    stop = settings.get("stop", False)
    run = follow(trainer, seed, rounds, lambda p: look(p)[0], lambda loss: stop and loss <= target, place.say)
    losses = [float(v) for v in run.seen]
    rises = np.maximum(np.diff(losses[5:]), 0)
    values: dict[str, float | None] = {
        "rounds": first_at(losses, target, rising=False),
        "loss": None if run.diverged else losses[-1],
        "rise": float(rises.max(initial=0)),  # the worst step back after the first rounds
    }
    return Measured(values, {"loss": (list(range(len(losses))), losses)})
