"""What a client does: the order of its work, and local SGD against plain loops with gradients by hand."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import worlds
from hypothesis import given
from hypothesis import strategies as st

import reference
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.batching import order_of_work
from tacit.federated.client_config import ClientConfig
from tacit.federated.local import Broadcast, Sending, local_training
from tacit.federated.slow import slow_training

SENT = Broadcast(worlds.START)
CONFIGS = {
    "plain": ClientConfig(batch=2, lr=0.3),
    "epochs": ClientConfig(batch=3, lr=0.3, epochs=3),
    "momentum": ClientConfig(batch=2, lr=0.2, epochs=2, settings={"momentum": 0.7}),
    "clip": ClientConfig(batch=2, lr=0.3, epochs=2, clip=0.3),
    "prox": ClientConfig(batch=2, lr=0.3, epochs=2, prox=0.8),
    "everything": ClientConfig(
        batch=2, lr=0.3, epochs=2, settings={"momentum": 0.5}, clip=0.5, prox=0.5, max_examples=3
    ),
    "full batch": ClientConfig(batch=0, lr=0.5),
    "stragglers": ClientConfig(batch=1, lr=0.3, epochs=2, stragglers=0.8),
}


def by_hand(client: ClientConfig, cohort, c: int):
    options = (
        client.lr,
        client.settings.get("momentum", 0.0),
        client.clip,
        client.prox,
        float(cohort.scale[c]),
    )
    return reference.local_sgd(worlds.START, worlds.batches_of(cohort, c), *options)


def trained_alone(client: ClientConfig, cohort, c: int):
    """Client c's training, step by step."""
    begin, step = local_training(worlds.LOSS, client)
    step, now = jax.jit(step), begin(SENT)
    for i in range(int(cohort.steps[c])):
        batch = jax.tree.map(lambda a, i=i: a[c, i], cohort.batches)
        now = step(SENT, now, batch, cohort.scale[c], client.lr, jax.random.key(i))
    return now


@pytest.mark.parametrize("name", CONFIGS)
def test_local_sgd_by_hand(name):
    client = CONFIGS[name]
    cohort = worlds.labelled_cohort(client, t=1, scale=[1, 0.5, 2, 1, 1.5])
    expected = [by_hand(client, cohort, c) for c in range(5)]
    if name == "clip":  # the clip must bite somewhere, or it is not tested
        loose = [by_hand(ClientConfig(batch=2, lr=0.3, epochs=2), cohort, c) for c in range(5)]
        assert any(
            np.abs(a["weight"] - b["weight"]).max() > 0.01 for a, b in zip(expected, loose, strict=True)
        )
    for c in range(5):
        trained = trained_alone(client, cohort, c)
        for k in worlds.START:
            np.testing.assert_allclose(trained.w[k], expected[c][k], rtol=1e-4, atol=1e-5)
        batches = worlds.batches_of(cohort, c)
        assert int(trained.steps) == len(batches)
        assert int(trained.words) == sum(len(y) for _, y in batches)


@pytest.mark.parametrize("name", ["everything", "stragglers"])
def test_the_slow_judge_by_hand(name):
    client = CONFIGS[name]
    cohort = worlds.labelled_cohort(
        client, t=1, scale=[1, 0.5, 2, 1, 1.5], present=[True, False, True, True, True]
    )
    slow = slow_training(worlds.LOSS, client, Sending(aggregation(AggregationConfig())))
    (summed, weight), _, report = slow(SENT, cohort, jnp.float32(client.lr), jax.random.key(0))
    here = [0, 2, 3, 4]
    for k in worlds.START:
        expected = sum(worlds.SIZES[c] * (by_hand(client, cohort, c)[k] - worlds.START[k]) for c in here)
        np.testing.assert_allclose(summed[k], expected, rtol=1e-4, atol=1e-5)
    assert float(weight) == worlds.SIZES[here].sum()
    assert int(report.clients) == 4
    assert int(report.steps) == cohort.steps[here].sum()


def test_the_reported_loss_is_the_sum_of_batch_losses():
    client = CONFIGS["plain"]
    cohort = worlds.labelled_cohort(
        client, scale=[1, 0.5, 2, 1, 1.5]
    )  # a factor on the steps, not on the report
    w, expected = reference.float64(worlds.START), 0.0
    for x, y in worlds.batches_of(cohort, 1):
        expected += reference.logistic_loss(w, x, y)
        w = reference.local_sgd(w, [(x, y)], client.lr, scale=0.5)
    assert float(trained_alone(client, cohort, 1).loss) == pytest.approx(expected, rel=1e-5)


def test_fedsgd_is_one_step_of_central_gradient_descent():
    """Full batch, one step, everybody: w − η Σ (n_k/n) ∇F_k = w − η ∇F (paper 5, equations 4 and 6)."""
    client = ClientConfig(batch=0, lr=0.7)
    slow = slow_training(worlds.LOSS, client, Sending(rule := aggregation(AggregationConfig())))
    message, _, _ = slow(SENT, worlds.labelled_cohort(client), jnp.float32(0.7), jax.random.key(0))
    g = rule.combine(worlds.START, message)
    pooled = reference.logistic_gradient(
        reference.float64(worlds.START), np.concatenate(worlds.X).astype(np.float64), np.concatenate(worlds.Y)
    )
    for k in worlds.START:
        np.testing.assert_allclose(g[k], 0.7 * pooled[k], rtol=1e-4, atol=1e-6)


