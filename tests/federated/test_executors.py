"""The compiled cohorts against the slow judge: every rule, one and two devices, whole and in chunks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st

import reference
from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, AggregationConfig, aggregation, total
from tacit.federated.executors import choose_executor, chunks, client_message, cohort_training, spread
from tacit.federated.local import ClientConfig
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import Algorithm, text_cohort
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.slow import slow_training
from tacit.models import ModelConfig, language_model

KEY = jax.random.key(11)
RULES = {
    "mean": (AggregationConfig(), "uniform"),
    "attentive": (AggregationConfig(rule="attentive"), "uniform"),
    "spectral": (AggregationConfig(rule="attentive", distance="spectral"), "uniform"),
    "bounded": (AggregationConfig(rule="attentive", bound=2.0), "uniform"),
    "exact": (AggregationConfig(rule="attentive-loss"), "uniform"),
    "printed": (AggregationConfig(rule="attentive-loss", form="as-printed"), "uniform"),
    "original": (AggregationConfig(), "original"),
    "II": (AggregationConfig(), "II"),
}
CLIENT = ClientConfig(batch=2, lr=0.3, epochs=2, momentum=0.5, prox=0.3, clip=0.8, stragglers=0.4)
PRESENT = [True, True, False, True, True]


def cohort(**options):
    options = {"t": 2, "scale": [1, 0.5, 2, 1, 1.5], "present": PRESENT} | options
    return worlds.labelled_cohort(CLIENT, **options)


def same(found, expected, rtol=2e-4, atol=2e-5, name=""):
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=rtol, atol=atol, err_msg=name)


def all_rules() -> Aggregation:
    """One rule that says what every rule says, so that one program tests them all."""
    rules = {name: aggregation(*options) for name, options in RULES.items()}
    return Aggregation(
        lambda params, update, weight: {n: r.message(params, update, weight) for n, r in rules.items()},
        lambda params, message: {n: r.combine(params, message[n]) for n, r in rules.items()},
    )


@pytest.fixture(scope="module")
def judged():
    rule = all_rules()
    slow = slow_training(worlds.LOSS, CLIENT, rule, 0.05)
    message, report = slow(worlds.START, cohort(), jnp.float32(CLIENT.lr), KEY)
    return rule.combine(worlds.START, message), report


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("executor", ["map", "vmap"])
def test_every_rule_says_what_the_judge_says(executor, devices, judged, monkeypatch):
    if devices > len(jax.devices()):
        pytest.skip("needs two devices")
    monkeypatch.setattr(jax, "local_devices", lambda: jax.devices()[:devices])
    rule = all_rules()
    fast = cohort_training(worlds.LOSS, CLIENT, rule, 0.05, executor)
    found, told = fast(worlds.START, spread(cohort(), devices), jnp.float32(CLIENT.lr), KEY)
    gradients = jax.jit(rule.combine)(worlds.START, found)
    for name in RULES:
        same(gradients[name], judged[0][name], name=name)
    same(told, judged[1])
    assert float(told.clients) == 4


@pytest.fixture(scope="module")
def vmapped():
    rule = aggregation(*RULES["attentive"])
    return rule, cohort_training(worlds.LOSS, CLIENT, rule, 0.05, "vmap")


def run(train, parts):
    lr = jnp.float32(CLIENT.lr)
    sums = [train(worlds.START, spread(p, len(jax.local_devices())), lr, KEY) for p in parts]
    return total(jax.tree.map(lambda *x: jnp.stack(x), *sums))


def test_chunks_add_up_to_the_whole(vmapped):
    rule, train = vmapped
    whole, report = run(train, [cohort()])
    parts = chunks(cohort(), worlds.START, 0, "vmap")  # no memory at all: as many clients as devices
    assert {len(p.ids) for p in parts} <= {1, len(jax.local_devices())}
    assert sorted(np.concatenate([p.ids for p in parts]).tolist()) == [0, 1, 2, 3, 4]
    found, told = run(train, parts)
    same(rule.combine(worlds.START, found), rule.combine(worlds.START, whole))
    same(told, report)
    assert len(chunks(cohort(), worlds.START, 100, "vmap")) == 1
    assert len(chunks(cohort(), worlds.START, 0, "map")) == 1


def test_the_order_of_clients_does_not_matter(vmapped):
    rule, train = vmapped
    message, report = run(train, [cohort()])
    order = np.array([3, 1, 4, 0, 2])
    shuffled = jax.tree.map(lambda a: np.asarray(a)[order], cohort())
    found, told = run(train, [shuffled])
    same(rule.combine(worlds.START, found), rule.combine(worlds.START, message))
    same(told, report)


def test_a_client_that_drops_out_leaves_no_trace(vmapped):
    rule, train = vmapped
    message, _ = run(train, [cohort()])
    poisoned = cohort()
    poisoned.batches.x[2] = np.nan
    found, _ = run(train, [poisoned])
    same(rule.combine(worlds.START, found), rule.combine(worlds.START, message))
    nobody, report = run(train, [cohort(present=[False] * 5)])
    assert float(report.clients) == 0 == float(report.words)
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(rule.combine(worlds.START, nobody)))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=9), st.integers(1, 4))
def test_spread_deals_everybody_exactly_once(steps, devices):
    clients = len(steps)
    small = worlds.labelled_cohort(ClientConfig(batch=2), ids=np.arange(clients) % 5)._replace(
        ids=np.arange(clients, dtype=np.int32), steps=np.array(steps, np.int32)
    )
    dealt = spread(small, devices)
    assert len(dealt.ids) % devices == 0 and len(dealt.ids) < clients + devices
    assert all(len(leaf) == len(dealt.ids) for leaf in jax.tree.leaves(dealt))
    assert sorted(dealt.ids[dealt.present].tolist()) == list(range(clients))
    assert (dealt.steps[~dealt.present] == 0).all()
    here = dealt.ids[dealt.present]
    np.testing.assert_array_equal(dealt.steps[dealt.present], small.steps[here])
    np.testing.assert_array_equal(dealt.batches.x[dealt.present], small.batches.x[here])
    load = dealt.steps.reshape(devices, -1).sum(axis=1)
    assert load.max() - load.min() <= max(steps)  # there and back again is nearly even


def test_beta_noise_has_its_size_and_is_there_before_the_scores():
    """Paper 2, equation 11: what the client sends is θ_k + β N(0, 1); norms are of the noisy update."""
    beta, client = 0.2, ClientConfig(batch=0, lr=0.0)  # no learning: the update is the noise
    start = {"weight": jnp.zeros((60, 50)), "bias": jnp.zeros(50)}

    def loss(params, batch, key):
        return jnp.sum(params["weight"]) + jnp.sum(params["bias"]), jnp.int32(1)

    say = jax.jit(client_message(loss, client, aggregation(AggregationConfig(rule="attentive")), beta, True))
    one = jax.tree.map(lambda a: a[0], worlds.labelled_cohort(client))
    layers, report = say(start, one, jnp.float32(0), KEY)
    bias, weight = (np.asarray(layer.values[0]) for layer in layers)  # leaves in the order of their names
    assert weight.std() == pytest.approx(beta, rel=4.5 / np.sqrt(2 * 3000))
    assert abs(weight.mean()) < 4.5 * beta / np.sqrt(3000)
    assert float(layers[1].peak) == pytest.approx(np.sqrt(np.sum(weight**2)), rel=1e-5)
    assert float(layers[0].peak) == pytest.approx(np.sqrt(np.sum(bias**2)), rel=1e-5)
    assert float(report.norm) == 0  # the report is of the training, not of the noise
    again = say(start, one._replace(ids=jnp.int32(1)), jnp.float32(0), KEY)[0]
    assert abs(np.corrcoef(np.ravel(again[1].values[0]), weight.ravel())[0, 1]) < 0.1
    assert not np.allclose(weight[0, :50], bias)


def test_auto_is_map_on_cpu():
    assert choose_executor("vmap") == "vmap" and choose_executor("slow") == "slow"
    if jax.default_backend() == "cpu":
        assert choose_executor("auto") == "map"


def test_a_language_model_with_dropout_trains_as_the_judge_does():
    """Also the dropout masks are the client's own, whoever else is there and however it is executed."""
    model = language_model(ModelConfig(embedding=4, hidden=4, dropout=0.3), 12)
    loss = jax.jit(next_word_loss(model))
    client = ClientConfig(batch=2, lr=0.5, momentum=0.5)
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0))
    people = text_cohort(worlds.sentences(0, 3, 12, most=3, longest=4), algorithm, 0, 0)
    rule = aggregation(AggregationConfig())
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 0, 0.3)
    lr = jnp.float32(0.5)
    judged = slow_training(loss, client, rule, 0.0)(params, people, lr, KEY)
    for executor in ("map", "vmap"):
        fast = cohort_training(loss, client, rule, 0.0, executor)
        found = fast(params, spread(people, len(jax.local_devices())), lr, KEY)
        same(found, judged)
        assert float(trees.norm(found[0][0])) > 0.01
