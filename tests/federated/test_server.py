"""Server optimisers: by formula, by optax, and beside Flower's strategies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flwr.common import Code, FitRes, Status, ndarrays_to_parameters, parameters_to_ndarrays
from flwr.server import strategy as flower

from tacit.federated.algorithm import ServerState, apply
from tacit.federated.server import ServerConfig, server_optimiser

START = {"a": np.array([[1.0, -2.0], [0.5, 3.0]], np.float32), "b": np.array([0.3, -0.7, 1.1], np.float32)}
ROUNDS = 4


def pseudo_gradients():
    rng = np.random.default_rng(0)
    return [
        {k: rng.normal(0, 0.3, v.shape).astype(np.float32) for k, v in START.items()} for _ in range(ROUNDS)
    ]


def run(config: ServerConfig, gradients, factors=None):
    optimiser = server_optimiser(config)
    state = ServerState(START, optimiser.init(START))
    path = []
    for t, g in enumerate(gradients):
        state = apply(optimiser, state, g, jnp.float32(1 if factors is None else factors[t]))
        path.append(state.params)
    return path


def close(path, expected, rtol=2e-5, atol=1e-6):
    for found, wanted in zip(path, expected, strict=True):
        for k in START:
            np.testing.assert_allclose(found[k], wanted[k], rtol=rtol, atol=atol)


def test_plain_sgd_of_one_is_federated_averaging():
    gradients = pseudo_gradients()
    w, expected = START, []
    for g in gradients:
        w = {k: w[k] - g[k] for k in w}
        expected.append(w)
    close(run(ServerConfig(), gradients), expected)


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_by_formula(nesterov):
    beta, lr, gradients = 0.9, 0.5, pseudo_gradients()
    factors = [1.0, 0.5, 0.25, 0.1]
    w, m, expected = START, {k: np.zeros_like(v) for k, v in START.items()}, []
    for g, factor in zip(gradients, factors, strict=True):
        m = {k: beta * m[k] + g[k] for k in m}
        step = {k: g[k] + beta * m[k] if nesterov else m[k] for k in m}
        w = {k: w[k] - lr * factor * step[k] for k in w}
        expected.append(w)
    close(
        run(ServerConfig(lr=lr, settings={"momentum": beta, "nesterov": nesterov}), gradients, factors),
        expected,
    )


def test_adam_by_formula():
    b1, b2, tau, lr, gradients = 0.8, 0.95, 1e-3, 0.02, pseudo_gradients()
    w, expected = START, []
    m = v = {k: np.zeros_like(x) for k, x in START.items()}
    for t, g in enumerate(gradients, 1):
        m = {k: b1 * m[k] + (1 - b1) * g[k] for k in m}
        v = {k: b2 * v[k] + (1 - b2) * g[k] ** 2 for k in v}
        w = {k: w[k] - lr * (m[k] / (1 - b1**t)) / (np.sqrt(v[k] / (1 - b2**t)) + tau) for k in w}
        expected.append(w)
    config = ServerConfig(optimiser="adam", lr=lr, settings={"beta1": b1, "beta2": b2, "tau": tau})
    close(run(config, gradients), expected)


def test_adagrad_by_formula():
    tau, lr, gradients = 1e-2, 0.1, pseudo_gradients()
    w, expected = START, []
    v = {k: np.zeros_like(x) for k, x in START.items()}
    for g in gradients:
        v = {k: v[k] + g[k] ** 2 for k in v}
        w = {k: w[k] - lr * g[k] / np.sqrt(v[k] + tau**2) for k in w}
        expected.append(w)
    close(run(ServerConfig(optimiser="adagrad", lr=lr, settings={"tau": tau}), gradients), expected)


@pytest.mark.parametrize("name", ["adam", "yogi", "adagrad"])
def test_algorithm_2_of_reddi_et_al_number_by_number(name):
    """v₋₁ = τ², m₋₁ = 0, no correction of a bias, τ outside the root; τ is as large as g, so that it shows."""
    b1, b2, tau, lr, gradients = 0.8, 0.95, 0.3, 0.02, pseudo_gradients()
    expected, w = [], {k: x.astype(np.float64) for k, x in START.items()}
    m, v = ({k: np.full(x.shape, first) for k, x in START.items()} for first in (0.0, tau**2))
    for g in gradients:
        w = {k: x.copy() for k, x in w.items()}
        for k in w:
            for i in np.ndindex(w[k].shape):
                delta = -float(g[k][i])  # their Δ_t: the mean update, to which the model moves
                beta1 = 0.0 if name == "adagrad" else b1  # as in their experiments
                m[k][i] = beta1 * m[k][i] + (1 - beta1) * delta
                if name == "adagrad":
                    v[k][i] += delta**2
                elif name == "adam":
                    v[k][i] = b2 * v[k][i] + (1 - b2) * delta**2
                elif v[k][i] > delta**2:
                    v[k][i] -= (1 - b2) * delta**2
                else:
                    v[k][i] += (1 - b2) * delta**2
                w[k][i] += lr * m[k][i] / (v[k][i] ** 0.5 + tau)
        expected.append(w)
    decays = {} if name == "adagrad" else {"beta1": b1, "beta2": b2}
    settings = decays | {"tau": tau}
    close(run(ServerConfig(name, lr, settings=settings | {"form": "reddi"}), gradients), expected)
    usual = run(ServerConfig(name, lr, settings=settings), gradients)  # the other form steps further at first
    length, theirs = (sum(np.abs(p[k] - START[k]).sum() for k in START) for p in (usual[0], expected[0]))
    assert length > 1.5 * theirs


@pytest.mark.parametrize(
    ("config", "by_hand"),
    [
        (
            ServerConfig(optimiser="adam", lr=0.1, settings={"beta1": 0.7}),
            optax.adam(0.1, b1=0.7, b2=0.99, eps=1e-3),
        ),
        (
            ServerConfig(optimiser="yogi", lr=0.1, settings={"tau": 1e-2}),
            optax.chain(
                optax.scale_by_yogi(0.9, 0.99, 1e-2, initial_accumulator_value=0.0), optax.scale(-0.1)
            ),
        ),
        (
            ServerConfig(lr=0.1, settings={"momentum": 0.9, "nesterov": True}),
            optax.sgd(0.1, momentum=0.9, nesterov=True),
        ),
    ],
    ids=lambda x: getattr(x, "optimiser", ""),
)
def test_optax_by_hand(config, by_hand):
    gradients = pseudo_gradients()
    w, state, expected = START, by_hand.init(START), []
    for g in gradients:
        step, state = by_hand.update(g, state, w)
        w = optax.apply_updates(w, step)
        expected.append(w)
    close(run(config, gradients), expected)


def flowers(strategy, gradients, first_round, eta=None):
    """The models Flower makes when its only client ends a round at w_t − g."""
    w, path = [START[k] for k in START], []
    for t, g in enumerate(gradients):
        if eta is not None:
            strategy.eta = eta(t + 1)
        client = ndarrays_to_parameters([x - g[k] for x, k in zip(w, START, strict=True)])
        result = FitRes(Status(Code.OK, ""), client, num_examples=1, metrics={})
        parameters, _ = strategy.aggregate_fit(first_round + t, [(None, result)], [])
        w = parameters_to_ndarrays(parameters)
        path.append(dict(zip(START, w, strict=True)))
    return path


def first_parameters():
    return ndarrays_to_parameters(list(START.values()))


def test_fedadam_is_flowers_where_tau_vanishes():
    # Flower adds τ to the root before the bias is corrected, optax after: they meet at τ → 0. Flower's
    # correction takes round + 1, so its round 0 is the first.
    gradients = pseudo_gradients()
    theirs = flower.FedAdam(
        initial_parameters=first_parameters(), eta=0.02, beta_1=0.9, beta_2=0.99, tau=1e-9
    )
    mine = run(ServerConfig(optimiser="adam", lr=0.02, settings={"tau": 1e-9}), gradients)
    close(mine, flowers(theirs, gradients, 0), rtol=1e-4, atol=1e-5)


def test_fedyogi_is_flowers_but_for_the_bias():
    # Flower's FedYogi does not correct the bias of its moments, ours does: the correction goes on Flower's rate.
    gradients = pseudo_gradients()
    theirs = flower.FedYogi(
        initial_parameters=first_parameters(), eta=0.02, beta_1=0.9, beta_2=0.99, tau=1e-9
    )
    path = flowers(theirs, gradients, 1, lambda t: 0.02 * np.sqrt(1 - 0.99**t) / (1 - 0.9**t))
    close(
        run(ServerConfig(optimiser="yogi", lr=0.02, settings={"tau": 1e-9}), gradients),
        path,
        rtol=1e-4,
        atol=1e-6,
    )


def test_fedadagrad_is_flowers_where_tau_vanishes():
    gradients = pseudo_gradients()
    theirs = flower.FedAdagrad(initial_parameters=first_parameters(), eta=0.1, tau=1e-9)
    close(
        run(ServerConfig(optimiser="adagrad", lr=0.1, settings={"tau": 1e-9}), gradients),
        flowers(theirs, gradients, 1),
        rtol=1e-4,
    )


@pytest.mark.parametrize("name", ["sgd", "adam", "yogi", "adagrad"])
def test_every_optimiser_descends(name):
    """Paper 5's Algorithm 3 subtracts the averaged update, which would climb."""
    centre = {k: np.ones_like(v) for k, v in START.items()}
    config = ServerConfig(optimiser=name, lr=0.1 if name != "adagrad" else 0.5)
    optimiser = server_optimiser(config)
    state = ServerState(START, optimiser.init(START))

    def height(w):
        return sum(float(np.sum((w[k] - centre[k]) ** 2)) for k in w)

    for _ in range(30):  # a client that goes half the way down the bowl |w − 1|²
        g = {k: 0.5 * (state.params[k] - centre[k]) for k in START}
        state = apply(optimiser, state, g, jnp.float32(1))
    assert height(state.params) < 0.3 * height(START)


def test_a_gradient_of_zero_moves_nothing():
    zero = jax.tree.map(np.zeros_like, START)
    for name in ("sgd", "adam", "yogi", "adagrad"):
        for found in run(ServerConfig(optimiser=name), [zero]):
            for k in START:
                np.testing.assert_array_equal(found[k], START[k])
