"""Times the training of a cohort on this machine, for `tacit bench`.

A workload is one round of FedAvg on a tied GRU, with a fixed number of clients that make a fixed number of SGD steps on
batches without empty cells. `ragged` is a cohort of the built-in typists instead, with clients and sentences of all
sizes. The time is the median of several repeats after a warm-up, without compilation.

The time is compared with what the device could do: the arithmetic of a step as a share of the measured rate of matrix
products, and the bytes that it must move as a share of the measured rate of copies.
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
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import first_moments
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.executors import choose_executor
from tacit.federated.local import Broadcast, Cohort, Sending
from tacit.federated.objective import next_word_loss
from tacit.federated.sampling import SamplingConfig, chosen_cohort, everybody
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models import ModelConfig, count_parameters, language_model
from tacit.text.packed import Packed, Rows
from tacit.text.prepare import PartitionConfig, TextConfig, prepare
from tacit.text.typists import TypistsConfig


class Workload(NamedTuple):
    """Holds the shape of a round."""

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
    """Returns a workload by name, reduced on a CPU to what it does in reasonable time."""
    if name not in WORKLOADS:
        raise TacitError(f"no workload '{name}'{nearest(name, WORKLOADS)}")
    smaller = ON_CPU.get(name, {}) if jax.default_backend() == "cpu" else {}
    return WORKLOADS[name]._replace(**smaller)


def random_cohort(work: Workload) -> Cohort:
    """Returns clients whose batches are full of random words."""
    draw = generator(0, work.clients)
    words = draw.integers(3, work.vocabulary, (work.clients, work.steps, work.batch, work.time + 1), np.int32)
    words[..., 0] = 0
    rows = Rows(words[..., :-1], words[..., 1:])
    return chosen_cohort(everybody(work.clients), rows, np.full(work.clients, work.steps))


def typists_cohort(work: Workload) -> Cohort:
    """Returns clients of the built-in typists, of all sizes."""
    ready = prepare(TextConfig(vocabulary=work.vocabulary), PartitionConfig(), TypistsConfig(), seed=0)
    assert isinstance(ready.clients, Packed)
    client, sampling = ClientConfig(batch=work.batch), SamplingConfig(clients=work.clients)
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), sampling)
    return text_cohort(ready.clients, algorithm, 0, 0, text_grid(ready.clients, client))


# what a client does in the benchmark; Adam's second moment travels, as in the preset adam-papers
CLIENTS = {
    "sgd": ClientConfig(lr=0.1),
    "adam": ClientConfig(
        lr=0.001, optimiser="adam", carry="v", carry_form="factored", settings={"beta1": 0.0}
    ),
}


def measure(
    name: str, precision: str = "float32", executor: str = "auto", repeats: int = 5, optimiser: str = "sgd"
) -> dict[str, Any]:
    """Measures one row of the benchmark."""
    work = workload(name)
    config = ModelConfig(embedding=work.size, hidden=work.size, precision=precision)  # type: ignore[arg-type]
    model = language_model(config, work.vocabulary)
    rule = aggregation(AggregationConfig())
    chosen = choose_executor(executor)  # type: ignore[arg-type]
    params = model.init(jax.random.key(0))
    cohort = typists_cohort(work) if name == "ragged" else random_cohort(work)
    client = CLIENTS[optimiser]
    sums = cohort_sums(
        next_word_loss(model), client, Sending(rule), lambda t: cohort, params, executor=chosen
    )
    lanes = sums.ready(0).laid
    apply = jax.jit(lambda w, message: jax.tree.map(jnp.subtract, w, rule.combine(w, message)))

    sent = Broadcast(*sums.place((params, first_moments(client, params))))
    arguments = (sent, lanes, jnp.float32(client.lr), jax.random.key(1))
    program = sums.program.lower(*arguments).compile()  # type: ignore[attr-defined]

    def one() -> Any:
        return apply(params, program(*arguments).message)

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
        "optimiser": optimiser,
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
    """Returns the median time of several runs, after one that compiles."""
    jax.block_until_ready(work())
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(work())
        times.append(time.perf_counter() - start)
    return statistics.median(times)


@lru_cache
def device_rates(precision: str) -> dict[str, float]:
    """Returns the best rates of one device, of large copies (bytes read and written) and of large matrix products.

    One program makes so many of them that it runs for about a tenth of a second. Launching it takes up to a tenth of a
    millisecond, which would be a third of the time of a single copy on a fast accelerator.
    """
    cpu = jax.default_backend() == "cpu"
    devices = len(jax.local_devices()) if not cpu else 1  # on a CPU one product uses all cores
    kind = jnp.bfloat16 if precision == "bfloat16" and not cpu else jnp.float32
    copied = copy_rate(2**24, 16) if cpu else copy_rate(2**27, 512)
    multiplied = product_rate(1024, 4, kind) if cpu else product_rate(8192, 64, kind)
    return {"operations_per_s": devices * multiplied, "bytes_per_s": devices * copied}


def copy_rate(floats: int, times: int) -> float:
    """Returns the bytes read and written in a second by one program that adds 1 to an array several times."""
    x = jnp.zeros(floats)  # float32: 4 bytes read and 4 written each time
    copy = jax.jit(lambda v: jax.lax.fori_loop(0, times, lambda _, v: v + 1, v))
    return 8 * floats * times / timed(lambda: copy(x), 5)


def product_rate(n: int, times: int, kind: Any) -> float:
    """Returns the operations a second of one program that multiplies n × n matrices several times."""
    a = jax.random.normal(jax.random.key(0), (n, n), kind) / jnp.sqrt(n).astype(kind)  # products stay near 1
    precision = None if kind == jnp.bfloat16 else "highest"
    multiply = jax.jit(
        lambda a: jax.lax.fori_loop(0, times, lambda _, m: jnp.matmul(a, m, precision=precision), a)
    )
    return 2 * n**3 * times / timed(lambda: multiply(a), 5)


def memory_used_mb(program: Any) -> float:
    """Returns the most memory of a compiled program on a device: arguments, result and everything between."""
    sizes = program.memory_analysis()
    held = sizes.argument_size_in_bytes + sizes.output_size_in_bytes + sizes.temp_size_in_bytes
    return float(held - sizes.alias_size_in_bytes) / 2**20
