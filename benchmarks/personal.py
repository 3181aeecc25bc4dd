"""How long it takes to try nine settings of fine-tuning on 500 people, with Gboard's model (paper 3, Table 1).

The real model (CIFG, 670 units, embedding 96, 10,000 words: 1.4 million parameters), B 5, 10, 20 × L 0.01, 0.1, 1.0,
T 5000, E 1. People have a log-normal number of messages, 400 in the median, of 4.1 words on average; the words are
random: time does not depend on them. Everything is counted, compilation too: packing, measuring the global model,
tuning and measuring everybody nine times, and the sums.

    python benchmarks/personal.py [--users 500] [--precision bfloat16]
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import time

import jax
import numpy as np

from tacit.models import architecture, count_parameters, language_model
from tacit.personal import groups, split, strategies, sums, trial
from tacit.text.packed import Packed

VOCABULARY, MESSAGES, SPREAD, WORDS = 10_000, 400, 0.8, 4.1


def people(users: int) -> Packed:
    """People with messages of about the published length."""
    draw = np.random.default_rng(0)
    sizes = np.clip(draw.lognormal(np.log(MESSAGES), SPREAD, users), 30, 40 * MESSAGES).astype(np.int64)
    words = np.clip(draw.geometric(1 / WORDS, int(sizes.sum())), 1, 30)
    offsets = np.concatenate([[0], np.cumsum(words + 2)])
    tokens = np.minimum(draw.zipf(1.3, offsets[-1]) + 2, VOCABULARY - 1).astype(np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = 0, 1
    return Packed(tokens, offsets, np.concatenate([[0], np.cumsum(sizes)]), tuple(map(str, range(users))))


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--users", type=int, default=500)
    given.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    options = given.parse_args()
    text = people(options.users)
    config = dataclasses.replace(architecture("gboard"), precision=options.precision)
    model = language_model(config, VOCABULARY)
    params = model.init(jax.random.key(0))
    began = time.perf_counter()
    users = split.split(text)
    ready = trial.prepare(model, params, users, trial.Tuning())
    measured = time.perf_counter()
    grid = strategies.grid((5, 10, 20), (0.01, 0.1, 1.0))
    by_batch = {}
    for batch in (5, 10, 20):
        started = time.perf_counter()
        some = [s for s in grid if s.batch == batch]
        for found in trial.evaluate(ready, some).values():
            assert sums.overall(sums.total(found, 0))["users"] == len(users)
        by_batch[batch] = round(time.perf_counter() - started, 2)
    seconds = time.perf_counter() - began
    started = time.perf_counter()
    trial.evaluate(ready, grid[:3])  # the programs are there already
    again = time.perf_counter() - started
    print(
        json.dumps(
            {
                "users": len(users),
                "settings": len(grid),
                "parameters": count_parameters(params),
                "tokens_to_tune_on": int(np.minimum(ready.tokens, 5000).sum()),
                "words_measured_on": int(ready.third.words.sum()),
                "together": groups.together(model, params),
                "precision": options.precision,
                "device": jax.devices()[0].device_kind,
                "devices": len(jax.local_devices()),
                "seconds": round(seconds, 2),
                "seconds_to_measure_the_global_model": round(measured - began, 2),
                "seconds_by_batch": by_batch,
                "seconds_for_batch_5_compiled": round(again, 2),
                "personalisations_per_minute": round(60 * len(users) * len(grid) / seconds),
            }
        )
    )


if __name__ == "__main__":
    main()
