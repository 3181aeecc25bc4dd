"""Small worlds to train in: people with labelled points, people with a few sentences."""

from __future__ import annotations

import jax
import numpy as np

from tacit.federated.batching import order_of_work
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Cohort
from tacit.federated.objective import Labelled, classification_loss
from tacit.models.images import logistic_regression
from tacit.text.packed import Packed, pack

FEATURES, CLASSES = 3, 3
SIZES = np.array([4, 7, 1, 5, 3])
MODEL = logistic_regression(FEATURES, CLASSES)
LOSS = jax.jit(classification_loss(MODEL))  # compiled, for the judge that takes one step at a time
_draw = np.random.default_rng(5)
X = [_draw.normal(size=(n, FEATURES)).astype(np.float32) for n in SIZES]
Y = [_draw.integers(0, CLASSES, n).astype(np.int32) for n in SIZES]
START = {
    "weight": _draw.normal(0, 0.5, (FEATURES, CLASSES)).astype(np.float32),
    "bias": _draw.normal(0, 0.5, CLASSES).astype(np.float32),
}


def labelled_cohort(
    client: ClientConfig,
    ids=(0, 1, 2, 3, 4),
    seed: int = 0,
    t: int = 0,
    weight=None,
    scale=None,
    present=None,
) -> Cohort:
    """These clients with their batches of points in the order `order_of_work` gives."""
    ids = np.asarray(ids)
    schedule, steps = order_of_work(SIZES[ids], ids, client, seed, t)
    x = np.zeros((*schedule.shape, FEATURES), np.float32)
    y = np.full(schedule.shape, -1, np.int32)
    for c, k in enumerate(ids):
        real = schedule[c] >= 0
        x[c][real], y[c][real] = X[k][schedule[c][real]], Y[k][schedule[c][real]]
    ones = np.ones(len(ids), np.float32)
    return Cohort(
        ids.astype(np.int32),
        Labelled(x, y),
        steps,
        SIZES[ids].astype(np.float32) if weight is None else np.asarray(weight, np.float32),
        ones if scale is None else np.asarray(scale, np.float32),
        ones.astype(bool) if present is None else np.asarray(present),
    )


def batches_of(cohort: Cohort, c: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The real points of each real step of client c, float64."""
    found = []
    for i in range(int(cohort.steps[c])):
        real = cohort.batches.y[c, i] >= 0
        found.append((cohort.batches.x[c, i][real].astype(np.float64), cohort.batches.y[c, i][real]))
    return found


def sentences(seed: int, clients: int, vocabulary: int, most: int = 6, longest: int = 7) -> Packed:
    """Clients with 1 … most sentences of 1 … longest words each."""
    draw = np.random.default_rng(seed)
    text = [
        [
            np.concatenate([[0], draw.integers(2, vocabulary, draw.integers(1, longest + 1)), [1]])
            for _ in range(draw.integers(1, most + 1))
        ]
        for _ in range(clients)
    ]
    return pack(text, [f"p{c}" for c in range(clients)])


def even_sentences(seed: int, clients: int, vocabulary: int) -> Packed:
    """Clients with two sentences of three words: every round has the same shapes and compiles once."""
    draw = np.random.default_rng(seed)
    text = [
        [np.concatenate([[0], draw.integers(2, vocabulary, 3), [1]]) for _ in range(2)]
        for _ in range(clients)
    ]
    return pack(text, [f"p{c}" for c in range(clients)])
