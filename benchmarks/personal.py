"""Measures how long nine settings of fine-tuning take on 500 people, with Gboard's model (paper 3, Table 1).

It uses the real model (CIFG, 670 units, embedding 96, 10,000 words: 1.4 million parameters), B 5, 10, 20 × L 0.01, 0.1,
1.0, T 5000, E 1. People have a log-normal number of messages with median 400, of 4.1 words on average; the words are
random, because time does not depend on them. The time includes compilation, packing, evaluating the global model,
tuning and evaluating everybody nine times, and the sums.

    python benchmarks/personal.py [--users 500] [--precision bfloat16] [--out personal.json] [--quick]

`--quick` does the same with a toy model and 16 people, in seconds on a CPU, as a smoke test.
`python tools/measured.py add-personal-speed personal.json` adds the output to docs/personal.md.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import platform
import sys
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.models import architecture, count_parameters, language_model
from tacit.personal import groups, split, strategies, sums, trial
from tacit.text.packed import Packed

MESSAGES, SPREAD, WORDS = 400, 0.8, 4.1
BATCHES, RATES = (5, 10, 20), (0.01, 0.1, 1.0)


def people(users: int, messages: int, vocabulary: int) -> Packed:
    """Returns people with messages of about the published length."""
    draw = np.random.default_rng(0)
    sizes = np.clip(draw.lognormal(np.log(messages), SPREAD, users), 40, 40 * messages).astype(np.int64)
    words = np.clip(draw.geometric(1 / WORDS, int(sizes.sum())), 1, 30)
    offsets = np.concatenate([[0], np.cumsum(words + 2)])
    tokens = np.minimum(draw.zipf(1.3, offsets[-1]) + 2, vocabulary - 1).astype(np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = 0, 1
    return Packed(tokens, offsets, np.concatenate([[0], np.cumsum(sizes)]), tuple(map(str, range(users))))


def measure(users: int, precision: str, quick: bool) -> dict[str, Any]:
    """Everything, timed; what is being done goes to stderr."""
    began = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:7.1f} s  {what}", file=sys.stderr, flush=True)

    config = dataclasses.replace(architecture("gboard"), precision=precision)
    vocabulary = 10_000
    if quick:
        config, vocabulary = dataclasses.replace(config, embedding=8, hidden=16), 300
    text = people(users, 40 if quick else MESSAGES, vocabulary)
    model = language_model(config, vocabulary)
    params = model.init(jax.random.key(0))
    say(f"{users} people, {count_parameters(params):,} parameters, {jax.devices()[0].device_kind}")
    began = time.perf_counter()  # includes packing and compilation, but not generating the people
    everybody = split.split(text)
    ready = trial.prepare(model, params, everybody, trial.Tuning())
    measured = time.perf_counter() - began
    say("the global model is measured")
    grid = strategies.grid(BATCHES, RATES)
    by_batch = {}
    for batch in BATCHES:
        started = time.perf_counter()
        chosen = [s for s in grid if s.batch == batch]
        for outcome in trial.evaluate(ready, chosen).values():
            assert sums.overall(sums.total(outcome, 0))["users"] == len(everybody)
        by_batch[str(batch)] = round(time.perf_counter() - started, 2)
        say(f"B {batch}: {len(chosen)} rates")
    seconds = time.perf_counter() - began
    started = time.perf_counter()
    trial.evaluate(ready, grid[: len(RATES)])  # already compiled
    again = time.perf_counter() - started
    return {
        "users": len(everybody),
        "settings": len(grid),
        "parameters": count_parameters(params),
        "tokens_to_tune_on": int(np.minimum(ready.tokens, ready.options.max_tokens).sum()),
        "words_measured_on": int(ready.third.words.sum()),
        "together": min(groups.together(model, params), len(everybody)),
        "precision": precision,
        "seconds": round(seconds, 2),
        "seconds_to_measure_the_global_model": round(measured, 2),
        "seconds_by_batch": by_batch,
        "seconds_for_batch_5_compiled": round(again, 2),
        "personalisations_per_minute": round(60 * len(everybody) * len(grid) / seconds),
    }


def main() -> None:
    given = argparse.ArgumentParser()
    given.add_argument("--users", type=int)
    given.add_argument("--precision", choices=("float32", "bfloat16"), default="float32")
    given.add_argument("--quick", action="store_true", help="a toy model, 16 people")
    given.add_argument("--out", type=Path, help="a file for the line that is printed")
    options = given.parse_args()
    users = options.users or (16 if options.quick else 500)
    command = f"python benchmarks/personal.py --users {users} --precision {options.precision}"
    line = json.dumps(
        {
            "command": command + (" --quick" if options.quick else ""),
            "machine": f"{len(jax.local_devices())} × {jax.devices()[0].device_kind}",
            "date": str(datetime.date.today()),
            "jax": jax.__version__,
            "python": platform.python_version(),
            **measure(users, options.precision, options.quick),
        }
    )
    if options.out:
        options.out.write_text(line + "\n", "utf-8")
    print(line)


if __name__ == "__main__":
    main()
