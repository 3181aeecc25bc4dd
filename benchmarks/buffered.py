"""Measures FedBuff against synchronous FedAdam at equal client work, on the built-in typists.

Both have thirty clients that train at once. FedBuff steps after every ten answers and does not wait; FedAdam waits for
a round's slowest client. A second FedAdam has rounds of ten: as many steps as FedBuff, none of its updates old, and a
third of the clients busy. Each gets the same number of client trainings; those that FedBuff began and did not use, as
they were too old or still under way at the end, count as work. `server.lr` and `server.beta1` of each are
chosen on validation people with the first seed. Simulated time is in units of the model of duration (`buffer.time`).

    python benchmarks/buffered.py [--work 1500] [--seeds 5] [--out benchmarks/results/buffered.json] [--table]

`--table` prints the table of docs/buffered.md from the results, and measures nothing.
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tacit.experiments.results import machine
from tacit.federated.arrivals import arrivals, duration
from tacit.federated.evaluation import scorer
from tacit.federated.sampling import choose
from tacit.models import language_model
from tacit.runs.config import Config, resolve
from tacit.runs.data import prepare
from tacit.runs.training import make_trainer
from tacit.scoring.scores import overall

TOGETHER, K = 30, 10
RATES, MOMENTA = (0.01, 0.02, 0.03, 0.05), (0.0, 0.5, 0.9)  # server.lr and server.beta1
WORLD = [
    "typists.users=200",
    "typists.messages=30",
    "text.vocabulary=1000",
    "model.hidden=64",
    "model.embedding=64",
]
ARMS = {
    "FedAdam, 30 a round": ("fedadam", [f"sampling.clients={TOGETHER}"]),
    "FedAdam, 10 a round": ("fedadam", [f"sampling.clients={K}"]),
    "FedBuff, K = 10 of 30": ("fedbuff", [f"buffer.size={K}", f"buffer.concurrency={TOGETHER}"]),
}


def steps_of(config: Config, population: int, work: int) -> tuple[int, int]:
    """Returns how many steps this much client work gives, and how many trainings that is."""
    if not config.buffer.size:
        return work // config.sampling.clients, work // config.sampling.clients * config.sampling.clients
    begun = TOGETHER
    for t, step in enumerate(arrivals(config.buffer, config.sampling, population, config.seed)):
        if begun + K + step.stale > work:
            return t, begun
        begun += K + step.stale
    raise AssertionError("arrivals never end")


def simulated_time(config: Config, sizes: np.ndarray, steps: int) -> float:
    """Returns the time of the last step; a synchronous round takes as long as its slowest client."""
    if config.buffer.size:
        events = arrivals(config.buffer, config.sampling, len(sizes), config.seed)
        return next(itertools.islice(events, steps - 1, None)).clock
    times = resolve("fedbuff").buffer
    return sum(
        max(
            duration(times, config.seed, t, c)
            for c in choose(config.sampling, sizes, config.seed, t).ids.tolist()
        )
        for t in range(steps)
    )


def trained(arm: str, rate: float, beta1: float, seed: int, work: int) -> dict[str, Any]:
    """Trains one arm and returns its figures."""
    preset, keys = ARMS[arm]
    began = time.perf_counter()
    keys = [*WORLD, *keys, f"server.lr={rate}", f"server.beta1={beta1}", f"seed={seed}"]
    config = resolve(preset, keys)
    ready = prepare(config)
    population = len(ready.clients)
    steps, begun = steps_of(config, population, work)
    config = resolve(preset, [*keys, f"training.rounds={steps}"])
    model = language_model(config.model, len(ready.vocabulary))
    trainer, score = make_trainer(config, model, ready), scorer(model, ready.spelling)
    state = trainer.init(jax.random.key(seed))
    old: list[float] = []
    for t in range(steps):
        state, facts = trainer.round(state, t)
        old.append(facts.get("staleness", 0.0))
    found = {
        "arm": arm,
        "server_lr": rate,
        "server_beta1": beta1,
        "seed": seed,
        "steps": steps,
        "trainings": begun,
        "staleness": round(statistics.mean(old), 3),
        "time": round(simulated_time(config, ready.clients.sizes, steps), 3),
        "valid": round(overall(score(state.params, ready.valid))["perplexity"], 3),
        "test": round(overall(score(state.params, ready.test))["perplexity"], 3),
    }
    print(f"{time.perf_counter() - began:6.1f} s  {found}", file=sys.stderr, flush=True)
    return found


def measure(work: int, seeds: int) -> list[dict[str, Any]]:
    """Tunes each arm with the first seed, and trains it with the others."""
    trials = []
    for arm in ARMS:
        first = [trained(arm, rate, beta1, 0, work) for rate in RATES for beta1 in MOMENTA]
        best = min(first, key=lambda trial: trial["valid"])
        chosen = best["server_lr"], best["server_beta1"]
        trials += first + [trained(arm, *chosen, seed, work) for seed in range(1, seeds)]
    return trials


def table(trials: list[dict[str, Any]]) -> str:
    """Returns the results as a table; each arm with the rate that was chosen."""
    head = [
        "",
        "server.lr",
        "server.beta1",
        "steps",
        "trainings",
        "mean staleness",
        "simulated time",
        "test perplexity",
        "median",
    ]
    lines = [head, ["---"] * len(head)]
    for arm in ARMS:
        own = [trial for trial in trials if trial["arm"] == arm]
        best = min((t for t in own if t["seed"] == 0), key=lambda trial: trial["valid"])
        seeds = [t for t in own if all(t[key] == best[key] for key in ("server_lr", "server_beta1"))]

        def middle(name: str, seeds: list[dict[str, Any]] = seeds) -> float:
            return statistics.median(trial[name] for trial in seeds)

        lines.append(
            [
                arm,
                f"{best['server_lr']:g}",
                f"{best['server_beta1']:g}",
                f"{middle('steps'):.0f}",
                f"{middle('trainings'):.0f}",
                f"{middle('staleness'):.1f}",
                f"{middle('time'):.1f}",
                ", ".join(f"{trial['test']:.1f}" for trial in seeds),
                f"{middle('test'):.1f}",
            ]
        )
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    """Parses the arguments, measures and writes."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--work", type=int, default=1500)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/buffered.json"))
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(json.loads(options.out.read_text("utf-8"))["trials"]))
        return
    with tempfile.TemporaryDirectory() as cache:  # the arms share compiled programs
        jax.config.update("jax_compilation_cache_dir", cache)
        jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
        trials = measure(options.work, options.seeds)
    said = {
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "command": f"python benchmarks/buffered.py --work {options.work} --seeds {options.seeds}",
        "world": " ".join(WORLD),
        "trials": trials,
    }
    options.out.write_text(json.dumps(said, indent=1) + "\n", "utf-8")
    print(table(trials))


if __name__ == "__main__":
    main()
