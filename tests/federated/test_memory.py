"""What a round holds: as much as its lanes, however many clients and however large the population.

The compiler says what a program holds at most; it is asked, nothing is timed or sampled.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.experiments.bench import Workload, memory_used_mb, random_cohort
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.client_config import ClientConfig
from tacit.federated.devices import devices
from tacit.federated.executors import cohort_training
from tacit.federated.lanes import Plan, lay_out
from tacit.federated.local import Broadcast, Sending
from tacit.federated.objective import next_word_loss
from tacit.models import ModelConfig, count_parameters, language_model

VOCABULARY, SIZE, STEPS = 3000, 16, 4
MODEL = language_model(ModelConfig(embedding=SIZE, hidden=SIZE), VOCABULARY)
PARAMS = MODEL.init(jax.random.key(0))
COPY_MB = 4 * count_parameters(PARAMS) / 2**20


def held_mb(clients: int, lanes: int, executor: str = "vmap") -> float:
    """Memory of the program that trains so many clients in so many lanes, its batches left out."""
    cohort = random_cohort(Workload(clients, 2, 4, VOCABULARY, SIZE, STEPS))
    laid = lay_out(cohort, Plan(lanes, STEPS))
    rule = aggregation(AggregationConfig())
    train = cohort_training(next_word_loss(MODEL), ClientConfig(), Sending(rule), executor)
    program = train.lower(Broadcast(PARAMS), laid, jnp.float32(0.1), jax.random.key(0)).compile()
    batches = sum(np.asarray(a).nbytes for a in jax.tree.leaves(laid)) / len(devices()) / 2**20
    return memory_used_mb(program) - batches


@pytest.fixture(scope="module")
def four_lanes() -> float:
    return held_mb(clients=8, lanes=4)


def test_more_clients_in_the_same_lanes_need_no_more(four_lanes):
    assert held_mb(clients=64, lanes=4) == pytest.approx(four_lanes, rel=0.02)


def test_memory_grows_by_a_few_copies_of_the_model_for_each_lane(four_lanes):
    more = held_mb(clients=16, lanes=16)
    each = (more - four_lanes) / (12 / len(devices()))
    assert 2 * COPY_MB < each < 9 * COPY_MB
    twice = held_mb(clients=28, lanes=28)
    assert twice - more == pytest.approx(more - four_lanes, rel=0.1)


def test_one_after_another_holds_one_client_at_a_time():
    lanes = len(devices())
    assert held_mb(40, lanes, "map") == pytest.approx(held_mb(10, lanes, "map"), rel=0.02)
