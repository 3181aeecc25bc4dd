"""Every rule's messages through secure sums: equal to the plain sum up to the stated rounding."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.federated.aggregation import AggregationConfig, aggregation, is_plain_sum, total
from tacit.federated.local import Reply, Report
from tacit.federated.word_counts import word_counts
from tacit.privacy.secure import codec
from tacit.privacy.secure.codec import Schema, quanta_for, schema_of
from tacit.privacy.secure.errors import Abandoned
from tacit.privacy.secure.graph import Rates
from tacit.privacy.secure.simulated import SecuredTotal, secured_total
from tacit.text.packed import pack

CALM = Rates(dropout=0.2, colluding=0.0)
SHAPES = {"embedding": (7, 3), "kernel": (3, 4), "bias": (4,)}
CLIENTS = 6


def tree(seed: int, size: float) -> dict[str, jax.Array]:
    rng = np.random.default_rng(seed)
    return {name: jnp.float32(rng.normal(0, size, shape)) for name, shape in SHAPES.items()}


PARAMS = tree(100, 0.5)
UPDATES = [tree(k, 0.05 * (k + 1)) for k in range(CLIENTS)]
WEIGHTS = [jnp.float32(k + 1) for k in range(CLIENTS)]


def messages_of(rule: Any) -> list[Any]:
    return [rule.message(PARAMS, update, weight) for update, weight in zip(UPDATES, WEIGHTS, strict=True)]


def secured(replies: list[Any], schema: Schema, **options: Any) -> SecuredTotal:
    return secured_total(replies, schema, is_plain_sum=is_plain_sum, **{"least": 3, "rates": CALM} | options)


def check_sum(replies: list[Any], schema: Schema, found: SecuredTotal) -> None:
    """Equals numpy's float64 sum over the survivors, up to the stated rounding, leaf by leaf."""
    rounding = schema.rounding(len(found.survivors))
    exact = jax.tree.map(lambda *xs: np.sum(np.float64(xs), axis=0), *[replies[i] for i in found.survivors])
    for a, b, allowed in zip(*map(jax.tree.leaves, (found.total, exact, rounding)), strict=True):
        assert np.all(np.abs(a - b) <= allowed + np.abs(b) * 2.0**-50)


def combined(rule: Any, message: Any) -> dict[str, np.ndarray]:
    return jax.tree.map(np.asarray, rule.combine(PARAMS, jax.tree.map(jnp.float32, message)))


def stacked(replies: list[Any]) -> Any:
    return jax.tree.map(lambda *xs: jnp.stack(xs), *replies)


@pytest.mark.parametrize(
    ("config", "bounds", "quanta"),
    [
        (AggregationConfig("mean"), lambda m: (6 * 8.0, 6.0), 0),
        (AggregationConfig("mean", settings={"uniform": True}), lambda m: (8.0, 1.0), 0),
        (
            AggregationConfig("attentive", settings={"bound": 8.0}),
            lambda m: [(8.0, 1.0) for _ in m],
            [(0, quanta_for(1e-3, CLIENTS)) for _ in SHAPES],
        ),
        (
            AggregationConfig("attentive-loss", settings={"form": "as-printed"}),
            lambda m: {"models": 16.0, "nearness": 1e4, "updates": 8.0},
            0,
        ),
    ],
    ids=["FedAvg", "uniform", "FedAtt", "FedAttOpt as printed"],
)
def test_a_rule_through_secure_sums(
    config: AggregationConfig, bounds: Callable[[Any], Any], quanta: Any
) -> None:
    """The sum is the plain one up to the rounding; so is what the server makes of it; somebody drops, too."""
    rule = aggregation(config)
    replies = messages_of(rule)
    schema = schema_of(replies[0], bounds(replies[0]), quanta=quanta)
    found = secured(replies, schema)
    assert found.survivors == tuple(range(CLIENTS))
    check_sum(replies, schema, found)
    plain = combined(rule, total(stacked(replies)))
    for name, value in combined(rule, found.total).items():
        np.testing.assert_allclose(value, plain[name], rtol=2e-6, atol=2e-6)
    fewer = secured(replies, schema, drop={"mask": [2]})
    assert fewer.survivors == (0, 1, 3, 4, 5)
    check_sum(replies, schema, fewer)


