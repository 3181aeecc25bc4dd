"""Papers 1 and 2 as their program did it: trained on transposed, cut batches, and scored on them.

The federation is Tacit's, with the papers' sampling, local SGD and aggregation; only what a batch holds is theirs.
`transposed` is the score of the best round (by the same score on validation text) on the test text, in batches of
`scored` sentences, `shuffled` (alike in every run) or as they come; `perplexity` is the honest one of the very same
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
from tacit.federated.evaluation import scorer as honest_scorer
from tacit.federated.local import Cohort
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import Algorithm, federation
from tacit.federated.sampling import choose, chosen_cohort
from tacit.federated.text_cohorts import sentence_work
from tacit.models import language_model
from tacit.models.base import Params
from tacit.scoring.scores import overall
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS


def cohort(clients: Packed, algorithm: Algorithm, seed: int, t: int, rows: int) -> Cohort:
    """The clients of round t; a batch of `client.batch` sentences by position, its rows cut to `rows` at most."""
    chosen = choose(algorithm.sampling, clients.sizes, seed, t)
    text = clients.gather(chosen.ids)
    sentences, steps = sentence_work(text, chosen.ids, algorithm.client, seed, t, None)
    return chosen_cohort(chosen, transpose(text, sentences, rows), steps)


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings as those of kind `text`; evaluated every `training.evaluate_every` rounds."""
    config = config_of(settings, seed, place)
    ready = runs.prepare(config, None, place.data)
    model, batch = language_model(config.model, len(ready.vocabulary)), config.client.batch
    clients = ready.clients
    assert isinstance(clients, Packed)
    algorithm = Algorithm(config.client, config.aggregation, config.server, config.sampling)
    # few batches have a longer shortest sentence
    rows = transpose(clients, batches(clients, batch)).inputs.shape[-2]
    rounds, every = config.training.rounds, config.training.evaluate_every
    trainer = federation(
        model.init,
        next_word_loss(model),
        algorithm,
        lambda t: cohort(clients, algorithm, seed, t, rows),
        seed,
        rounds,
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
        honest = overall(honest_scorer(model)(first, ready.test))
    values: dict[str, float | None] = {
        "transposed": None if run.diverged else float(np.exp(loss / max(1, count))),
        "perplexity": None if run.diverged else honest["perplexity"],
        "share": count / honest["tokens"],
        "starts": float((test.targets == BOS).sum() / max(1, count)),
    }
    return Measured(values, {"transposed": ([every * i for i in range(len(run.seen))], run.seen)})
