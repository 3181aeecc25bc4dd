"""Counts a model's parameters (paper 4, Table 2); no weight is made. Settings: `architecture` and `vocabulary`."""

from __future__ import annotations

import jax

from tacit.experiments.entry import Settings
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.models import architecture, language_model
from tacit.models.base import count_parameters


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Returns layers, units and embedding (Nl, Nh, Ne), and the parameters of the embedding and in all."""
    config = architecture(settings["architecture"])
    model = language_model(config, settings["vocabulary"])
    params = jax.eval_shape(model.init, jax.random.key(0))
    return Measured(
        {
            "layers": float(config.layers),
            "hidden": float(config.hidden),
            "width": float(config.embedding),
            "embedding": float(params["embedding"].size),
            "parameters": float(count_parameters(params)),
        }
    )
