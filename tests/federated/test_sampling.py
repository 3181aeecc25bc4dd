"""Who takes part: frequencies, and the averaging schemes of paper 5's Table 4, literally."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.federated.aggregation import AggregationConfig, aggregation, total
from tacit.federated.algorithm import ServerState, apply
from tacit.federated.client_config import ClientConfig
from tacit.federated.sampling import SamplingConfig, check_scheme, choose, cohort_size
from tacit.federated.server import ServerConfig, server_optimiser

SIZES = np.array([10, 20, 5, 41, 15, 30])  # an odd sum: no three of them hold exactly half
N, K = len(SIZES), 3
P = SIZES / SIZES.sum()
MODELS = np.random.default_rng(0).normal(size=(N, 4))  # what client k's training ends at
START = np.random.default_rng(1).normal(size=4)


def new_model(scheme: str, chosen, **settings) -> np.ndarray:
    """One server step of 1 after the cohort's messages."""
    rule = aggregation(AggregationConfig(settings=settings), scheme)
    start = jnp.asarray(START, jnp.float32)
    messages = [
        rule.message(start, jnp.asarray(MODELS[k] - START, jnp.float32), jnp.float32(w))
        for k, w in zip(chosen.ids, chosen.weight, strict=True)
    ]
    g = rule.combine(start, total(jax.tree.map(lambda *x: jnp.stack(x), *messages)))
    optimiser = server_optimiser(ServerConfig())
    return np.asarray(apply(optimiser, ServerState(start, optimiser.init(start)), g, jnp.float32(1)).params)


def drawn(scheme: str, t: int):
    return choose(SamplingConfig(clients=K, scheme=scheme), SIZES, seed=3, round_=t)