def test_a_clipped_step_of_transformed_two_is_that_of_scheme_two():
    """Table 4: the mean of N p_k clip(∇F_k) is Σ p_k N/K clip(∇F_k); clipping must not undo N p_k."""
    client, ids = ClientConfig(batch=0, lr=0.5, clip=0.2), [0, 1, 3]
    n_p = len(worlds.SIZES) * worlds.SIZES[ids] / worlds.SIZES.sum()
    cohort = worlds.labelled_cohort(client, ids, weight=[1, 1, 1], scale=n_p)
    slow = slow_training(worlds.LOSS, client, Sending(rule := aggregation(AggregationConfig())))
    message, _, _ = slow(SENT, cohort, jnp.float32(0.5), jax.random.key(0))
    g = rule.combine(worlds.START, message)
    expected, plain = ({k: np.zeros_like(w) for k, w in worlds.START.items()} for _ in range(2))
    for c, k in enumerate(ids):
        by_layer = reference.logistic_gradient(
            reference.float64(worlds.START), worlds.X[k].astype(np.float64), worlds.Y[k]
        )
        norm = np.sqrt(sum(np.sum(a**2) for a in by_layer.values()))
        assert norm > client.clip  # clipped, or nothing is tested
        for name, a in by_layer.items():
            expected[name] = expected[name] + n_p[c] / len(ids) * client.lr * a * client.clip / norm
            plain[name] = plain[name] + 1 / len(ids) * client.lr * a * client.clip / norm
    for name in worlds.START:
        np.testing.assert_allclose(g[name], expected[name], rtol=1e-4, atol=1e-6)
    assert np.abs(expected["weight"] - plain["weight"]).max() > 0.005  # and it is not the plain mean


# The order of work.

sizes_strategy = st.lists(st.integers(0, 9), min_size=1, max_size=6)


@given(sizes_strategy, st.integers(0, 4), st.integers(1, 3), st.integers(0, 6), st.integers(0, 3))
def test_every_example_exactly_once_an_epoch(sizes, batch, epochs, most, t):
    client = ClientConfig(batch=batch, epochs=epochs, max_examples=most)
    ids = np.arange(len(sizes)) * 7
    schedule, steps = order_of_work(np.array(sizes), ids, client, 3, t)
    assert schedule.shape[0] == len(sizes) and steps.dtype == np.int32
    for c, size in enumerate(sizes):
        used = min(size, most) if most else size
        width = batch or max(1, used)
        per_epoch = -(-used // width)
        assert steps[c] == epochs * per_epoch
        assert (schedule[c, steps[c] :] == -1).all()
        seen = []
        for epoch in range(epochs):
            rows = schedule[c, epoch * per_epoch : (epoch + 1) * per_epoch]
            examples = rows[rows >= 0].tolist()
            assert len(examples) == len(set(examples)) == used  # nobody twice
            assert all(0 <= e < size for e in examples)
            assert all((row >= 0).sum() == width for row in rows[:-1])  # only the last batch is short
            seen.append(set(examples))
        assert all(s == seen[0] for s in seen)  # one subset for all epochs of a round


@given(sizes_strategy, st.integers(0, 4), st.integers(0, 6), st.floats(0, 1))
def test_a_client_works_the_same_alone_and_in_a_crowd(sizes, batch, most, stragglers):
    client = ClientConfig(batch=batch, epochs=2, max_examples=most, stragglers=stragglers)
    ids = np.arange(len(sizes)) * 3 + 1
    schedule, steps = order_of_work(np.array(sizes), ids, client, 3, 5)
    for c, size in enumerate(sizes):
        alone, one = order_of_work(np.array([size]), ids[c : c + 1], client, 3, 5)
        assert one[0] == steps[c]
        for i in range(steps[c]):
            assert schedule[c, i][schedule[c, i] >= 0].tolist() == alone[0, i][alone[0, i] >= 0].tolist()


def test_rounds_epochs_clients_and_seeds_shuffle_differently():
    client = ClientConfig(batch=20, epochs=2)

    def order(seed=0, t=0, who=0, epoch=0):
        return order_of_work(np.array([20]), np.array([who]), client, seed, t)[0][0, epoch].tolist()

    assert order() == order()
    others = [order(seed=1), order(t=1), order(who=1), order(epoch=1)]
    assert all(sorted(o) == list(range(20)) for o in others)
    assert len({tuple(o) for o in [order(), *others]}) == 5


def test_max_examples_draws_anew_each_round_and_fairly():
    client = ClientConfig(batch=5, max_examples=5)
    rounds = 2000
    times = np.zeros(20)
    for t in range(rounds):
        schedule, _ = order_of_work(np.array([20]), np.array([4]), client, 0, t)
        times[schedule[0, 0]] += 1
    error = np.sqrt(0.25 * 0.75 / rounds)
    assert np.abs(times / rounds - 0.25).max() < 4.5 * error


def test_stragglers_do_part_of_their_steps_and_the_right_share_of_people_straggles():
    people = np.arange(4000)
    client = ClientConfig(batch=1, epochs=2, stragglers=0.4)
    _, steps = order_of_work(np.full(4000, 10), people, client, 0, 0)
    assert steps.min() >= 0 and steps.max() == 20
    # a straggler's share is uniform and rounded up, so one in twenty of them still does everything
    assert abs(np.mean(steps < 20) - 0.4 * 0.95) < 4.5 * np.sqrt(0.24 / 4000)
    assert abs(steps[steps < 20].mean() - 10) < 0.7
    _, later = order_of_work(np.full(4000, 10), people, client, 0, 1)
    assert np.mean((later < 20) == (steps < 20)) < 0.6  # not the same people every round
    _, everything = order_of_work(np.full(50, 10), people[:50], ClientConfig(batch=1, epochs=2), 0, 0)
    assert (everything == 20).all()
