"""Measures how long Gboard's whole federation would take on one accelerator (paper 5, section 6.3.2).

It uses the real model (CIFG, 670 units, embedding 96, 10,000 words, bfloat16 products) and the real size of a round:
500 clients of 400 sentences, 4.1 words long on average, one epoch. The words are random, because time does not depend
on them. 3,000 such rounds are the 600 million sentences of the published federation.

    python benchmarks/gboard_federation.py
"""

from __future__ import annotations

import dataclasses
import json
import time

import jax
import numpy as np

from tacit.experiments.bench import timed
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.local import ClientConfig, Sending
from tacit.federated.objective import next_word_loss
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models import architecture, language_model
from tacit.text.packed import Packed

CLIENTS, SENTENCES, VOCABULARY = 500, 400, 10_000


def people() -> Packed:
    """Returns 600 clients whose sentences have about the published length."""
    draw = np.random.default_rng(0)
    words = np.clip(draw.geometric(1 / 4.1, 600 * SENTENCES), 1, 15)
    offsets = np.concatenate([[0], np.cumsum(words + 2)])
    tokens = draw.integers(3, VOCABULARY, offsets[-1], np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = 0, 1
    owners = np.arange(601) * SENTENCES
    return Packed(tokens, offsets, owners, tuple(map(str, range(600))))


def main() -> None:
    text = people()
    model = language_model(dataclasses.replace(architecture("gboard"), precision="bfloat16"), VOCABULARY)
    params, rule = model.init(jax.random.key(0)), aggregation(AggregationConfig())
    for batch in (10, 50):
        client = ClientConfig(batch=batch, lr=0.5)
        algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(clients=CLIENTS))
        shape = text_grid(text, client)
        began = time.perf_counter()
        cohort = text_cohort(text, algorithm, 0, 0, shape)
        sums = cohort_sums(
            next_word_loss(model), client, Sending(rule), lambda t, cohort=cohort: cohort, params
        )
        lanes = sums.ready(0).laid
        host = time.perf_counter() - began
        arguments = (sums.place(params), lanes, np.float32(0.5), jax.random.key(1))
        seconds = timed(lambda sums=sums, arguments=arguments: sums.program(*arguments), 3)
        cells = int(cohort.steps.sum()) * shape.rows * shape.time
        row = {
            "batch": batch,
            "rows": shape.rows,
            "time": shape.time,
            "lanes": lanes.ids.shape[1],
            "useful_share": int((cohort.batches.targets >= 0).sum()) / cells,
            "round_s": seconds,
            "sentences_per_s": CLIENTS * SENTENCES / seconds,
            "host_s": host,
        }
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
