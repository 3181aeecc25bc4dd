"""Repeats papers 1 and 2 as in the authors' program: training and scoring on transposed, truncated batches.

The federation is Tacit's, with the papers' sampling, local SGD and aggregation; only the layout of a batch is the
authors'. `transposed` is the test score of the best round (by the same score on validation text), in batches of
`scored` sentences, in their order or `shuffled` with a fixed seed. `perplexity` is the true perplexity of the same
model.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tacit import runs
from tacit.experiments.entry import Settings
from tacit.experiments.kinds.text import config_of
from tacit.experiments.labelled import follow
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.experiments.transposed import batches, scorer, transpose
from tacit.federated import availability
from tacit.federated.algorithm import Algorithm
from tacit.federated.evaluation import scorer as perplexity_scorer
from tacit.federated.local import Cohort
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import federation
from tacit.federated.sampling import choose, chosen_cohort
from tacit.federated.text_cohorts import sentence_work
from tacit.models import language_model
from tacit.models.base import Params
from tacit.scoring.scores import overall
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS


def cohort(clients: Packed, algorithm: Algorithm, seed: int, t: int, rows: int) -> Cohort:
    """Returns the cohort of round t; batches of `client.batch` sentences are arranged by position, in `rows` rows."""
    chosen = choose(algorithm.sampling, clients.sizes, seed, t, algorithm.privacy.separation)
    text = clients.gather(chosen.ids)
    sentences, steps = sentence_work(text, chosen.ids, algorithm.client, seed, t, None)
    return chosen_cohort(chosen, transpose(text, sentences, rows), steps)


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Takes the settings of kind `text`; evaluates every `training.evaluate_every` rounds."""
    config = config_of(settings, seed, place)
    availability.refuse(config.availability, "this kind of experiment")
    ready = runs.prepare(config, None, place.data)
    model, batch = language_model(config.model, len(ready.vocabulary)), config.client.batch
    clients = ready.clients
    assert isinstance(clients, Packed)
    algorithm = Algorithm(config.client, config.aggregation, config.server, config.sampling, config.privacy)
    # Few batches need more rows, that is, have a longer shortest sentence.
    rows = transpose(clients, batches(clients, batch)).inputs.shape[-2]
    rounds, every = config.training.rounds, config.training.evaluate_every
    trainer = federation(
        model.init,
        next_word_loss(model),
        algorithm,
        lambda t: cohort(clients, algorithm, seed, t, rows),
        seed,
        rounds,
        population=len(clients),
    )
    score = scorer(model)
    shuffled = 0 if settings["shuffled"] else None
    valid, test = (
        transpose(text, batches(text, settings["scored"], shuffled)) for text in (ready.valid, ready.test)
    )
    best: list[tuple[float, Params]] = []

    def look(params: Params) -> float:
        loss, count = score(params, valid)
        value = float(np.exp(min(loss / max(1, count), 50.0)))
        if not best or value < best[0][0]:
            best[:] = [(value, params)]
        return value

    run = follow(trainer, seed, rounds, look, say=place.say, every=every)
    params: Any = best[0][1]
    loss, count = score(params, test)
    first = jax.device_put(params, jax.local_devices()[0])
    with np.errstate(over="ignore"):
        true_scores = overall(perplexity_scorer(model)(first, ready.test))
    values: dict[str, float | None] = {
        "transposed": None if run.diverged else float(np.exp(loss / max(1, count))),
        "perplexity": None if run.diverged else true_scores["perplexity"],
        "share": count / true_scores["tokens"],
        "starts": float((test.targets == BOS).sum() / max(1, count)),
    }
    return Measured(values, {"transposed": ([every * i for i in range(len(run.seen))], run.seen)})
