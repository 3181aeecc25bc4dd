"""Every client's reply, one below the other: against the slow executor, against the sums, and whom it leaves out."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds

from tacit.base import memory
from tacit.base.errors import Diverged, TacitError
from tacit.federated import hosts
from tacit.federated.aggregation import AggregationConfig, aggregation, chosen_rule, total
from tacit.federated.algorithm import Algorithm, round_key
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import first_moments
from tacit.federated.cohort_sums import check_stack
from tacit.federated.executors import cohort_replies, cohort_training, placed
from tacit.federated.lanes import Plan, lay_out
from tacit.federated.local import Broadcast, Sending
from tacit.federated.rounds import check_cohort, federation
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.slow import slow_replies

KEY = jax.random.key(11)
CLIENT = ClientConfig(batch=2, lr=0.3, epochs=2, optimiser="adam", carry="v", settings={"beta1": 0.0})
SENT = Broadcast(worlds.START, [x + 1 for x in first_moments(CLIENT, worlds.START)])
IDS = np.array([3, 0, 4, 2, 1])  # not in order
PRESENT = [True, True, True, False, True]
FACTOR = np.array([1, -2, np.nan, 1, 1], np.float32)  # client 0 flips, client 4 sends NaN
MEAN = aggregation(AggregationConfig())
LR = jnp.float32(CLIENT.lr)


def cohort(**changes):
    return worlds.labelled_cohort(CLIENT, IDS, t=2, present=PRESENT)._replace(**changes)


def same(found, expected):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-4, atol=2e-5)


@pytest.fixture(scope="module")
def judged():
    return slow_replies(worlds.LOSS, CLIENT, Sending(MEAN, 0.05))(SENT, cohort(factor=FACTOR), LR, KEY)


@pytest.mark.parametrize(("executor", "devices"), [("map", 1), ("vmap", 1), ("map", 2)])
def test_replies_are_those_of_the_slow_executor_in_the_order_of_ids(executor, devices, judged, monkeypatch):
    if devices > len(jax.devices()):
        pytest.skip("needs two devices")
    monkeypatch.setattr(jax, "local_devices", lambda: jax.devices()[:devices])
    lanes = lay_out(cohort(factor=FACTOR), Plan(devices, 0) if executor == "map" else Plan(2, 3))
    fast = cohort_replies(worlds.LOSS, CLIENT, Sending(MEAN, 0.05), executor)
    ids, stacked, refused = fast(SENT, placed(lanes, devices), LR, KEY)
    assert ids.tolist() == judged.ids.tolist() == [0, 1, 3]  # 2 dropped out
    assert refused.tolist() == judged.refused.tolist() == [4]
    same(stacked, judged.stacked)
    if (executor, devices) != ("map", 1):
        return
    # their sum is what the program of sums says
    summed = cohort_training(worlds.LOSS, CLIENT, Sending(MEAN, 0.05), executor)(SENT, lanes, LR, KEY)
    same(summed, total(stacked)._replace(report=total(stacked.report)._replace(refused=jnp.int32(1))))
    assert int(summed.report.clients) == 3


def test_an_attacker_sends_its_update_times_the_factor():
    honest, found = (
        slow_replies(worlds.LOSS, CLIENT, Sending(MEAN))(SENT, cohort(factor=factor), LR, KEY)
        for factor in (None, FACTOR)
    )
    for a, b in zip(
        jax.tree.leaves(found.stacked.message[0]), jax.tree.leaves(honest.stacked.message[0]), strict=True
    ):
        np.testing.assert_allclose(a, np.array([-2, 1, 1]).reshape(3, *[1] * (a.ndim - 1)) * b[:3], rtol=1e-6)


ONES = np.ones(5, np.float32)
COHORTS = []  # of rounds 0, 1, …
PLAIN = ClientConfig(batch=2, lr=0.3)


def federated(rule, executor="map", max_norm=0.0, **settings):
    config = AggregationConfig(rule, max_norm=max_norm, settings=settings)
    algorithm = Algorithm(PLAIN, config, ServerConfig(), SamplingConfig(fraction=1.0))
    start, cohort_of = lambda key: worlds.START, lambda t: COHORTS[t]
    return federation(start, worlds.LOSS, algorithm, cohort_of, 0, 1, executor)


@pytest.fixture(scope="module")
def trainers():
    """Compiled once each."""
    return {"mean": federated("mean", max_norm=50.0), "median": federated("median", max_norm=50.0)}


def round_of(trainer, factor=ONES, present=(True,) * 5, x=1.0):
    """One round from the start of clients whose update or text is multiplied by these."""
    people = worlds.labelled_cohort(PLAIN, present=present)._replace(factor=np.asarray(factor, np.float32))
    people.batches.x[:] *= np.asarray(x, np.float32).reshape(-1, 1, 1, 1)
    COHORTS.append(people)
    state, facts = trainer.round(trainer.init(KEY), len(COHORTS) - 1)
    return state.params, facts


WITHOUT_2 = [True, True, False, True, True]


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_who_sends_nan_or_too_much_is_refused_and_the_rest_is_as_without(rule, trainers):
    without, others = round_of(trainers[rule], present=WITHOUT_2)
    assert others["dropped"] == 1 and "refused" not in others
    # an attacker; an attacker whose norm is above the limit; text that makes training diverge
    for factor, x in (([1, 1, np.nan, 1, 1], 1), ([1, 1, 1e6, 1, 1], 1), (ONES, [1, 1, np.nan, 1, 1])):
        params, facts = round_of(trainers[rule], factor, x=x)
        same(params, without)
        sent = others["bytes_up"] / 4 * 5  # who is refused has sent an update, too
        assert facts == pytest.approx({**others, "refused": 1, "dropped": 0, "bytes_up": sent})


@pytest.mark.parametrize("rule", ["mean", "median"])
def test_if_nobody_is_left_training_has_diverged_unless_all_attack(rule, trainers):
    with pytest.raises(Diverged, match=r"round \d+: .*not finite; lower client.lr"):
        round_of(trainers[rule], [1, np.nan, 1, 1, np.nan], x=np.nan)
    params, facts = round_of(trainers[rule], np.full(5, np.nan))
    same(params, worlds.START)
    assert facts["refused"] == 5 and facts["clients"] == 0 and np.isnan(facts["loss"])


def test_a_round_by_median_in_numpy(trainers):
    found, _ = round_of(trainers["median"])
    collect = slow_replies(worlds.LOSS, PLAIN, Sending(MEAN))
    stacked = collect(Broadcast(worlds.START), COHORTS[-1], np.float32(PLAIN.lr), round_key(0, 0)).stacked
    updates, weights = stacked.message  # times the weights
    for name, x in found.items():
        each = updates[name] / np.reshape(weights, (-1, *[1] * x.ndim))
        np.testing.assert_allclose(x, worlds.START[name] + np.median(each, axis=0), rtol=1e-4, atol=1e-5)


def test_a_round_with_too_few_clients_is_abandoned():
    config = AggregationConfig("krum", settings={"attackers": 1})
    params, facts = round_of(federated("krum", "slow", attackers=1), present=WITHOUT_2)
    same(params, worlds.START)
    assert facts["clients"] == 4
    algorithm = Algorithm(ClientConfig(), config, ServerConfig(), SamplingConfig())
    with pytest.raises(
        TacitError, match=r"'krum' needs at least 5 clients a round .*, and there are 4; raise"
    ):
        check_cohort(algorithm, 4, worlds.START)
    check_cohort(algorithm, 5, worlds.START)
    assert chosen_rule(AggregationConfig("multi-krum", settings={"attackers": 2, "chosen": 6})).least == 10


def test_updates_that_do_not_fit_the_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory, "limit", lambda: 10**9)
    model = {"w": jax.ShapeDtypeStruct((1000, 1000), jnp.float32)}
    check_stack(80, model)
    with pytest.raises(
        TacitError, match=r"updates of 90 clients, 1,000,000 numbers each.*lower sampling.clients"
    ):
        check_stack(90, model)


def test_between_processes_only_sums_are_possible(monkeypatch):
    monkeypatch.setattr(hosts, "together", lambda: True)
    with pytest.raises(TacitError, match="with --coordinator only sums are possible"):
        federated("median")
