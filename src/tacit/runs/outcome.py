"""The summary of a run: its best round on validation, scored on held-out text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.base.files import to_json, write_atomic
from tacit.federated import hosts
from tacit.federated.evaluation import Scorer
from tacit.models import LanguageModel, count_parameters
from tacit.runs.config import Config
from tacit.runs.directory import Best, read_best
from tacit.scoring.scores import summary
from tacit.text.prepare import Prepared


def summarise(
    config: Config, out: Path, model: LanguageModel, score: Scorer, ready: Prepared, best: Best
) -> dict[str, Any]:
    """Scores the best round, writes the figures to summary.json and returns them."""
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    params = jax.tree.map(lambda shape: np.zeros(shape.shape, shape.dtype), shapes)
    if hosts.first():
        params = read_best(out, shapes, range(best.round, best.round + 1))
    params = hosts.from_first(params)
    count, federated = count_parameters(shapes), config.training.mode == "federated"
    noise = config.aggregation.noise if federated else 0.0
    figures = {
        "name": config.name,
        "best_round": best.round,
        "chosen_by": f"valid_{config.training.best}",
        "parameters": count,
        "bytes_per_client_and_round": {"down": 4 * count, "up": 4 * count} if federated else None,
        "clients": len(ready.clients) if federated else 0,
        "vocabulary": len(ready.vocabulary),
        "pieces": ready.spelling is not None,
        "epsilon": None,
        "epsilon_reason": f"noise of β = {noise:g} without clipping bounds nobody's influence: it is noise, not "
        "differential privacy"
        if noise
        else "no privacy mechanism was used",
    }
    with np.errstate(over="ignore", invalid="ignore"):  # the model may have nearly diverged
        for part, text in (("valid", ready.valid), ("test", ready.test), ("seen", ready.seen)):
            figures[part] = None if text is None else summary(score(params, text), text, ready.spelling)
    if hosts.first():
        write_atomic(out / "summary.json", to_json(figures) + "\n")
    return figures
