"""How fast a cohort trains here: the workloads of the benchmarks, timed.

A workload is one round: m clients × S local SGD steps of B full rows of T words, tied GRU with embedding
and hidden size D over V words, averaged. The median of several repeats after a warm-up, compilation left out.
"""

from __future__ import annotations

import platform
import statistics
import time
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit.errors import TacitError, nearest
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.executors import choose_executor, cohort_training
from tacit.federated.lanes import lay_out, memory_mb, plan
from tacit.federated.local import ClientConfig, Cohort
from tacit.federated.objective import next_word_loss
from tacit.models import ModelConfig, language_model
from tacit.randomness import generator
from tacit.text.packed import Rows


class Workload(NamedTuple):
    """The shape of a round."""

    clients: int
    batch: int
    time: int
    vocabulary: int
    size: int
    steps: int


WORKLOADS = {
    "small": Workload(clients=20, batch=5, time=12, vocabulary=2000, size=64, steps=20),
    "gboard": Workload(clients=100, batch=5, time=16, vocabulary=10_000, size=96, steps=20),
    "paper": Workload(clients=10, batch=10, time=32, vocabulary=28_913, size=300, steps=20),
}
ON_CPU = {"gboard": {"clients": 10}, "paper": {"steps": 3}}  # the same step, fewer of them


def workload(name: str) -> Workload:
    """A workload by name, cut to what a CPU does in reasonable time where there is no accelerator."""
    if name not in WORKLOADS:
        raise TacitError(f"no workload '{name}'{nearest(name, WORKLOADS)}")
    smaller = ON_CPU.get(name, {}) if jax.default_backend() == "cpu" else {}
    return WORKLOADS[name]._replace(**smaller)


def random_cohort(work: Workload) -> Cohort:
    """Clients full of random words."""
    draw = generator(0, work.clients)
    words = draw.integers(3, work.vocabulary, (work.clients, work.steps, work.batch, work.time + 1), np.int32)
    words[..., 0] = 0
    ones = np.ones(work.clients, np.float32)
    return Cohort(
        np.arange(work.clients, dtype=np.int32),
        Rows(words[..., :-1], words[..., 1:]),
        np.full(work.clients, work.steps, np.int32),
        ones,
        ones,
        ones.astype(bool),
    )


def measure(
    name: str, precision: str = "float32", executor: str = "auto", repeats: int = 5
) -> dict[str, Any]:
    """One row of the benchmark."""
    work = workload(name)
    config = ModelConfig(embedding=work.size, hidden=work.size, precision=precision)  # type: ignore[arg-type]
    model = language_model(config, work.vocabulary)
    rule = aggregation(AggregationConfig())
    chosen = choose_executor(executor)  # type: ignore[arg-type]
    train = cohort_training(next_word_loss(model), ClientConfig(lr=0.1), rule, 0.0, chosen)
    params = model.init(jax.random.key(0))
    cohort = random_cohort(work)
    layout = plan(cohort, params, len(jax.local_devices()), chosen == "vmap", memory_mb(0))
    lanes = jax.tree.map(jnp.asarray, lay_out(cohort, layout))
    apply = jax.jit(lambda w, message: jax.tree.map(jnp.subtract, w, rule.combine(w, message)))

    def one(params: Any) -> Any:
        return jax.block_until_ready(
            apply(params, train(params, lanes, jnp.float32(0.1), jax.random.key(1))[0])
        )

    one(params)
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        one(params)
        times.append(time.perf_counter() - start)
    seconds = statistics.median(times)
    client_steps = work.clients * work.steps
    return {
        "workload": name,
        **work._asdict(),
        "executor": chosen,
        "precision": precision,
        "devices": len(jax.local_devices()),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "jax": jax.__version__,
        "ms_per_client_step": 1000 * seconds / client_steps,
        "tokens_per_s": client_steps * work.batch * work.time / seconds,
        "round_s": seconds,
    }
