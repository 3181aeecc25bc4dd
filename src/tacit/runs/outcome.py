"""Writes the summary of a run: its best round on validation, scored on held-out text."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.base.files import to_json, write_atomic
from tacit.federated import hosts
from tacit.federated.evaluation import Scorer
from tacit.federated.message_sizes import bytes_of_a_client
from tacit.models import LanguageModel, count_parameters
from tacit.runs import attacked
from tacit.runs.config import Config, algorithm
from tacit.runs.directory import Best, read_best
from tacit.scoring.scores import summary
from tacit.text.prepare import Prepared


def summarise(
    config: Config,
    out: Path,
    model: LanguageModel,
    score: Scorer,
    ready: Prepared,
    best: Best,
    private: Mapping[str, Any],
) -> dict[str, Any]:
    """Scores the best round, writes the figures to summary.json and returns them.

    `private` holds the run's figures of privacy. A private run has no figures of the people trained on (`seen`),
    because they would be computed from their text without noise.
    """
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    params = jax.tree.map(lambda shape: np.zeros(shape.shape, shape.dtype), shapes)
    if hosts.first():
        params = read_best(out, shapes, range(best.round, best.round + 1))
    params = hosts.from_first(params)
    count, federated = count_parameters(shapes), config.training.mode == "federated"
    figures = {
        "name": config.name,
        "best_round": best.round,
        "chosen_by": f"valid_{config.training.best}",
        "parameters": count,
        "bytes_per_client_and_round": bytes_of_a_client(algorithm(config), shapes) if federated else None,
        "clients": len(ready.clients) if federated else 0,
        "vocabulary": len(ready.vocabulary),
        "pieces": ready.spelling is not None,
        **private,
    }
    seen = None if config.privacy.private else ready.seen
    with np.errstate(over="ignore", invalid="ignore"):  # the model may have nearly diverged
        for part, text in (("valid", ready.valid), ("test", ready.test), ("seen", seen)):
            figures[part] = None if text is None else summary(score(params, text), text, ready.spelling)
    if config.attack.kind != "none":
        figures["attack"] = attacked.figures(config, model, params, ready)
    if hosts.first():
        write_atomic(out / "summary.json", to_json(figures) + "\n")
    return figures
