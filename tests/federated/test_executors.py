"""The compiled cohorts against the slow judge: every rule, one and two devices, whatever the lanes."""

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
from tacit.federated.aggregation import Aggregation, AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.devices import memory_mb
from tacit.federated.executors import choose_executor, cohort_training
from tacit.federated.lanes import Plan, lay_out, plan
from tacit.federated.local import Broadcast, ClientState, Cohort, Sending, client_reply
from tacit.federated.objective import Labelled, next_word_loss
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.slow import slow_training
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models import ModelConfig, language_model
from tacit.models.images import mnist_cnn
from tacit.text.packed import Rows, pack

SENT = Broadcast(worlds.START)
KEY = jax.random.key(11)
RULES = {
    "mean": (AggregationConfig(), "uniform"),
    "attentive": (AggregationConfig(rule="attentive"), "uniform"),
    "spectral": (AggregationConfig(rule="attentive", settings={"distance": "spectral"}), "uniform"),
    "bounded": (AggregationConfig(rule="attentive", settings={"bound": 2.0}), "uniform"),
    "exact": (AggregationConfig(rule="attentive-loss"), "uniform"),
    "printed": (AggregationConfig(rule="attentive-loss", settings={"form": "as-printed"}), "uniform"),
    "original": (AggregationConfig(), "original"),
    "II": (AggregationConfig(), "II"),
}
CLIENT = ClientConfig(
    batch=2, lr=0.3, epochs=2, settings={"momentum": 0.5}, prox=0.3, clip=0.8, stragglers=0.4
)
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
    slow = slow_training(worlds.LOSS, CLIENT, Sending(rule, 0.05))
    message, _, report = slow(SENT, cohort(), jnp.float32(CLIENT.lr), KEY)
    return rule.combine(worlds.START, message), report


@pytest.mark.parametrize("devices", [1, 2])
@pytest.mark.parametrize("executor", ["map", "vmap"])
def test_every_rule_says_what_the_judge_says(executor, devices, judged, monkeypatch):
    if devices > len(jax.devices()):
        pytest.skip("needs two devices")
    monkeypatch.setattr(jax, "local_devices", lambda: jax.devices()[:devices])
    rule = all_rules()
    fast = cohort_training(worlds.LOSS, CLIENT, Sending(rule, 0.05), executor)
    lanes = lay_out(cohort(), Plan(devices, 0) if executor == "map" else Plan(2, 3))  # several clients a lane
    found, _, told = fast(SENT, lanes, jnp.float32(CLIENT.lr), KEY)
    gradients = jax.jit(rule.combine)(worlds.START, found)
    for name in RULES:
        same(gradients[name], judged[0][name], name=name)
    same(told, judged[1])
    assert float(told.clients) == 4


@pytest.fixture(scope="module")
def vmapped():
    rule = aggregation(*RULES["attentive"])
    return rule, cohort_training(worlds.LOSS, CLIENT, Sending(rule, 0.05), "vmap")


def run(train, people, lanes=2, segment=3):
    return train(SENT, lay_out(people, Plan(lanes, segment)), jnp.float32(CLIENT.lr), KEY)


@pytest.mark.parametrize(("lanes", "segment"), [(2, 1), (4, 2), (6, 8)])
def test_how_a_cohort_is_laid_out_does_not_matter(vmapped, lanes, segment):
    rule, train = vmapped
    whole, _, report = run(train, cohort())
    found, _, told = run(train, cohort(), lanes, segment)
    same(rule.combine(worlds.START, found), rule.combine(worlds.START, whole))
    same(told, report)


def test_the_order_of_clients_does_not_matter(vmapped):
    rule, train = vmapped
    message, _, report = run(train, cohort())
    order = np.array([3, 1, 4, 0, 2])
    shuffled = jax.tree.map(lambda a: np.asarray(a)[order], cohort())
    found, _, told = run(train, shuffled)
    same(rule.combine(worlds.START, found), rule.combine(worlds.START, message))
    same(told, report)