@pytest.mark.parametrize("t", range(4))
def test_schemes_of_table_4_on_models(t):
    S = drawn("original", t)
    expected = sum(P[k] * START for k in range(N) if k not in S.ids) + sum(P[k] * MODELS[k] for k in S.ids)
    np.testing.assert_allclose(new_model("original", S), expected, rtol=1e-4, atol=1e-5)

    S = drawn("II", t)
    expected = sum(P[k] * N / K * MODELS[k] for k in S.ids)
    np.testing.assert_allclose(new_model("II", S), expected, rtol=1e-4, atol=1e-5)
    assert abs(sum(P[k] * N / K for k in S.ids) - 1) > 1e-3  # the case in which it is no average

    S = drawn("transformed-II", t)
    np.testing.assert_allclose(
        new_model("transformed-II", S), MODELS[S.ids].mean(axis=0), rtol=1e-4, atol=1e-5
    )
    np.testing.assert_allclose(S.scale, [N * P[k] for k in S.ids], rtol=1e-6)

    S = drawn("I", t)
    draws = np.repeat(S.ids, S.weight.astype(int))  # each draw counts, a client drawn twice twice
    assert len(draws) == K
    np.testing.assert_allclose(new_model("I", S), sum(MODELS[k] for k in draws) / K, rtol=1e-4, atol=1e-5)

    S = drawn("uniform", t)
    expected = sum(SIZES[k] * MODELS[k] for k in S.ids) / sum(SIZES[k] for k in S.ids)
    np.testing.assert_allclose(new_model("uniform", S), expected, rtol=1e-4, atol=1e-5)
    alike = new_model("uniform", S, uniform=True)
    np.testing.assert_allclose(alike, MODELS[S.ids].mean(axis=0), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("scheme", ["uniform", "original", "II", "transformed-II"])
def test_without_replacement_everybody_is_as_likely(scheme):
    rounds, times = 2000, np.zeros(N)
    for t in range(rounds):
        chosen = drawn(scheme, t)
        assert len(set(chosen.ids.tolist())) == K
        assert (np.diff(chosen.ids) > 0).all()
        times[chosen.ids] += 1
    error = np.sqrt(K / N * (1 - K / N) / rounds)
    assert np.abs(times / rounds - K / N).max() < 4.5 * error
    assert np.all(drawn(scheme, 1).scale == 1) or scheme == "transformed-II"


def test_scheme_one_draws_by_size_with_replacement():
    rounds, times, twice = 3000, np.zeros(N), 0
    for t in range(rounds):
        chosen = drawn("I", t)
        times[chosen.ids] += chosen.weight
        twice += chosen.weight.max() > 1
    error = np.sqrt(P * (1 - P) / (rounds * K))
    assert (np.abs(times / (rounds * K) - P) < 4.5 * error).all()
    assert twice > 0


def test_cohorts_differ_by_round_and_seed_and_repeat_themselves():
    config = SamplingConfig(clients=10)
    sizes = np.ones(1000)
    a = choose(config, sizes, 0, 0)
    np.testing.assert_array_equal(a.ids, choose(config, sizes, 0, 0).ids)
    assert len(np.intersect1d(a.ids, choose(config, sizes, 0, 1).ids)) < 4
    assert len(np.intersect1d(a.ids, choose(config, sizes, 1, 0).ids)) < 4


def test_cohort_sizes():
    assert cohort_size(SamplingConfig(fraction=0.0), 100) == 1  # max(C·K, 1) of Algorithm 1
    assert cohort_size(SamplingConfig(fraction=0.1), 100) == 10
    assert cohort_size(SamplingConfig(fraction=0.29), 100) == 29  # 0.29 · 100 is a hair below 29
    assert cohort_size(SamplingConfig(fraction=1.0), 7) == 7
    assert cohort_size(SamplingConfig(clients=3, fraction=1.0), 7) == 3
    with pytest.raises(TacitError, match=r"sampling\.clients = 8.*population of 7.*at most 7"):
        cohort_size(SamplingConfig(clients=8), 7)
    with pytest.raises(TacitError, match=r"sampling\.clients"):
        choose(SamplingConfig(clients=8), np.ones(7), 0, 0)


def test_drop_out_has_its_share_and_none_by_default():
    config = SamplingConfig(clients=100, dropout=0.3)
    present = np.concatenate([choose(config, np.ones(100), 0, t).present for t in range(100)])
    assert abs(present.mean() - 0.7) < 4.5 * np.sqrt(0.21 / 10_000)
    assert choose(SamplingConfig(clients=100), np.ones(100), 0, 0).present.all()
    half = SamplingConfig(clients=100, dropout=0.5)
    one, other = (choose(half, np.ones(100), 0, t).present for t in (0, 1))
    assert 25 < (one != other).sum() < 75  # not the same people every round


@given(st.integers(1, 40), st.floats(0, 1), st.integers(0, 5))
def test_any_fraction_of_any_population(population, fraction, t):
    config = SamplingConfig(fraction=fraction)
    chosen = choose(config, np.arange(1, population + 1), 7, t)
    assert 1 <= len(chosen.ids) <= population
    assert chosen.weight.dtype == chosen.scale.dtype == np.float32
    assert chosen.present.dtype == bool


def test_scheme_two_counts_who_reported():
    config = SamplingConfig(clients=K, scheme="II", dropout=0.5)
    for t in range(20):
        S = choose(config, SIZES, 3, t)
        if S.present.any():
            expected = [P[k] * N / S.present.sum() for k in S.ids]
            np.testing.assert_allclose(S.weight, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("sampling", "client", "rule", "what"),
    [
        ({"scheme": "transformed-II"}, {"optimiser": "adam"}, {}, r"'transformed-II' scales.*'adam'.*'sgd'"),
        (
            {"scheme": "II", "weight": "words"},
            {},
            {},
            r"sampling\.weight = 'words' needs .*'uniform' or 'poisson', not 'II'",
        ),
        ({"weight": "words"}, {}, {"uniform": True}, r"aggregation\.uniform = true and sampling\.weight"),
    ],
)
def test_what_would_be_undone_is_refused(sampling, client, rule, what):
    with pytest.raises(TacitError, match=what):
        check_scheme(SamplingConfig(**sampling), ClientConfig(**client), AggregationConfig(settings=rule))
    check_scheme(SamplingConfig(**sampling | {"scheme": "uniform"}), ClientConfig(), AggregationConfig())
