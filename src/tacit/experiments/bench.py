"""How fast a cohort trains here: the workloads of the benchmarks, timed.

A workload is one round of FedAvg on a tied GRU: so many clients, each making so many SGD steps on batches that
are full to the last cell. `ragged` is a cohort of the built-in typists instead, with clients and
sentences of all sizes. The time is the median of several repeats after a warm-up, compilation left out.

Beside the time stands what the device could do: the shares of its measured matrix rate and copy rate that the
step's arithmetic, and the bytes it cannot avoid moving, come to.
"""

from __future__ import annotations

import platform
import statistics
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit.base.errors import TacitError, nearest
from tacit.base.randomness import generator
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.executors import choose_executor
from tacit.federated.local import ClientConfig, Cohort
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import Algorithm
from tacit.federated.sampling import SamplingConfig, chosen_cohort, everybody
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models import ModelConfig, count_parameters, language_model
from tacit.text.packed import Packed, Rows
from tacit.text.prepare import PartitionConfig, TextConfig, prepare
from tacit.text.typists import TypistsConfig


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
    "ragged": Workload(clients=50, batch=10, time=0, vocabulary=5000, size=96, steps=0),  # as the text has it
}
# the same step, fewer of them
ON_CPU = {"gboard": {"clients": 10}, "paper": {"steps": 3}, "ragged": {"clients": 20}}


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
    rows = Rows(words[..., :-1], words[..., 1:])
    return chosen_cohort(everybody(work.clients), rows, np.full(work.clients, work.steps))


def typists_cohort(work: Workload) -> Cohort:
    """Clients of the built-in typists, of all sizes."""
    ready = prepare(TextConfig(vocabulary=work.vocabulary), PartitionConfig(), TypistsConfig(), seed=0)
    assert isinstance(ready.clients, Packed)
    client, sampling = ClientConfig(batch=work.batch), SamplingConfig(clients=work.clients)
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), sampling)
    return text_cohort(ready.clients, algorithm, 0, 0, text_grid(ready.clients, client))


def measure(
    name: str, precision: str = "float32", executor: str = "auto", repeats: int = 5
) -> dict[str, Any]:
    """One row of the benchmark."""
    work = workload(name)
    config = ModelConfig(embedding=work.size, hidden=work.size, precision=precision)  # type: ignore[arg-type]
    model = language_model(config, work.vocabulary)
    rule = aggregation(AggregationConfig())
    chosen = choose_executor(executor)  # type: ignore[arg-type]
    params = model.init(jax.random.key(0))
    cohort = typists_cohort(work) if name == "ragged" else random_cohort(work)
    client = ClientConfig(lr=0.1)
    sums = cohort_sums(next_word_loss(model), client, rule, lambda t: cohort, params, executor=chosen)
    lanes = sums.ready(0).laid
    apply = jax.jit(lambda w, message: jax.tree.map(jnp.subtract, w, rule.combine(w, message)))

    arguments = (sums.place(params), lanes, jnp.float32(0.1), jax.random.key(1))
    program = sums.program.lower(*arguments).compile()  # type: ignore[attr-defined]

    def one() -> Any:
        return apply(params, program(*arguments)[0])

    seconds = timed(one, repeats)
    rows, length = cohort.batches.inputs.shape[2:]
    client_steps, cells = int(cohort.steps.sum()), rows * length
    words = int((cohort.batches.targets >= 0).sum())
    parameters = count_parameters(params)
    # a product forward and two backward; each weight read twice, its gradient and itself written
    operations = 6 * cells * (work.vocabulary * work.size + 6 * work.size**2)
    score_bytes = 2 if precision == "bfloat16" else 4
    moved = 4 * 4 * parameters + 4 * score_bytes * cells * work.vocabulary
    rates = device_rates(precision)
    return {
        "workload": name,
        **work._asdict(),
        "rows": rows,
        "time": length,
        "steps": int(cohort.steps.max()),
        "executor": chosen,
        "lanes": lanes.ids.shape[1],
        "precision": precision,
        "devices": len(jax.local_devices()),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "jax": jax.__version__,
        "ms_per_client_step": 1000 * seconds / client_steps,
        "tokens_per_s": words / seconds,
        "useful_share": words / (client_steps * cells),
        "peak_memory_mb": memory_used_mb(program),
        "matrix_share": operations * client_steps / seconds / rates["operations_per_s"],
        "copy_share": moved * client_steps / seconds / rates["bytes_per_s"],
        "round_s": seconds,
    }


def timed(work: Callable[[], Any], repeats: int) -> float:
    """The median of so many runs, after one that compiles."""
    jax.block_until_ready(work())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@lru_cache
def device_rates(precision: str) -> dict[str, float]:
    """What one device does at best: a large copy (bytes read and written) and a large matrix product."""
    cpu = jax.default_backend() == "cpu"
    n, floats = (1024, 2**24) if cpu else (8192, 2**27)
    kind = jnp.bfloat16 if precision == "bfloat16" and not cpu else jnp.float32
    a = jax.random.normal(jax.random.key(0), (n, n), kind)
    x = jax.random.normal(jax.random.key(1), (floats,))
    multiply = jax.jit(lambda m: jnp.matmul(m, m, precision=None if kind == jnp.bfloat16 else "highest"))
    copy = jax.jit(lambda v: v + 1)
    devices = len(jax.local_devices()) if not cpu else 1  # on a CPU one product uses all cores
    return {
        "operations_per_s": devices * 2 * n**3 / timed(lambda: multiply(a), 5),
        "bytes_per_s": devices * 8 * floats / timed(lambda: copy(x), 5),
    }


def memory_used_mb(program: Any) -> float:
    """What a compiled program holds on a device at most: its arguments, its result and all between."""
    sizes = program.memory_analysis()
    held = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    return float(held - sizes.alias_size_in_bytes) / 2**20
