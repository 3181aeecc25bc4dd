"""Classifies SMS spam on heterogeneous clients with FedAvg, FedProx, FedAdam and FedYogi (paper 5, section 4.5).

A message is the set of its words, limited to the most frequent of the training messages; clients get shares of spam and
ham by Dirichlet(α); the model is logistic regression. The paper does not describe its model, features or clients; its
test has 125 messages. Scores are on held-out messages with spam as the positive class: after the last round, and the
best over all rounds, which is what the paper prints.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.base.randomness import generator, stream
from tacit.experiments.data import LabelledTexts, Points, Sets, spam, toy_spam
from tacit.experiments.entry import Settings
from tacit.experiments.labelled import follow, train
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.experiments.synthetic import Devices
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.models.base import Params
from tacit.models.images import logistic_regression
from tacit.text.partition import dirichlet
from tacit.text.tokens import tokenize

_SPLIT, _DEAL = stream("spam split"), stream("spam clients")


@lru_cache(maxsize=1)
def messages(data: Path | None, stand_in: bool) -> LabelledTexts:
    """Reads the collection or generates its stand-in, once for all rows."""
    return toy_spam(600) if stand_in else spam(data)


@lru_cache(maxsize=1)
def sets_of(data: Path | None, stand_in: bool, seed: int, words: int) -> Sets:
    """Returns messages as vectors of words; the test set is a random fifth, drawn for each seed."""
    texts, y = messages(data, stand_in)
    split = [set(tokenize(text.lower())) for text in texts]
    order = generator(seed, _SPLIT).permutation(len(texts))
    cut = len(texts) // 5
    seen = Counter(word for i in order[cut:] for word in split[i])
    number = {
        word: n for n, (word, _) in enumerate(sorted(seen.items(), key=lambda kv: (-kv[1], kv[0]))[:words])
    }
    x = np.zeros((len(texts), words), np.float32)
    for i, message in enumerate(split):
        x[i, [number[w] for w in message if w in number]] = 1
    return Sets(Points(x[order[cut:]], y[order[cut:]]), Points(x[order[:cut]], y[order[:cut]]))


def scores(probability: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Returns log-loss, accuracy, precision, recall and F1 of P(spam); 0/0 counts as 0.

    >>> scores(np.array([0.9, 0.2, 0.6, 0.4]), np.array([1, 0, 0, 1]))["f1"]
    0.5
    """
    p = np.clip(probability.astype(np.float64), 1e-15, 1 - 1e-15)
    flagged = probability > 0.5
    hit, wrong, missed = (
        np.sum(a & b) for a, b in ((flagged, y == 1), (flagged, y == 0), (~flagged, y == 1))
    )

    def ratio(a: float, b: float) -> float:
        return float(a / b) if b else 0.0

    return {
        "logloss": float(-np.mean(np.where(y == 1, np.log(p), np.log(1 - p)))),
        "accuracy": float(np.mean(flagged == (y == 1))),
        "precision": ratio(hit, hit + wrong),
        "recall": ratio(hit, hit + missed),
        "f1": ratio(2 * hit, 2 * hit + wrong + missed),
    }


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `clients`, `alpha`, `active`, `epochs`, `batch`, `lr`, `prox`, `stragglers`, `server`, `server_lr`,
    `rounds`, `words`."""
    sets = sets_of(place.data, settings.get("stand_in", False), seed, settings["words"])
    held = dirichlet(sets.train.y, settings["clients"], settings["alpha"], generator(seed, _DEAL))
    model = logistic_regression(settings["words"], 2)
    algorithm = Algorithm(
        ClientConfig(
            epochs=settings["epochs"],
            batch=settings["batch"],
            lr=settings["lr"],
            prox=settings.get("prox", 0.0),
            stragglers=settings.get("stragglers", 0.0),
        ),
        AggregationConfig(),
        ServerConfig(optimiser=settings.get("server", "sgd"), lr=settings.get("server_lr", 1.0)),
        SamplingConfig(clients=settings["active"]),
    )
    rounds = settings["rounds"]
    trainer = train(model, algorithm, Devices(sets.train, held), seed, rounds)
    odds = jax.jit(lambda params, x: jax.nn.softmax(model.apply(params, x))[:, 1])

    def look(params: Params) -> dict[str, float]:
        return scores(np.asarray(odds(jax.tree.map(np.asarray, params), sets.test.x)), sets.test.y)

    run = follow(trainer, seed, rounds, look, say=place.say)
    later: list[dict[str, Any]] = run.seen[1:]
    curves = {name: [s[name] for s in later] for name in run.seen[0]}
    values: dict[str, float | None] = {
        name: None if run.diverged else curve[-1] for name, curve in curves.items()
    }
    for name, curve in curves.items():
        values[f"best_{name}"] = None if run.diverged else (min if name == "logloss" else max)(curve)
    return Measured(values, {name: (list(range(1, len(curve) + 1)), curve) for name, curve in curves.items()})
