"""Federated classifiers against plain numpy: batches, paces, ridge, schemes, judges."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import reference
from tacit.base.errors import Diverged, TacitError
from tacit.experiments.convexity import cross_entropy, optimum, solve
from tacit.experiments.data import Points
from tacit.experiments.labelled import cohort, first_at, follow, judge, train
from tacit.experiments.synthetic import Devices
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.algorithm import Algorithm, Trainer
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig, choose
from tacit.federated.server import ServerConfig
from tacit.models.images import logistic_regression
from tacit.text.partition import Partition

FEATURES, CLASSES = 4, 3
MODEL = logistic_regression(FEATURES, CLASSES)


@pytest.fixture(scope="module")
def devices():
    draw = np.random.default_rng(2)
    sizes = np.array([5, 9, 3, 12])
    x = draw.normal(size=(sizes.sum(), FEATURES)).astype(np.float32)
    y = draw.integers(0, CLASSES, sizes.sum()).astype(np.int32)
    order = draw.permutation(sizes.sum())
    return Devices(Points(x, y), Partition(order, np.concatenate([[0], np.cumsum(sizes)])))


def algorithm(
    batch: int, scheme: str = "uniform", clients: int = 3, epochs: int = 1, lr: float = 0.5
) -> Algorithm:
    return Algorithm(
        ClientConfig(lr=lr, batch=batch, epochs=epochs),
        AggregationConfig(),
        ServerConfig(),
        SamplingConfig(clients=clients, scheme=scheme),
    )


@pytest.mark.parametrize(("steps", "batch"), [(0, 4), (0, 0), (6, 4), (2, 0)])
def test_batches_are_the_clients_own_points(devices, steps, batch):
    made = cohort(devices, algorithm(batch, epochs=2), 7, 3, steps)
    for c, k in enumerate(made.ids):
        mine = {tuple(devices.points.x[i]): devices.points.y[i] for i in devices.held.client(int(k))}
        visited = []
        for s in range(made.steps[c]):
            real = made.batches.y[c, s] >= 0
            for x, y in zip(made.batches.x[c, s][real], made.batches.y[c, s][real], strict=True):
                assert mine[tuple(x)] == y
                visited.append(tuple(x))
        if steps == 0:  # two epochs: everything twice
            assert sorted(visited) == sorted([*mine, *mine])
        elif batch == 0:
            assert sorted(visited) == sorted([*mine] * steps)
        else:
            assert len(visited) == steps * batch


def test_points_are_drawn_anew_by_round_and_seed(devices):
    how = algorithm(4, clients=4)
    drawn = [cohort(devices, how, seed, t, 6).batches.x for seed, t in ((7, 0), (7, 0), (7, 1), (8, 0))]
    np.testing.assert_array_equal(drawn[0], drawn[1])
    assert not np.array_equal(drawn[0], drawn[2]) and not np.array_equal(drawn[0], drawn[3])


def test_paced_steps_with_ridge_written_out_in_numpy(devices):
    """Three rounds of FedAvg with replacement, a rate that falls within a round, and a ridge."""
    ridge, steps, how = 0.1, 5, algorithm(4)

    def pace(t, step):
        return 1 / (1 + t * steps + step)

    trainer = train(MODEL, how, devices, 1, 3, steps, pace, ridge)
    state = trainer.init(jax.random.key(0))
    w = {"weight": np.zeros((FEATURES, CLASSES)), "bias": np.zeros(CLASSES)}
    for t in range(3):
        state, _ = trainer.round(state, t)
        made = cohort(devices, how, 1, t, steps, pace)
        ends, weights = [], devices.sizes[made.ids]
        for c in range(len(made.ids)):
            v = {k: a.copy() for k, a in w.items()}
            for s in range(steps):
                g = reference.logistic_gradient(v, made.batches.x[c, s].astype(float), made.batches.y[c, s])
                v = {k: v[k] - 0.5 / (1 + t * steps + s) * (g[k] + ridge * v[k]) for k in v}
            ends.append(v)
        w = {k: sum(n * e[k] for n, e in zip(weights, ends, strict=True)) / weights.sum() for k in w}
        for k in w:
            np.testing.assert_allclose(state.params[k], w[k], rtol=1e-4, atol=1e-5)


def test_transformed_scheme_ii_scales_the_objective(devices):
    made = cohort(devices, algorithm(4, "transformed-II"), 0, 0, 2)
    chosen = choose(SamplingConfig(clients=3, scheme="transformed-II"), devices.sizes, 0, 0)
    share = devices.sizes / devices.sizes.sum()
    np.testing.assert_allclose(made.scale, 4 * share[chosen.ids], rtol=1e-6)


def test_a_judge_sees_every_point_once(devices):
    draw = np.random.default_rng(0)
    w = {"weight": draw.normal(size=(FEATURES, CLASSES)), "bias": draw.normal(size=CLASSES)}
    loss, accuracy = judge(MODEL, devices.points)(jax.tree.map(np.float32, w))
    x, y = devices.points.x.astype(float), devices.points.y
    assert loss == pytest.approx(reference.logistic_loss(w, x, y), rel=1e-5)
    assert accuracy == np.mean(np.argmax(x @ w["weight"] + w["bias"], 1) == y)


def test_pixels_are_bytes_over_255():
    x = np.array([[0, 255], [51, 102]], np.uint8)
    model = logistic_regression(2, 2)
    w = {"weight": np.array([[1.0, 0.0], [0.0, 1.0]], np.float32), "bias": np.zeros(2, np.float32)}
    loss, _ = judge(model, Points(x, np.array([0, 1], np.int32)))(w)
    assert loss == pytest.approx(reference.logistic_loss(w, x / 255, np.array([0, 1])), rel=1e-5)


def test_following_ends_when_enough_is_seen_or_numbers_go_wrong():
    def rounds(fails_at, why=Diverged, said="round 3: training gave numbers that are not finite; …"):
        def round_(state, t):
            if t == fails_at:
                raise why(said)
            return state._replace(params=state.params + 1), {}

        return Trainer(lambda key: State(0), round_)

    from typing import NamedTuple

    class State(NamedTuple):
        params: int

    run = follow(rounds(9), 0, 5, lambda p: p, lambda seen: seen >= 3)
    assert run.seen == [0, 1, 2, 3] and not run.diverged
    run = follow(rounds(2), 0, 5, lambda p: p)
    assert run.seen == [0, 1, 2] and run.diverged
    assert follow(rounds(9), 0, 5, lambda p: p, every=2).seen == [0, 2, 4]
    for other in ("there is no room", "last.safetensors: holds values that are not finite"):
        with pytest.raises(TacitError, match=other):  # another failure is no divergence
            follow(rounds(2, TacitError, other), 0, 5, lambda p: p)


def test_the_first_round_at_a_target():
    assert first_at([0.2, 0.99, 0.5], 0.99, rising=True) == 1
    assert first_at([3.0, 2.0], 1.0, rising=False) is None


def test_the_solver_finds_where_the_gradient_ends(devices):
    x, y = devices.points.x.astype(float), devices.points.y
    best, where = solve(x, y, 0.1, CLASSES)
    w = where.reshape(FEATURES + 1, CLASSES)
    params = {"weight": w[:-1], "bias": w[-1]}
    g = reference.logistic_gradient(params, x, y)
    assert np.abs(g["weight"] + 0.1 * w[:-1]).max() < 1e-5
    assert best == pytest.approx(reference.logistic_loss(params, x, y) + 0.05 * np.sum(w**2))
    value, slope = cross_entropy(where + 0.3, x, y, 0.1, CLASSES)
    for i in (0, 7, 14):
        e = np.zeros_like(where)
        e[i] = 1e-6
        up = cross_entropy(where + 0.3 + e, x, y, 0.1, CLASSES)[0]
        assert (up - value) / 1e-6 == pytest.approx(slope[i], abs=1e-4)
    found = optimum(devices, 0.1, CLASSES)
    own = [solve(x[devices.held.client(k)], y[devices.held.client(k)], 0.1, CLASSES)[0] for k in range(4)]
    assert found.gamma == pytest.approx(best - np.dot(devices.sizes / devices.sizes.sum(), own))
    assert found.value(params) == pytest.approx(best)
