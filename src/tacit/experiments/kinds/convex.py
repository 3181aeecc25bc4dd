"""Trains logistic regression on heterogeneous devices (paper 5, Figures 7 to 9), over local steps, devices, schemes.

Clients take E steps of SGD on batches drawn with replacement, at rate η₀/(1 + t) in round t with ridge 10⁻⁴, as in Li
et al. (2020), the source of paper 5's figures. The reported loss is over all devices' points, without the ridge.
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
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.models.images import logistic_regression

RIDGE = 1e-4


@lru_cache(maxsize=1)
def digits(data: Path | None, stand_in: bool) -> Sets:
    """Reads MNIST or generates its stand-in, once for all rows."""
    return toy_digits(2000, 500) if stand_in else mnist(data)


@lru_cache(maxsize=2)
def devices_of(name: str, count: int, seed: int, data: Path | None, stand_in: bool, most: int = 0) -> Devices:
    """Returns a dataset of the figures by its name; `most` caps the points of a synthetic device."""
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
    raise TacitError(
        f"unknown set of devices '{name}'; give synthetic(0,0), synthetic(1,1), synthetic iid, mnist balanced or "
        "mnist unbalanced"
    )


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `set`, `draw` (its seed, by default the row's), `devices` N, `active` K, `steps` E, `batch`, `lr` η₀,
    `scheme`, `rounds`, `target` (a loss)."""
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
        "rise": float(rises.max(initial=0)),  # the largest increase after the first rounds
    }
    return Measured(values, {"loss": (list(range(len(losses))), losses)})
