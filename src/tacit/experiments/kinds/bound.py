"""Compares the convergence bound of paper 5's equation (7) with the measured error.

    F(w_T) − F* ≤ 2κ/(γ + T) · (B/μ + 2L‖w₀ − w*‖²),   B = Σ p_k² σ_k² + 6LΓ + 8(E − 1)²G²,   η_t = 2/(μ(γ + t))

with every client in every round and E local steps; T counts steps. The constants of the problem are known, not
estimated: logistic regression with ridge λ on points of norm 1, so that with the bias feature

    μ = λ,   L = λ + 1,   ‖w‖ ≤ 2/λ always,   G = 2 + λ·2/λ = 4,   σ_k² ≤ 4/b for batches of b

(the gradient of the cross-entropy has norm at most √2·‖(x, 1)‖ = 2, its curvature is at most ½‖(x, 1)‖² = 1).
F*, F_k* and thus Γ = F* − Σ p_k F_k* come from a separate solver.
"""

from __future__ import annotations

import numpy as np

from tacit.experiments.convexity import optimum
from tacit.experiments.data import Points
from tacit.experiments.entry import Settings
from tacit.experiments.labelled import follow, train
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.experiments.synthetic import CLASSES, FEATURES, Devices, synthetic
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.models.images import logistic_regression

G = 4.0


def unit(devices: Devices) -> Devices:
    """Returns the devices with every point scaled to norm 1."""
    x = devices.points.x
    return devices._replace(
        points=Points(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-9), devices.points.y)
    )


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `alpha`, `beta` or `iid`, `devices`, `steps` E, `batch` b, `ridge` λ, `total` T."""
    ridge, steps, batch = settings["ridge"], settings["steps"], settings["batch"]
    made = synthetic(
        settings["alpha"], settings["beta"], settings["devices"], seed, settings.get("iid", False), most=400
    )
    devices = unit(made)
    best = optimum(devices, ridge)
    mu, smooth = ridge, ridge + 1
    kappa = smooth / mu
    shift = max(8 * kappa, steps)  # γ
    rounds = settings["total"] // steps
    algorithm = Algorithm(
        ClientConfig(lr=2 / mu, batch=batch),
        AggregationConfig(),
        ServerConfig(),
        SamplingConfig(fraction=1.0),
    )
    trainer = train(
        logistic_regression(FEATURES, CLASSES),
        algorithm,
        devices,
        seed,
        rounds,
        steps,
        lambda t, step: 1 / (shift + t * steps + step),
        ridge,
    )
    run = follow(trainer, seed, rounds, best.value, say=place.say)
    time = steps * np.arange(len(run.seen))
    gap = np.array(run.seen) - best.loss
    share = devices.sizes / devices.sizes.sum()  # p_k
    noise = float(np.sum(share**2)) * 4 / batch
    constant = noise + 6 * smooth * best.gamma + 8 * (steps - 1) ** 2 * G**2  # B
    bound = 2 * kappa / (shift + time) * (constant / mu + 2 * smooth * best.distance**2)
    late = time > time[-1] / 10
    slope = np.polyfit(np.log(shift + time[late]), np.log(np.maximum(gap[late], 1e-12)), 1)[0]
    values = {
        "gamma": best.gamma,
        "kappa": kappa,
        "gap": float(gap[-1]),
        "bound": float(bound[-1]),
        "worst": float(np.max(gap / bound)),
        "slope": float(slope),
    }
    return Measured(
        values, {"measured": (time.tolist(), gap.tolist()), "bound": (time.tolist(), bound.tolist())}
    )
