"""The optimum of a convex problem, by a solver that is not ours: what federated training is judged against.

F = Σ p_k F_k, F_k the mean cross-entropy of device k plus ridge/2 ‖w‖²; Γ = F* − Σ p_k F_k* says how far the
devices are from having one optimum (paper 5, section 5.3). scipy's L-BFGS in float64, from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from tacit.experiments.synthetic import Devices
from tacit.models.base import Params


class Optimum(NamedTuple):
    """The best that can be reached."""

    loss: float  # F*
    gamma: float  # Γ
    distance: float  # ‖0 − w*‖
    value: Callable[[Params], float]  # F at a model


def cross_entropy(
    flat: np.ndarray, x: np.ndarray, y: np.ndarray, ridge: float, classes: int
) -> tuple[float, np.ndarray]:
    """The mean cross-entropy with ridge and its gradient, for weights and biases in one vector."""
    w = flat.reshape(x.shape[1] + 1, classes)
    logits = x @ w[:-1] + w[-1]
    logits -= logits.max(1, keepdims=True)
    odds = np.exp(logits)
    total = odds.sum(1)
    each = np.arange(len(y))
    loss = float(np.mean(np.log(total) - logits[each, y])) + ridge / 2 * float(flat @ flat)
    error = odds / total[:, None]
    error[each, y] -= 1
    gradient = np.concatenate([x.T @ error, error.sum(0, keepdims=True)]) / len(y)
    return loss, gradient.ravel() + ridge * flat


def solve(x: np.ndarray, y: np.ndarray, ridge: float, classes: int) -> tuple[float, np.ndarray]:
    """The least value and where it is."""
    start = np.zeros((x.shape[1] + 1) * classes)
    found = minimize(
        cross_entropy,
        start,
        (x, y, ridge, classes),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": 500, "gtol": 1e-7},
    )
    return float(found.fun), found.x


def optimum(devices: Devices, ridge: float, classes: int = 10, gamma: bool = True) -> Optimum:
    """F*, Γ and ‖w*‖ of these devices; without `gamma` the devices' own optima are not looked for."""
    x, y = devices.points.x.astype(np.float64), devices.points.y
    held = devices.held
    kept = held.order
    best, where = solve(x[kept], y[kept], ridge, classes)
    own = 0.0
    if gamma:
        share = devices.sizes / devices.sizes.sum()
        mine = [solve(x[held.client(k)], y[held.client(k)], ridge, classes)[0] for k in range(len(share))]
        own = float(share @ np.array(mine))

    def value(params: Params) -> float:
        flat = np.concatenate(
            [np.asarray(params["weight"], np.float64), np.asarray(params["bias"])[None]]
        ).ravel()
        return cross_entropy(flat, x[kept], y[kept], ridge, classes)[0]

    return Optimum(best, best - own, float(np.linalg.norm(where)), value)
