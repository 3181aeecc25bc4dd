"""Client optimisers against loops in numpy and against optax, and the moments that travel."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import worlds

from commands import TINY
from tacit import runs
from tacit.base.errors import TacitError
from tacit.federated import plugins
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import check_carry, client_optimiser, first_moments
from tacit.federated.executors import cohort_training
from tacit.federated.lanes import Plan, lay_out
from tacit.federated.local import Broadcast, Cohort, Sending, carried_mean, local_training
from tacit.federated.rounds import federation
from tacit.federated.sampling import SamplingConfig
from tacit.federated.server import ServerConfig
from tacit.federated.slow import slow_training
from tacit.runs.config import resolve

KEY = jax.random.key(3)
BETA1, BETA2, EPS = 0.5, 0.9, 1e-3
ADAM = ClientConfig(
    batch=2,
    lr=0.1,
    epochs=2,
    optimiser="adam",
    decay=0.05,
    settings={"beta1": BETA1, "beta2": BETA2, "eps": EPS},
)
NO_M = {"beta1": 0.0, "beta2": BETA2, "eps": EPS}
CLIENTS = {
    "fresh": ADAM,
    "both": dataclasses.replace(ADAM, carry="m,v"),
    "second": dataclasses.replace(ADAM, carry="v"),
    "no first": dataclasses.replace(ADAM, carry="v", settings=NO_M),
    "factored": dataclasses.replace(ADAM, carry="v", carry_form="factored", settings=NO_M),
    "momentum": ClientConfig(batch=2, lr=0.1, carry="m", settings={"momentum": 0.7}),
    "lion": ClientConfig(batch=2, lr=0.01, optimiser="lion", carry="m"),
    "adagrad": ClientConfig(batch=2, lr=0.1, optimiser="adagrad", carry="v"),
    "yogi": ClientConfig(batch=2, lr=0.1, optimiser="yogi", carry="m,v"),
}


def gradient(w, x, y):
    """Of the mean cross-entropy of a logistic regression, by hand."""
    scores = x @ w["weight"] + w["bias"]
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    p[np.arange(len(y)), y] -= 1
    return {"bias": p.mean(axis=0), "weight": x.T @ p / len(y)}


def adam_round(w_t, m_t, v_t, steps_t, cohort: Cohort, lr: float):
    """A round of FedAvg whose clients begin with the server's m, v and count of steps: plain loops over clients."""
    total = float(np.sum(cohort.weight))
    parts = []
    for c in range(len(cohort.ids)):
        w, m, v = ({k: a.copy() for k, a in tree.items()} for tree in (w_t, m_t, v_t))
        steps = steps_t
        for x, y in worlds.batches_of(cohort, c):
            g, steps = gradient(w, x, y), steps + 1
            for k in w:
                m[k] = BETA1 * m[k] + (1 - BETA1) * g[k]
                v[k] = BETA2 * v[k] + (1 - BETA2) * g[k] ** 2
                u = (m[k] / (1 - BETA1**steps)) / (np.sqrt(v[k] / (1 - BETA2**steps)) + EPS)
                w[k] = w[k] - lr * (u + ADAM.decay * w[k])
        parts.append((float(cohort.weight[c]) / total, w, m, v, steps))
    means = [{k: sum(p[0] * p[i][k] for p in parts) for k in w_t} for i in (1, 2, 3)]
    return *means, sum(p[0] * p[4] for p in parts)


def test_carried_moments_are_those_of_a_loop_over_clients():
    """Three rounds of Adam whose moments travel, with clients of one to fourteen steps."""
    client = CLIENTS["both"]
    algorithm = Algorithm(client, AggregationConfig(), ServerConfig(), SamplingConfig(fraction=1.0))
    trainer = federation(
        lambda key: jax.tree.map(jnp.asarray, worlds.START),
        worlds.LOSS,
        algorithm,
        lambda t: worlds.labelled_cohort(client, t=t),
        seed=0,
        rounds=3,
    )
    state = trainer.init(KEY)
    w = {k: a.astype(np.float64) for k, a in worlds.START.items()}
    m, v = ({k: np.zeros_like(a) for k, a in w.items()} for _ in range(2))
    steps = 0.0
    for t in range(3):
        state, _ = trainer.round(state, t)
        w, m, v, steps = adam_round(w, m, v, steps, worlds.labelled_cohort(client, t=t), client.lr)
    for k in w:
        np.testing.assert_allclose(state.params[k], w[k], rtol=2e-5, atol=2e-6)
    expected = [m["bias"], m["weight"], v["bias"], v["weight"], steps, steps]
    for sent, by_hand in zip(state.carried, expected, strict=True):
        np.testing.assert_allclose(sent, by_hand, rtol=2e-5, atol=2e-7)


@pytest.mark.parametrize("rule", ["mean", "attentive", "attentive-loss"])
@pytest.mark.parametrize("name", CLIENTS)
def test_fast_is_slow(name, rule):
    """A second round, so that moments have arrived; every rule takes them along."""
    client = CLIENTS[name]
    if rule != "mean" and name not in ("both", "factored"):
        pytest.skip("what travels does not depend on the rule")
    how = aggregation(AggregationConfig(rule))
    slow = slow_training(worlds.LOSS, client, Sending(how))
    people = worlds.labelled_cohort(client, t=1, present=[True, True, False, True, True])
    moments = first_moments(client, worlds.START)
    arrived = carried_mean(
        slow(Broadcast(worlds.START, moments), people, jnp.float32(client.lr), KEY).carried
    )
    sent = Broadcast(worlds.START, arrived)
    judged = slow(sent, people, jnp.float32(client.lr), KEY)
    for executor in ("map", "vmap"):
        fast = cohort_training(worlds.LOSS, client, Sending(how), executor)
        devices = len(jax.local_devices())
        lanes = lay_out(people, Plan(devices, 0 if executor == "map" else 3))
        reply = fast(sent, lanes, jnp.float32(client.lr), KEY)
        assert jax.tree.structure(reply) == jax.tree.structure(judged)
        for a, b in zip(jax.tree.leaves(reply), jax.tree.leaves(judged), strict=True):
            np.testing.assert_allclose(a, b, rtol=3e-5, atol=3e-6)
    assert bool(arrived) == (client.carry != "none")