def test_fedattopt_exact_as_a_plain_sum() -> None:
    """With a public bound c on the score, u = e^{s−c}: Σu, ΣuΔ, ΣΔ, Σ −Δ/d² give the rule's own gradient."""
    rule = aggregation(AggregationConfig("attentive-loss", settings={"form": "exact"}))
    root_n = sum(math.prod(shape) for shape in SHAPES.values()) ** 0.5
    norm = float(jnp.sqrt(sum(jnp.sum(x * x) for x in PARAMS.values())))
    largest = 4.0  # S: no update here is longer
    c = norm * largest / root_n

    def message(update: dict[str, jax.Array]) -> dict[str, Any]:
        s = sum(jnp.sum(PARAMS[name] * update[name]) for name in SHAPES) / root_n
        d2 = sum(jnp.sum(x * x) for x in update.values())
        u = jnp.exp(s - c)
        return {
            "u": u,
            "attended": {name: u * x for name, x in update.items()},
            "updates": update,
            "pull": {name: -x / d2 for name, x in update.items()},
        }

    replies = [message(update) for update in UPDATES]
    schema = schema_of(
        replies[0],
        bounds={"u": 1.0, "attended": largest, "updates": largest, "pull": 100.0},
        quanta={"u": quanta_for(1e-3, CLIENTS), "attended": 0, "updates": 0, "pull": 0},
    )
    found = secured(replies, schema, drop={"unmask": [5]})
    check_sum(replies, schema, found)
    t, m = found.total, len(found.survivors)
    expected = combined(rule, total(stacked(messages_of(rule))))
    for name in SHAPES:
        mean = t["attended"][name] / t["u"]
        gradient = (t["updates"][name] - m * mean) / root_n + t["pull"][name]
        np.testing.assert_allclose(gradient, expected[name], rtol=1e-4, atol=2e-6)


def test_a_whole_reply_with_carried_moments() -> None:
    """Second moments are tiny: with bits of their own they survive fixed point."""
    rule = aggregation(AggregationConfig())
    moments = [[jnp.float32(np.random.default_rng(k).uniform(0, 1e-7, (7, 3)))] for k in range(CLIENTS)]
    ones = jnp.float32(1)
    replies = [
        Reply(m, ([w * v for v in moment], w), Report(3.0 * w, ones, 10 * ones, ones, 0.1 * w, 0 * ones))
        for m, moment, w in zip(messages_of(rule), moments, WEIGHTS, strict=True)
    ]
    fine = codec.most_bits(1e-6, CLIENTS)
    schema = schema_of(
        replies[0],
        bounds=Reply((48.0, 6.0), ([1e-6], 6.0), Report(100.0, 10.0, 100.0, 1.0, 100.0, 1.0)),
        bits=Reply(32, ([fine], 32), 32),
    )
    found = secured(replies, schema)
    check_sum(replies, schema, found)
    exact = sum(float(w) * np.float64(moment[0]) for w, moment in zip(WEIGHTS, moments, strict=True))
    np.testing.assert_allclose(found.total.carried[0][0], exact, rtol=1e-6)
    assert found.total.report.clients == CLIENTS and isinstance(found.total, Reply)


def test_word_counts_and_histograms() -> None:
    rng = np.random.default_rng(0)
    people = [
        [np.array([0, *rng.integers(2, 30, rng.integers(1, 9)), 1]) for _ in range(4)] for _ in range(CLIENTS)
    ]
    text = pack(people, [str(k) for k in range(CLIENTS)])
    counts = [word_counts(text.gather(np.array([k])), 30) for k in range(CLIENTS)]
    lengths = [np.bincount([len(s) for s in sentences], minlength=12) for sentences in people]
    replies = [{"words": c, "lengths": h} for c, h in zip(counts, lengths, strict=True)]
    found = secured(replies, schema_of(replies[0], bounds=1000, bits=0), drop={"advertise": [1]})
    kept = [0, 2, 3, 4, 5]
    np.testing.assert_array_equal(found.total["words"], word_counts(text.gather(np.array(kept)), 30))
    np.testing.assert_array_equal(found.total["lengths"], np.sum([lengths[k] for k in kept], axis=0))


@pytest.mark.parametrize("config", [AggregationConfig("attentive"), AggregationConfig("attentive-loss")])
def test_a_message_that_is_no_plain_sum_is_refused(config: AggregationConfig) -> None:
    replies = messages_of(aggregation(config))
    with pytest.raises(TacitError, match="no plain sum and cannot be added under masks"):
        secured(replies, schema_of(replies[0], bounds=100.0))


def test_shares_of_too_few_quanta_are_refused() -> None:
    """A common bound of 40 loses layers that moved little: u = e^{s−40} is below a quantum of 2⁻³²."""
    rule = aggregation(AggregationConfig("attentive", settings={"bound": 40.0}))
    replies = messages_of(rule)
    assert float(replies[0][0][1]) < 2.0**-33
    few = [(0, quanta_for(1e-3, CLIENTS)) for _ in SHAPES]
    with pytest.raises(TacitError, match=r"the sum of '0\.1' has 0 quanta of 2\^-32, fewer than 3000"):
        secured(replies, schema_of(replies[0], [(40.0, 1.0)] * 3, quanta=few))


def test_no_replies_and_too_few_survivors() -> None:
    schema = schema_of([0.0], bounds=1.0)
    with pytest.raises(TacitError, match="there are none"):
        secured([], schema)
    with pytest.raises(Abandoned, match="2 clients are left"):
        secured([[0.5]] * 5, schema, drop={"share": [0, 1, 2]})
