"""Rounds under masks: the same model as plain sums up to rounding, nothing of a client on disk, refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from commands import configured, tree, write_corpus
from tacit import runs
from tacit.audit import mechanism
from tacit.base.errors import TacitError
from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.algorithm import Algorithm
from tacit.federated.client_config import ClientConfig
from tacit.federated.executors import Replies
from tacit.federated.local import Broadcast, Reply, Report
from tacit.federated.private import Private, client_parts
from tacit.federated.sampling import SamplingConfig, choose
from tacit.federated.secured import secured_reply
from tacit.federated.server import ServerConfig
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.secure import simulated
from tacit.runs.config import resolve

pytest.importorskip("cryptography")


def algorithm(rule: str, secure: bool, clients: int = 6, least: int = 5, **settings: Any) -> Algorithm:
    more = {"secure": True, "least": least} if secure else {}
    return Algorithm(
        ClientConfig(),
        AggregationConfig(rule, settings=settings),
        ServerConfig(),
        SamplingConfig(clients=clients),
        PrivacyConfig(mechanism="clipped", clip=2.0, **more),
    )


@pytest.mark.parametrize("rule", ["mean", "norm-bounded", "attentive", "attentive-loss"])
def test_a_round_under_masks_moves_the_model_as_a_plain_sum_does(rule: str) -> None:
    updates = 3.0 * mechanism.directions(6, 1)  # longer than the clip
    everybody = np.ones(6, bool)
    plain, masked = (
        mechanism.run(algorithm(rule, secure), updates, everybody, 6, 1, seed=0).changes[0]
        for secure in (False, True)
    )
    assert np.abs(plain).max() > 1e-4
    # float32 sums in another order; fixed point adds less than that
    assert np.abs(plain - masked).max() <= 1e-6 * np.abs(plain).max() + 1e-9


def test_fewer_clients_than_the_least_open_nothing() -> None:
    updates, five = mechanism.directions(6, 1), np.arange(6) < 5
    opened = mechanism.run(algorithm("mean", True), updates, five, 6, 1, seed=0)
    assert np.abs(opened.changes).max() > 0
    kept = mechanism.run(algorithm("mean", True, least=6), updates, five, 6, 1, seed=0)
    assert np.abs(kept.changes).max() == 0
    with pytest.raises(
        TacitError, match=r"least = 7, but a round has at most 6 of 6 clients, so no sum would ever be opened"
    ):
        mechanism.run(algorithm("mean", True, least=7), updates, five, 6, 1, seed=0)


@pytest.mark.parametrize(
    "settings, complaint",
    [
        (["privacy.mechanism=clipped", "privacy.clip=1", "privacy.noise=1"], "adds no noise"),
        (
            ["privacy.mechanism=local", "privacy.clip=1", "privacy.noise=1", "privacy.secure=true"],
            "bounded size",
        ),
        (
            ["privacy.mechanism=gaussian", "privacy.clip=1", "privacy.noise=1", "privacy.least=5"],
            "privacy.secure",
        ),
        (["privacy.secure=true"], "privacy.mechanism is 'none'"),
    ],
)
def test_what_does_not_go_together_is_refused(settings: list[str], complaint: str) -> None:
    with pytest.raises(TacitError, match=complaint):
        resolve("fedavg", settings)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({"mechanism": "clipped", "secure": True, "least": 5}, "privacy.secure = true opens their sum only"),
        ({"mechanism": "clipped"}, "'clipped' bounds what one client adds to a sum"),
        ({"mechanism": "gaussian", "noise": 1.0}, "'gaussian' adds noise to a sum"),
    ],
)
def test_a_rule_that_is_no_sum_is_refused_with_the_reason(settings: dict[str, Any], complaint: str) -> None:
    """And the rule that the line advises does run."""
    median = algorithm("median", False)._replace(privacy=PrivacyConfig(clip=2.0, **settings))
    updates, everybody = mechanism.directions(6, 1), np.ones(6, bool)
    with pytest.raises(TacitError, match=f"'median' is no sum: .*{complaint}; .* or 'norm-bounded'"):
        mechanism.run(median, updates, everybody, 6, 1, seed=0)
    advised = median._replace(aggregation=AggregationConfig("norm-bounded"))
    assert np.abs(mechanism.run(advised, updates, everybody, 6, 1, seed=0).changes).max() > 0


@pytest.mark.parametrize("size", [1.0, 40.0])
def test_a_divisor_that_rounding_would_change_ends_the_run(size: float) -> None:
    """u = e^{s−c} with c = ‖θ‖S/√n: weights of 40 leave Σu without bits, which a step of 0 would hide."""
    clients, weights = 6, {"w": jnp.full((4, 4), size)}
    form = aggregation(AggregationConfig("attentive-loss"))
    private = Private(PrivacyConfig(mechanism="clipped", clip=1.0, secure=True, least=5), float(clients))
    draw = np.random.default_rng(0)
    updates = [{"w": jnp.float32(draw.normal(0, 0.01, (4, 4)))} for _ in range(clients)]
    sent = [client_parts(form, private, weights, 1.0, u, jnp.float32(1), jnp.int32(1)) for u in updates]
    ones = jnp.ones(clients)
    replies = Replies(
        np.arange(clients),
        Reply(jax.tree.map(lambda *x: jnp.stack(x), *sent), (), Report(*[ones] * 6)),
        np.zeros(0),
    )
    if size == 1.0:
        found = secured_reply(form, private, Broadcast(weights, (), 1.0), replies)
        assert float(found.message.rule["mass"]) == pytest.approx(sum(float(p.rule["mass"]) for p in sent))
        return
    assert 0 < sum(float(p.rule["mass"]) for p in sent) < 1e-16
    with pytest.raises(
        TacitError, match=r"'rule.mass' has \d+ quanta of 2\^-60, fewer than 3000.*privacy.clip"
    ):
        secured_reply(form, private, Broadcast(weights, (), 1.0), replies)
    # noise is far above any rounding, and whether a noised sum passes a check must not depend on it
    noised = private._replace(
        config=PrivacyConfig(mechanism="gaussian", noise=1.0, clip=1.0, secure=True, least=5)
    )
    secured_reply(form, noised, Broadcast(weights, (), 1.0), replies)


def test_no_number_of_a_single_client_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every number that one client sent is looked for, as float32, in all files of the run."""
    said: list[bytes] = []
    total = simulated.secured_total

    def spy(replies: Any, *given: Any, **more: Any) -> Any:
        for reply in replies:
            for leaf in jax.tree.leaves(reply):
                rows = np.ascontiguousarray(leaf, np.float32).reshape(-1)
                moved = rows[np.abs(rows) > 1e-6]
                said.extend(moved[i : i + 2].tobytes() for i in range(0, len(moved) - 1, 2))
        return total(replies, *given, **more)

    monkeypatch.setattr(simulated, "secured_total", spy)
    corpus = write_corpus(tmp_path / "messages.jsonl")
    more = ["privacy.mechanism=clipped", "privacy.clip=1", "privacy.secure=true", "privacy.least=5"]
    runs.train(configured(corpus, *more, "training.rounds=1", "sampling.clients=5"), tmp_path / "run")
    assert len(said) > 100
    files = b"\n".join(tree(tmp_path / "run").values())
    assert not [two for two in said if two in files]


def test_a_poisson_sample_without_clients_opens_nothing() -> None:
    """Of the first rounds of 1 in 6 clients some have nobody: the model stays, and the next round goes on."""
    plain = algorithm("mean", True, clients=1)
    poisson = plain._replace(sampling=SamplingConfig(clients=1, scheme="poisson"))
    trial = mechanism.run(poisson, mechanism.directions(6, 1), np.ones(6, bool), 6, 4, seed=0)
    sizes = [len(choose(poisson.sampling, np.full(6, 100.0), 0, t).ids) for t in range(4)]
    assert 0 in sizes and max(sizes) < 5
    assert np.abs(trial.changes).max() == 0