def test_a_client_that_drops_out_leaves_no_trace(vmapped):
    rule, train = vmapped
    message, _, _ = run(train, cohort())
    poisoned = cohort()
    poisoned.batches.x[2] = np.nan
    found, _, _ = run(train, poisoned)
    same(rule.combine(worlds.START, found), rule.combine(worlds.START, message))
    nobody, _, report = run(train, cohort(present=[False] * 5))
    assert float(report.clients) == 0 == float(report.words)
    assert all(np.all(np.isfinite(x)) for x in jax.tree.leaves(rule.combine(worlds.START, nobody)))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=1, max_size=9),
    st.integers(1, 4),
    st.integers(0, 5),
)
def test_every_step_of_everybody_present_has_one_place(people, lanes, segment):
    steps, present = (np.array(x) for x in zip(*people, strict=True))
    clients = len(steps)
    small = worlds.labelled_cohort(ClientConfig(batch=2), ids=np.arange(clients) % 5)._replace(
        ids=np.arange(clients, dtype=np.int32), steps=steps.astype(np.int32), present=present
    )
    numbered = np.arange(clients)[:, None] * 100 + np.arange(10)  # a batch's place in the cohort
    laid = lay_out(small._replace(batches=numbered), Plan(lanes, segment))
    seen, ended = {}, []
    for k in range(lanes):  # walk along a lane as the program does
        for s in range(len(laid.ids)):
            who, first, count = int(laid.ids[s, k]), int(laid.first[s, k]), int(laid.steps[s, k])
            if count:
                assert first == len(seen.get((k, who), [])), "a client goes on where it stopped"
                seen.setdefault((k, who), []).extend(laid.batches[s, k, :count].tolist())
            if laid.ends[s, k]:
                ended.append(who)
                assert len(seen.get((k, who), [])) == steps[who]
    assert sorted(ended) == np.flatnonzero(present).tolist()
    made = sorted(b for batches in seen.values() for b in batches)
    assert made == sorted(c * 100 + i for c in range(clients) if present[c] for i in range(steps[c]))
    busy = ((laid.steps > 0) | laid.ends).sum(axis=0)  # also who has no step takes a place, to say so
    if segment:
        longest = int(np.max(-(-steps // segment)[present], initial=1))
        assert busy.max() - busy.min() <= longest  # longest first, always to the emptiest lane


def test_plans():
    even = worlds.labelled_cohort(ClientConfig(batch=1))._replace(steps=np.full(5, 6, np.int32))
    assert plan(even, worlds.START, 1, True, 100) == Plan(5, 6)  # alike: side by side, nobody waits
    assert plan(even, worlds.START, 2, True, 100).lanes == 6  # a multiple of the devices
    assert plan(even, worlds.START, 2, True, 0).lanes == 2  # no memory: one each
    assert plan(even, worlds.START, 2, False, 100) == Plan(2, 0)
    one_large = even._replace(steps=np.array([2, 40, 3, 2, 4], np.int32))
    assert plan(one_large, worlds.START, 1, True, 100).lanes == 2  # four small ones beside the large one
    eight = even._replace(steps=np.full(5, 8, np.int32))
    assert plan(eight, worlds.START, 1, True, 100) == Plan(5, 8)  # two segments of 4 would end twice


def test_pixels_are_not_words():
    """A digit has one prediction, not one for each pixel: a client's 600 digits leave room for others beside it."""
    cnn = jax.eval_shape(mnist_cnn().init, KEY)
    digits = Labelled(np.zeros((10, 6, 600, 784), np.uint8), np.zeros((10, 6, 600), np.int32))
    ten = Cohort(
        ids=np.arange(10, dtype=np.int32),
        batches=digits,
        steps=np.full(10, 6, np.int32),
        scale=np.ones(10, np.float32),
        weight=np.ones(10, np.float32),
        present=np.ones(10, bool),
    )
    assert plan(ten, cnn, 1, True, 10_000).lanes == 10
    assert plan(ten, cnn, 1, True, 2_000).lanes == 3  # but each makes many numbers of its pixels


def test_words_are_not_pixels():
    """A cell of text is one prediction, and makes no numbers but its scores: many clients fit into a megabyte."""
    model = language_model(ModelConfig(embedding=4, hidden=4), 12)
    cells = np.zeros((8, 6, 50, 20), np.int32)
    eight = Cohort(
        ids=np.arange(8, dtype=np.int32),
        batches=Rows(cells, cells),
        steps=np.full(8, 6, np.int32),
        scale=np.ones(8, np.float32),
        weight=np.ones(8, np.float32),
        present=np.ones(8, bool),
    )
    assert (
        plan(eight, jax.eval_shape(model.init, KEY), 1, True, 1).lanes == 7
    )  # 4 · (6 · 180 + 3 · 1000 · 12) bytes


def test_memory_is_what_was_given_or_a_third_of_the_device(monkeypatch):
    class Device:
        def memory_stats(self):
            return {"bytes_limit": 3 * 2**30}

    monkeypatch.setattr(jax, "local_devices", lambda: [Device()])
    assert memory_mb(7) == 7 and memory_mb(0) == 1024
    monkeypatch.setattr(Device, "memory_stats", lambda self: None)
    assert memory_mb(0) == 2048


def test_the_judge_draws_beta_noise_by_code_of_its_own(judged, monkeypatch):
    """An error in the draw of the fast programs must not be the judge's error, too."""
    monkeypatch.setattr(trees, "noise", lambda key, a: trees.zeros_like(a))
    rule = all_rules()
    train = slow_training(worlds.LOSS, CLIENT, Sending(rule, 0.05))
    message, _, report = train(SENT, cohort(), jnp.float32(CLIENT.lr), KEY)
    for a, b in zip(jax.tree.leaves(report), jax.tree.leaves(judged[1]), strict=True):
        np.testing.assert_array_equal(a, b)
    same(rule.combine(worlds.START, message), judged[0], rtol=0, atol=0)


def test_beta_noise_has_its_size_and_is_there_before_the_scores():
    """Paper 2, equation 11: what the client sends is θ_k + β N(0, 1); norms are of the noisy update."""
    beta = 0.2
    start = {"weight": jnp.zeros((60, 50)), "bias": jnp.zeros(50)}

    say = jax.jit(
        client_reply(Sending(aggregation(AggregationConfig(rule="attentive")), beta), ClientConfig())
    )
    sent_out = Broadcast(start)
    idle = ClientState(start, (), jnp.float32(0), jnp.int32(0), jnp.int32(0))
    layers, _, report = say(sent_out, idle, jnp.float32(1), jax.random.fold_in(KEY, 0))
    bias, weight = (np.asarray(layer.values[0]) for layer in layers)  # leaves in the order of their names
    assert weight.std() == pytest.approx(beta, rel=4.5 / np.sqrt(2 * 3000))
    assert abs(weight.mean()) < 4.5 * beta / np.sqrt(3000)
    assert float(layers[1].peak) == pytest.approx(np.sqrt(np.sum(weight**2)), rel=1e-5)
    assert float(layers[0].peak) == pytest.approx(np.sqrt(np.sum(bias**2)), rel=1e-5)
    sent = np.sqrt(np.sum(weight**2) + np.sum(bias**2))
    assert float(report.norm) == pytest.approx(sent, rel=1e-5)  # the server is told no other
    again = say(sent_out, idle, jnp.float32(1), jax.random.fold_in(KEY, 1))[0]
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
    client = ClientConfig(batch=2, lr=0.5, settings={"momentum": 0.5})
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0))
    people = text_cohort(worlds.sentences(0, 3, 12, most=3, longest=4), algorithm, 0, 0)
    rule = aggregation(AggregationConfig())
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 0, 0.3)
    lr = jnp.float32(0.5)
    judged = slow_training(loss, client, Sending(rule))(Broadcast(params), people, lr, KEY)
    for executor in ("map", "vmap"):
        fast = cohort_training(loss, client, Sending(rule), executor)
        layout = Plan(len(jax.local_devices()), 0 if executor == "map" else 2)
        found = fast(Broadcast(params), lay_out(people, layout), lr, KEY)
        same(found, judged)
        assert float(trees.norm(found[0][0])) > 0.01


def test_a_batch_larger_than_anybodys_text_is_not_padded_to_its_size():
    """And is one step for everybody, as with all text in a batch."""
    sentences = [[np.array([0, 5, 6, 7, 1])] * k for k in (3, 9, 5)]
    clients = pack(sentences, ["a", "b", "c"])
    assert text_grid(clients, ClientConfig(batch=20_000)) == text_grid(clients, ClientConfig(batch=18))
    algorithm = Algorithm(
        ClientConfig(batch=20_000), AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0)
    )
    made = text_cohort(clients, algorithm, 0, 0, text_grid(clients, algorithm.client))
    assert made.steps.tolist() == [1, 1, 1]
