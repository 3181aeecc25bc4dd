"""Measures the server of a federation at the layer of messages: memory and speed of one round of Gboard's model.

    python benchmarks/federation.py [--updates 10 100 1000]

Answers are made one at a time, as the objects that Flower stores, and take the way of every answer: they are opened,
read, checked, and added. Each number of updates is a round in a process of its own. Seconds are of the processor, over
all threads, and those that make the answers do not count: on a busy machine only these compare. Memory is the
process's peak, and by how much the round raised it. The table goes to docs/benchmarks.md, the figures to
benchmarks/results/federation.json.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from flwr.app import Metadata
from flwr.app.message.message import make_message
from flwr.supercore.inflatable.inflatable_object import get_all_nested_objects

from tacit.federated.algorithm import rule_and_optimiser
from tacit.federated.local import Sending
from tacit.federated.message_sizes import nobody
from tacit.federated.rounds import rounds_of
from tacit.models import count_parameters, language_model
from tacit.network.exchange import exchange
from tacit.network.grid import from_records, to_records
from tacit.network.office import Office, Terms
from tacit.network.replies import opened
from tacit.network.training import networked
from tacit.network.work import Parcel, Refusal, answer_facts, named
from tacit.runs.config import algorithm, resolve
from tacit.text.vocabulary import SPECIALS, Vocabulary

ROOT = Path(__file__).parents[1]


def reply_objects(parcel: Parcel) -> tuple[dict[str, bytes], str]:
    """Returns an answer as the objects that Flower stores, and the name of their root."""
    metadata = Metadata(1, "", 1, 1, "", "", time.time(), 3600.0, "train")
    message = make_message(metadata, to_records(parcel))
    return {name: one.deflate() for name, one in get_all_nested_objects(message).items()}, message.object_id


class Crowd:
    """Clients who answer at once; seconds of the server between their answers are kept."""

    def __init__(self, arrays: Mapping[str, np.ndarray], clients: int) -> None:
        self.arrays, self.clients = arrays, clients
        self.seconds: list[float] = []

    def present(self) -> Sequence[int]:
        return range(self.clients)

    def ask(self, tasks: Mapping[int, Parcel], seconds: float) -> Iterator[tuple[int, Parcel | Refusal]]:
        for number, task in tasks.items():
            scale = np.float32(1 / (1 + number))
            arrays = {n: a * scale if "message/0" in n else a for n, a in self.arrays.items()}
            objects, root = reply_objects(Parcel(arrays, answer_facts(task.facts)))
            begun = time.process_time()
            yield number, from_records(opened(objects, root).content)
            self.seconds.append(time.process_time() - begun)


def status(name: str) -> float:
    """Returns a line of this process's memory, in MB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(name))


def measure(updates: int) -> dict[str, Any]:
    """Makes one round of this many updates."""
    config = networked(resolve("gboard", [f"sampling.clients={updates}", "training.rounds=1"]))
    words = Vocabulary((*SPECIALS, *(f"w{i}" for i in range(10_000 - len(SPECIALS)))))
    model = language_model(config.model, len(words))
    shapes = jax.eval_shape(model.init, jax.random.key(0))
    draw = np.random.default_rng(0)

    def filled(name: str, like: Any) -> np.ndarray:
        whole = draw.standard_normal(like.shape, np.float32) if "message/0" in name else np.ones(like.shape)
        return np.asarray(whole, like.dtype)

    rule, _ = rule_and_optimiser(algorithm(config), shapes)
    sending = Sending(rule, 0.0, None, 0.0)
    silence = nobody(config.client, sending, shapes)
    arrays = {name: filled(name, leaf) for name, leaf in named("reply", silence).items()}
    arrays = {name: np.zeros_like(a) if name.endswith("/refused") else a for name, a in arrays.items()}
    crowd = Crowd(arrays, updates)
    office = Office(crowd, config, words, updates, Terms(), Counter())
    trainer = rounds_of(model.init, algorithm(config), exchange(office, shapes), 0, 1, updates)
    state = trainer.init(jax.random.key(0))
    before = status("VmRSS:")
    _, facts = trainer.round(state, 0)
    assert facts["clients"] == updates and not office.refused, (facts, office.refused)
    seconds = float(np.median(crowd.seconds))
    return {
        "updates": updates,
        "parameters": count_parameters(shapes),
        "peak_mb": round(status("VmHWM:"), 1),
        "round_mb": round(status("VmHWM:") - before, 1),
        "ms_per_update": round(1000 * seconds, 3),
        "updates_per_s": round(1 / seconds, 1),
    }


def main() -> None:
    """Measures every number of updates in a process of its own, and writes the figures and the page."""
    asked = argparse.ArgumentParser()
    asked.add_argument("--updates", type=int, nargs="+", default=[10, 100, 1000])
    asked.add_argument("--one", type=int, help="make one round and print its figures")
    given = asked.parse_args()
    if given.one:
        print(json.dumps(measure(given.one)))
        return
    sys.path.insert(0, str(ROOT / "tools"))
    import measured_federation
    from pages import machine, store, today

    rounds = []
    for updates in given.updates:
        command = [sys.executable, __file__, "--one", str(updates)]
        rounds.append(
            json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
        )
        print(rounds[-1])
    figures = {
        "command": "python benchmarks/federation.py",
        "machine": machine(),
        "date": today(),
        "rounds": rounds,
    }
    store("federation.json", figures)
    measured_federation.write()


if __name__ == "__main__":
    main()
