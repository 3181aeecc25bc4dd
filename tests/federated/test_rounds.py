"""Whole rounds: against a federation written out in numpy, and restarted anywhere."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds

import reference
from tacit.base.errors import Diverged, TacitError
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm
from tacit.federated.batching import order_of_work
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Cohort
from tacit.federated.objective import next_word_loss
from tacit.federated.rounds import federation
from tacit.federated.sampling import SamplingConfig, choose
from tacit.federated.server import ServerConfig
from tacit.federated.text_cohorts import text_cohort, text_federation
from tacit.models import ModelConfig, language_model
from tacit.text.packed import pack

V = 12
KEY = jax.random.key(0)


def identical(a, b):
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        np.testing.assert_array_equal(x, y)


def test_a_whole_run_written_out_in_numpy():
    """FedAvg with momentum on the server, schedules on both sides, half of the people, drop-outs."""
    client = ClientConfig(batch=2, lr=0.4, epochs=2, schedule="linear")
    server = ServerConfig(lr=0.8, schedule="linear", settings={"momentum": 0.5})
    sampling = SamplingConfig(clients=3, dropout=0.3)
    algorithm = Algorithm(client, AggregationConfig(), server, sampling)
    rounds = 4

    def cohort_of(t):
        chosen = choose(sampling, worlds.SIZES, 9, t)
        return worlds.labelled_cohort(client, chosen.ids, 9, t, chosen.weight, chosen.scale, chosen.present)

    trainer = federation(lambda key: worlds.START, worlds.LOSS, algorithm, cohort_of, 9, rounds)
    state = trainer.init(KEY)
    w = reference.float64(worlds.START)
    m = {k: np.zeros_like(v) for k, v in w.items()}
    for t in range(rounds):
        state, facts = trainer.round(state, t)
        cohort, decay = cohort_of(t), 1 - 0.99 * t / (rounds - 1)
        here = np.flatnonzero(cohort.present)
        ends = [reference.local_sgd(w, worlds.batches_of(cohort, c), 0.4 * decay) for c in here]
        n = worlds.SIZES[cohort.ids[here]]
        g = {k: w[k] - sum(n_k * e[k] for n_k, e in zip(n, ends, strict=True)) / n.sum() for k in w}
        m = {k: 0.5 * m[k] + g[k] for k in w}
        norms = [np.sqrt(sum(np.sum((e[k] - w[k]) ** 2) for k in w)) for e in ends]
        w = {k: w[k] - 0.8 * decay * m[k] for k in w}
        for k in w:
            np.testing.assert_allclose(state.params[k], w[k], rtol=2e-4, atol=2e-5)
        assert facts["clients"] == len(here) and facts["dropped"] == 3 - len(here)
        assert facts["steps"] == cohort.steps[here].sum()
        assert facts["words"] == 2 * n.sum()
        assert facts["update_norm"] == pytest.approx(np.mean(norms), rel=1e-3)
        assert facts["lr"] == pytest.approx(0.4 * decay)


def test_weights_by_words_make_fedsgd_the_pooled_gradient():
    """Everybody, one step over all text: the mean of the gradients by words is the gradient of the pooled text."""
    people = worlds.sentences(3, 5, V)
    model = language_model(ModelConfig(embedding=4, hidden=4), V)
    client, w = ClientConfig(batch=0, lr=1.0), model.init(KEY)
    every = [
        people.tokens[a:b] for a, b in zip(people.offsets[:-1], people.offsets[1:], strict=True)
    ]  # each alone in a row, filled up at its end
    rows = np.stack([np.pad(s, (0, people.longest + 1 - len(s)), constant_values=-1) for s in every])

    @jax.jit
    @jax.grad
    def pooled(w):
        log_p = jax.nn.log_softmax(model.apply(w, np.maximum(rows[:, :-1], 0)))
        picked = jnp.take_along_axis(log_p, np.maximum(rows[:, 1:, None], 0), axis=2)[..., 0]
        return -jnp.where(rows[:, 1:] >= 0, picked, 0).sum() / (rows[:, 1:] >= 0).sum()

    wanted = pooled(w)

    algorithm = Algorithm(
        client, AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0, weight="words")
    )
    trainer = text_federation(model.init, next_word_loss(model), algorithm, people, 0, 1)
    state, _ = trainer.round(trainer.init(KEY), 0)
    for before, after, g in zip(*map(jax.tree.leaves, (w, state.params, wanted)), strict=True):
        np.testing.assert_allclose(before - after, g, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("epochs", "most"), [(1, 0), (2, 0), (1, 2)])
def test_a_weight_by_words_counts_what_a_client_trains_on(epochs, most):
    people = worlds.sentences(3, 5, V)
    client = ClientConfig(batch=2, epochs=epochs, max_examples=most)
    sampling = SamplingConfig(fraction=1.0, weight="words")
    cohort = text_cohort(people, Algorithm(client, AggregationConfig(), ServerConfig(), sampling), 0, 0)
    lengths = [people.lengths[a:b] for a, b in zip(people.owners[:-1], people.owners[1:], strict=True)]
    words = np.array([held.sum() for held in lengths])
    if not most:
        np.testing.assert_array_equal(cohort.weight, words)
        assert np.ptp(words / people.sizes) > 0.5  # or sentences would do
    else:  # two sentences of each, not always the same ones
        fewest, largest = ([f(np.sort(held), most) for held in lengths] for f in (_first, _last))
        assert (fewest <= cohort.weight).all() and (cohort.weight <= largest).all()


def _first(lengths, n):
    return lengths[:n].sum()


def _last(lengths, n):
    return lengths[-n:].sum()


def quadratic(epochs: int, lr: float, rounds: int) -> float:
    """Paper 5, section 5.5: F₁ = (w − 1)², F₂ = 2(w − 5)², E local steps, plain averaging."""
    steep, centre = np.array([1.0, 2.0], np.float32), np.array([1.0, 5.0], np.float32)

    def loss(params, batch, key):
        return batch[0] * jnp.square(params["w"] - batch[1]), jnp.int32(1)

    batches = tuple(np.repeat(a[:, None], epochs, axis=1) for a in (steep, centre))
    ones = np.ones(2, np.float32)
    cohort = Cohort(np.arange(2, dtype=np.int32), batches, np.full(2, epochs, np.int32), ones, ones, ones > 0)
    algorithm = Algorithm(
        ClientConfig(lr=lr), AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0)
    )
    trainer = federation(lambda key: {"w": jnp.float32(0)}, loss, algorithm, lambda t: cohort, 0, rounds)
    state = trainer.init(KEY)
    for t in range(rounds):
        state, _ = trainer.round(state, t)
    return float(state.params["w"])


def test_two_clients_of_paper_5_section_5_5():
    assert quadratic(epochs=1, lr=0.05, rounds=60) == pytest.approx(11 / 3, abs=1e-3)
    assert quadratic(epochs=200, lr=0.05, rounds=2) == pytest.approx(3, abs=1e-3)
    assert 3 < quadratic(epochs=5, lr=0.05, rounds=60) < 11 / 3 - 0.02


# Text.


@pytest.fixture(scope="module")
def model():
    return language_model(ModelConfig(embedding=4, hidden=4, dropout=0.2), V)


@pytest.fixture(scope="module")
def people():
    return worlds.sentences(3, 8, V, most=4, longest=5)


ALGORITHM = Algorithm(
    ClientConfig(batch=2, lr=0.5, settings={"momentum": 0.5}, clip=1.0),
    AggregationConfig(rule="attentive", noise=0.01),
    ServerConfig(optimiser="adam", lr=0.05, schedule="cosine"),
    SamplingConfig(clients=4, dropout=0.2),
)


def sentence(packed, number):
    return tuple(packed.tokens[packed.offsets[number] : packed.offsets[number + 1]].tolist())


def test_a_cohort_of_text_holds_its_clients_sentences_in_their_order(people):
    client = ALGORITHM.client
    cohort = text_cohort(people, ALGORITHM, 5, 2)
    chosen = choose(ALGORITHM.sampling, people.sizes, 5, 2)
    np.testing.assert_array_equal(cohort.ids, chosen.ids)
    np.testing.assert_array_equal(cohort.weight, people.sizes[chosen.ids])
    schedule, steps = order_of_work(people.sizes[chosen.ids], chosen.ids, client, 5, 2)
    np.testing.assert_array_equal(cohort.steps, steps)
    for c, k in enumerate(chosen.ids):
        for i in range(steps[c]):
            wanted = sorted(sentence(people, people.owners[k] + e) for e in schedule[c, i] if e >= 0)
            found = []
            for inputs, targets in zip(
                cohort.batches.inputs[c, i], cohort.batches.targets[c, i], strict=True
            ):
                for x, y in zip(inputs.tolist(), targets.tolist(), strict=True):
                    if y >= 0:
                        found = [*found, (0,)] if x == 0 else found
                        found[-1] = (*found[-1], y)
            assert sorted(found) == wanted
        assert (cohort.batches.targets[c, steps[c] :] == -1).all()


def test_a_round_depends_on_the_state_and_its_number_only(model):
    """Run straight through; from a saved state in a fresh trainer; and back again in the same trainer."""
    loss, even = next_word_loss(model), worlds.even_sentences(3, 8, V)

    def fresh():
        return text_federation(jax.jit(model.init), loss, ALGORITHM, even, seed=1, rounds=4)

    trainer = fresh()
    states, all_facts = [trainer.init(KEY)], []
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(lambda event, _, **rest: compiled.append(event))
    for t in range(3):
        compiled.clear()
        state, facts = trainer.round(states[-1], t)
        states.append(state)
        all_facts.append(facts)
        assert any("backend_compile" in event for event in compiled) == (t == 0)  # only the first compiles
    saved = jax.tree.map(np.asarray, states[2])  # as a checkpoint gives it back
    resumed, facts = fresh().round(jax.tree.map(jnp.asarray, saved), 2)
    identical(resumed, states[3])
    assert facts == all_facts[2]
    back, facts = trainer.round(states[1], 1)  # round 3 was fetched ahead: it must not be used
    identical(back, states[2])
    assert facts == all_facts[1]
    assert not np.array_equal(states[3].params["embedding"], states[2].params["embedding"])


def test_nobody_reported_nothing_changes(people, model):
    algorithm = ALGORITHM._replace(sampling=SamplingConfig(clients=1, dropout=0.99))
    trainer = text_federation(model.init, next_word_loss(model), algorithm, people, seed=1, rounds=3)
    t = next(t for t in range(100) if not choose(algorithm.sampling, people.sizes, 1, t).present.any())
    state = trainer.init(KEY)
    after, facts = trainer.round(state, t)
    identical(after, state)
    assert facts["clients"] == 0 and facts["dropped"] == 1
    assert {"loss", "clients", "dropped", "steps", "words", "update_norm", "lr"} == set(facts)


def test_numbers_that_are_not_finite_stop_the_run_with_advice():
    algorithm = Algorithm(
        ClientConfig(batch=2, lr=1e38, epochs=3),
        AggregationConfig(),
        ServerConfig(),
        SamplingConfig(fraction=1.0),
    )
    trainer = federation(
        lambda key: worlds.START,
        worlds.LOSS,
        algorithm,
        lambda t: worlds.labelled_cohort(algorithm.client),
        0,
        3,
    )
    with pytest.raises(Diverged, match=r"round 1: .*not finite; lower client\.lr \(1e\+38\)"):
        trainer.round(trainer.init(KEY), 0)


def test_a_cohort_larger_than_the_population_is_refused_at_once(people, model):
    algorithm = ALGORITHM._replace(sampling=SamplingConfig(clients=9))
    with pytest.raises(TacitError, match="population of 8"):
        text_federation(model.init, next_word_loss(model), algorithm, people, seed=1, rounds=3)


def test_people_who_hold_no_text_can_be_chosen():
    text = pack([[], [np.array([0, 3, 4, 1])], []], ["a", "b", "c"])
    cohort = text_cohort(text, ALGORITHM._replace(sampling=SamplingConfig(fraction=1.0)), 0, 0)
    assert cohort.steps.tolist() == [0, 1, 0]
    pair = ALGORITHM._replace(sampling=SamplingConfig(clients=2))
    t = next(t for t in range(50) if choose(pair.sampling, text.sizes, 0, t).ids.tolist() == [0, 2])
    empty = text_cohort(text, pair, 0, t)  # nobody of the cohort holds any
    assert empty.steps.tolist() == [0, 0]
    assert (empty.batches.targets == -1).all()


@pytest.mark.parametrize(("executor", "lanes_mb"), [("vmap", 0), ("vmap", 1), ("slow", 0)])
def test_executors_and_memory_give_the_same_round(executor, lanes_mb):
    client = ClientConfig(batch=2, lr=0.4)
    algorithm = Algorithm(
        client, AggregationConfig(rule="attentive"), ServerConfig(lr=1.2), SamplingConfig(fraction=1.0)
    )
    found = []
    for how, memory in (("map", 0), (executor, lanes_mb)):
        trainer = federation(
            lambda key: worlds.START,
            worlds.LOSS,
            algorithm,
            lambda t: worlds.labelled_cohort(client),
            0,
            1,
            how,
            memory,
        )
        found.append(trainer.round(trainer.init(KEY), 0))
    (a, facts), (b, others) = found
    for x, y in zip(jax.tree.leaves(a.params), jax.tree.leaves(b.params), strict=True):
        np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5)
    assert facts == pytest.approx(others, rel=1e-4)