def test_adam_is_optax_adamw():
    """One client from nothing: the same steps as optax's AdamW makes."""
    begin, step = local_training(worlds.LOSS, ADAM)
    cohort = worlds.labelled_cohort(ADAM)
    judge = optax.adamw(ADAM.lr, BETA1, BETA2, EPS, weight_decay=ADAM.decay)
    now, w = begin(Broadcast(worlds.START)), jax.tree.map(jnp.asarray, worlds.START)
    state = judge.init(w)
    for i in range(int(cohort.steps[1])):
        batch = jax.tree.map(lambda a, i=i: a[1, i], cohort.batches)
        now = step(Broadcast(worlds.START), now, batch, 1.0, ADAM.lr, None)
        g = jax.grad(lambda w, b=batch: worlds.LOSS(w, b, None)[0])(w)
        u, state = judge.update(g, state, w)
        w = optax.apply_updates(w, u)
    for a, b in zip(jax.tree.leaves(now.w), jax.tree.leaves(w), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_factored_moment_keeps_the_means_of_rows_and_columns():
    """And is far shorter; a matrix of rank one comes back as it was."""
    client = CLIENTS["factored"]
    params = {"matrix": jnp.zeros((40, 30)), "vector": jnp.zeros(7)}
    optimiser = client_optimiser(client)
    state = client_optimiser(dataclasses.replace(client, carry="none", carry_form="full")).begin(params, ())
    draw = np.random.default_rng(0)
    v = {"matrix": jnp.asarray(draw.gamma(1, 1, (40, 30)), jnp.float32), "vector": jnp.arange(7.0)}
    sent = optimiser.sends(state._replace(v=v, v_steps=jnp.float32(9)))
    assert [a.shape for a in sent] == [(40,), (30,), (7,), ()]
    back = optimiser.begin(params, sent).v
    np.testing.assert_allclose(back["matrix"].mean(axis=0), v["matrix"].mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(back["matrix"].mean(axis=1), v["matrix"].mean(axis=1), rtol=1e-5)
    np.testing.assert_array_equal(back["vector"], v["vector"])
    again = optimiser.sends(state._replace(v=back, v_steps=jnp.float32(9)))
    np.testing.assert_allclose(optimiser.begin(params, again).v["matrix"], back["matrix"], rtol=1e-5)


def test_nothing_arrives_nothing_changes():
    """A factored moment of nothing is nothing, not a division by zero."""
    for client in CLIENTS.values():
        state = client_optimiser(client).begin(worlds.START, first_moments(client, worlds.START))
        assert all(np.all(np.asarray(leaf) == 0) for leaf in jax.tree.leaves(state))


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        (
            ["client.carry=v"],
            "'sgd' does not keep 'v' with these settings, it keeps nothing that could travel",
        ),
        (["client.optimiser=adam", "client.beta1=0", "client.carry=m,v"], "does not keep 'm'"),
        (["client.optimiser=yogi", "client.carry=v"], "counts its steps for both moments"),
        (["client.carry_form=factored"], "client.carry_form = 'factored' would do nothing"),
        (["client.optimiser=adam", "client.momentum=0.5"], "'adam' has no such setting .*'sgd' has"),
        (["client.optimiser=adamw"], "client.optimiser = 'adamw' is not known"),
    ],
)
def test_what_cannot_travel_is_refused(settings, error):
    with pytest.raises(TacitError, match=error):
        check_carry(resolve("fedavg", settings).client, worlds.START)


def test_a_custom_optimiser_of_a_file_and_of_a_notebook(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text(
        "import optax\nCLIENT_OPTIMISERS = {'mine': lambda decay2=0.9: optax.scale_by_rms(decay=decay2)}\n"
    )
    monkeypatch.setenv("TACIT_RULES", str(file))
    config = resolve("fedavg", ["client.optimiser=mine", "client.decay2=0.8", "client.carry=v"]).client
    assert config.settings == {"decay2": 0.8} and config.code
    check_carry(config, worlds.START)
    monkeypatch.delenv("TACIT_RULES")
    name = plugins.register_client_optimiser(optax.scale_by_sign(), "signed")
    optimiser = client_optimiser(ClientConfig(optimiser=name))
    step, _ = optimiser.update({"w": jnp.array([-3.0, 2.0])}, optimiser.begin({"w": jnp.zeros(2)}, ()), None)
    assert step["w"].tolist() == [-1.0, 1.0]


def test_a_run_resumes_to_the_same_bytes(tmp_path):
    people = ["typists.users=12", "typists.messages=8", "training.rounds=2"]
    settings = ["client.optimiser=adam", "client.lr=0.01", "client.carry=m,v"]
    config = resolve("fedavg", [*TINY, *people, *settings])

    def stop(record):
        raise KeyboardInterrupt

    runs.train(config, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        runs.train(config, tmp_path / "parts", callbacks=(runs.Callback(round=stop),))
    runs.train(config, tmp_path / "parts", resume=True)
    whole, parts = (
        (tmp_path / name / "checkpoints" / "last.safetensors").read_bytes() for name in ("whole", "parts")
    )
    assert whole == parts and b"carried/0" in whole
