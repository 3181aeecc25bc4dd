"""Measures what client-level privacy costs in time: whole rounds with and without it, in turn, in one process.

The model and the optimiser are Gboard's, made small enough for two cores with --small; words are random. A round is the
sampling, training, noise and server step of a `Trainer`. On a machine that has other work, the processor's time says
more than the clock's.

    python benchmarks/private_training.py --small
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time

import jax
import numpy as np

from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.objective import next_word_loss
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_federation
from tacit.models import architecture, count_parameters, language_model
from tacit.privacy.config import PrivacyConfig
from tacit.text.packed import Packed


def people(clients: int, sentences: int, vocabulary: int) -> Packed:
    """Returns clients whose sentences have about the published length, 4.1 words."""
    draw = np.random.default_rng(0)
    words = np.clip(draw.geometric(1 / 4.1, clients * sentences), 1, 15)
    offsets = np.concatenate([[0], np.cumsum(words + 2)])
    tokens = draw.integers(3, vocabulary, offsets[-1], np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = 0, 1
    return Packed(tokens, offsets, np.arange(clients + 1) * sentences, tuple(map(str, range(clients))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    shape = architecture("gboard")
    vocabulary, clients, sentences = 10_000, 100, 400
    if options.small:
        shape = dataclasses.replace(shape, hidden=128, embedding=32)
        vocabulary, clients, sentences = 2_000, 10, 400
    model, text = language_model(shape, vocabulary), people(6 * clients, sentences, vocabulary)
    gaussian = PrivacyConfig("gaussian", clip=1.0, noise=0.5)
    kinds = {
        "plain mean": (AggregationConfig(), PrivacyConfig()),
        "private mean": (AggregationConfig(), gaussian),
        "plain attentive": (AggregationConfig("attentive"), PrivacyConfig()),
        "private attentive": (AggregationConfig("attentive"), gaussian),
    }
    trainers, states = {}, {}
    taken = {kind: list[tuple[float, float]]() for kind in kinds}
    for kind, (rule, privacy) in kinds.items():
        algorithm = Algorithm(
            ClientConfig(batch=10, lr=0.5, clip=1.0),
            rule,
            ServerConfig(settings={"momentum": 0.9, "nesterov": True}),
            SamplingConfig(clients=clients),
            privacy,
        )
        trainer = text_federation(model.init, next_word_loss(model), algorithm, text, 0, options.rounds + 2)
        trainers[kind], states[kind] = trainer, trainer.init(jax.random.key(0))
    for t in range(options.rounds + 1):
        for kind, trainer in trainers.items():
            began = time.perf_counter(), time.process_time()
            states[kind], _ = trainer.round(states[kind], t)
            jax.block_until_ready(states[kind].params)
            if t:  # the first round compiles
                taken[kind].append((time.perf_counter() - began[0], time.process_time() - began[1]))
    wall, processor = (
        {kind: round(statistics.median(pair[i] for pair in pairs), 4) for kind, pairs in taken.items()}
        for i in (0, 1)
    )
    ratios = {
        f"{rule}, {name}": round(medians[f"private {rule}"] / medians[f"plain {rule}"], 3)
        for rule in ("mean", "attentive")
        for name, medians in (("clock", wall), ("processor", processor))
    }
    record = {
        "parameters": count_parameters(states["plain mean"].params),
        "clients": clients,
        "clock_seconds": wall,
        "processor_seconds": processor,
        "ratios": ratios,
    }
    print(json.dumps(record, indent=1))


if __name__ == "__main__":
    main()
