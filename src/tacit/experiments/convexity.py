"""Computes the optimum of a convex problem by an independent solver, as the reference for federated training.

F = Σ p_k F_k, where F_k is the mean cross-entropy of device k plus ridge/2 ‖w‖². Γ = F* − Σ p_k F_k* measures how far
the devices are from sharing one optimum (paper 5, section 5.3). The solver is scipy's L-BFGS in float64, from zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize  # type: ignore[import-untyped]

from tacit.experiments.synthetic import Devices
from tacit.models.base import Params


class Optimum(NamedTuple):
    """Holds the optimum of a convex federated problem."""

    loss: float  # F*
    gamma: float  # Γ
    distance: float  # ‖0 − w*‖
    value: Callable[[Params], float]  # F at given parameters


def cross_entropy(
    flat: np.ndarray, x: np.ndarray, y: np.ndarray, ridge: float, classes: int
) -> tuple[float, np.ndarray]:
    """Returns the mean cross-entropy plus ridge and its gradient; `flat` holds weights and biases in one vector."""
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
    """Returns the minimum and its position."""
    start = np.zeros((x.shape[1] + 1) * classes)
    solution = minimize(
        cross_entropy,
        start,
        (x, y, ridge, classes),
        "L-BFGS-B",
        jac=True,
        options={"maxiter": 500, "gtol": 1e-7},
    )
    return float(solution.fun), solution.x


def optimum(devices: Devices, ridge: float, classes: int = 10, gamma: bool = True) -> Optimum:
    """Returns F*, Γ and ‖w*‖ of these devices; without `gamma` the optima of single devices are not computed."""
    x, y = devices.points.x.astype(np.float64), devices.points.y
    held = devices.held
    kept = held.order
    best, where = solve(x[kept], y[kept], ridge, classes)
    local = 0.0  # Σ p_k F_k*
    if gamma:
        share = devices.sizes / devices.sizes.sum()
        optima = [solve(x[held.client(k)], y[held.client(k)], ridge, classes)[0] for k in range(len(share))]
        local = float(share @ np.array(optima))

    def value(params: Params) -> float:
        flat = np.concatenate(
            [np.asarray(params["weight"], np.float64), np.asarray(params["bias"])[None]]
        ).ravel()
        return cross_entropy(flat, x[kept], y[kept], ridge, classes)[0]

    return Optimum(best, best - local, float(np.linalg.norm(where)), value)
