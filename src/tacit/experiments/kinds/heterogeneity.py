"""Measures the heterogeneity of devices, Γ = F* − Σ p_k F_k*, of the datasets in paper 5's Table 3."""

from __future__ import annotations

from tacit.experiments.convexity import optimum
from tacit.experiments.entry import Settings
from tacit.experiments.kinds.convex import devices_of
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `set`, `devices`, `most` (points of a device), `ridge` (makes every optimum finite)."""
    devices = devices_of(settings["set"], settings["devices"], seed, place.data, False, settings["most"])
    best = optimum(devices, settings["ridge"])
    return Measured({"gamma": best.gamma, "best": best.loss, "share": best.gamma / best.loss})
