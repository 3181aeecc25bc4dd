"""Rules that are no sums, against plain numpy, brute force and scipy; norm bounding against numpy."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize

from tacit.base.errors import TacitError
from tacit.federated.aggregation import AggregationConfig, CohortRule, aggregation, chosen_rule, rules, total
from tacit.federated.plugin_checks import check_rule

N = 11
_draw = np.random.default_rng(3)
PARAMS = {"a": np.zeros((3, 2), np.float32), "b": np.zeros(4, np.float32)}
UPDATES = {k: _draw.normal(0.3, 1, (N, *v.shape)).astype(np.float32) for k, v in PARAMS.items()}
UPDATES["a"][2] *= 50  # a client far away
WEIGHTS = _draw.integers(1, 9, N).astype(np.float32)
FLAT = np.concatenate([UPDATES["a"].reshape(N, -1), UPDATES["b"]], axis=1).astype(np.float64)  # [N, 10]


def combined(name, clients=N, **settings):
    rule = chosen_rule(AggregationConfig(name, settings=settings))
    assert isinstance(rule, CohortRule)
    few = jax.tree.map(lambda u: u[:clients], UPDATES)
    g = rule.combine(PARAMS, few, WEIGHTS[:clients])
    return -np.concatenate([np.ravel(g["a"]), np.ravel(g["b"])])  # as an update


@pytest.mark.parametrize("clients", [1, 4, N])
def test_the_median_of_every_number(clients):
    np.testing.assert_allclose(combined("median", clients), np.median(FLAT[:clients], axis=0), rtol=1e-6)


@pytest.mark.parametrize(("share", "clients", "out"), [(0.2, N, 3), (0.2, 10, 2), (0.0, N, 0), (0.5, 4, 1)])
def test_a_trimmed_mean_leaves_the_ends_out(share, clients, out):
    kept = np.sort(FLAT[:clients], axis=0)[out : clients - out]
    np.testing.assert_allclose(combined("trimmed-mean", clients, share=share), kept.mean(0), rtol=1e-5)


def krum_scores(updates, f):
    """For each client, the least sum of squared distances to any n − f − 2 others: all subsets are tried."""
    everybody = range(len(updates))
    d = np.sum((updates[:, None] - updates) ** 2, axis=2)
    return [
        min(
            d[i, list(some)].sum()
            for some in itertools.combinations(set(everybody) - {i}, len(updates) - f - 2)
        )
        for i in everybody
    ]


@pytest.mark.parametrize(("f", "m"), [(2, 1), (2, 2), (1, 0), (0, 0)])
def test_krum_against_all_subsets(f, m):
    cohorts = _draw.normal(0, 1, (60, 7, 3)).astype(np.float32)  # 60 cohorts of 7 clients
    cohorts[:, 3] *= 20
    rule = chosen_rule(AggregationConfig("multi-krum", settings={"attackers": f, "chosen": m}))
    found = jax.jit(jax.vmap(lambda u: rule.combine({"a": u[0]}, {"a": u}, u[:, 0])))(cohorts)["a"]
    for updates, g in zip(cohorts.astype(np.float64), np.asarray(found), strict=True):
        best = np.argsort(krum_scores(updates, f))[: m or 7 - f - 2]
        np.testing.assert_allclose(-g, updates[best].mean(0), rtol=1e-5, atol=1e-6)
        assert 3 not in best or not f


def test_krum_is_multi_krum_of_one():
    np.testing.assert_array_equal(
        combined("krum", attackers=2), combined("multi-krum", attackers=2, chosen=1)
    )
    assert np.abs(combined("krum", attackers=2) - FLAT).sum(1).min() < 1e-5  # one of the updates


@pytest.mark.parametrize("weighted", [False, True])
def test_the_geometric_median_against_a_minimiser(weighted):
    a = WEIGHTS if weighted else np.ones(N)
    found = combined("geometric-median", iterations=500, weighted=weighted)
    objective = lambda v: np.sum(a * np.linalg.norm(FLAT - v, axis=1))  # noqa: E731
    best = minimize(objective, FLAT.mean(0), method="BFGS", options={"gtol": 1e-8})
    np.testing.assert_allclose(found, best.x, atol=2e-3)
    # one step from no update, written out
    b = a / np.linalg.norm(FLAT, axis=1)
    once = combined("geometric-median", iterations=1, weighted=weighted)
    np.testing.assert_allclose(once, (b[:, None] * FLAT).sum(0) / b.sum(), rtol=1e-5, atol=1e-6)


def test_equal_updates_have_a_geometric_median():
    rule = chosen_rule(AggregationConfig("geometric-median"))
    same = jax.tree.map(lambda u: np.repeat(u[:1], 5, axis=0), UPDATES)
    g = rule.combine(PARAMS, same, np.ones(5, np.float32))
    np.testing.assert_allclose(g["b"], -UPDATES["b"][0], rtol=1e-5)


@pytest.mark.parametrize("uniform", [True, False])
def test_norm_bounding_is_a_sum_of_clipped_updates(uniform):
    rule = aggregation(AggregationConfig("norm-bounded", settings={"norm": 3.0, "uniform": uniform}))
    messages = [
        rule.message(PARAMS, jax.tree.map(lambda u, k=k: u[k], UPDATES), jnp.float32(WEIGHTS[k]))
        for k in range(N)
    ]
    g = rule.combine(PARAMS, total(jax.tree.map(lambda *x: jnp.stack(x), *messages)))
    norms = np.linalg.norm(FLAT, axis=1)
    assert norms.min() < 3 < norms.max()
    clipped = FLAT * np.minimum(1, 3 / norms)[:, None]
    mean = np.average(clipped, axis=0, weights=None if uniform else WEIGHTS)
    np.testing.assert_allclose(-np.concatenate([np.ravel(g["a"]), g["b"]]), mean, rtol=1e-5, atol=1e-6)


def test_a_rule_that_is_no_sum_says_so_where_only_sums_are_possible():
    no_sums = {name for name in rules() if isinstance(chosen_rule(AggregationConfig(name)), CohortRule)}
    assert no_sums == {"median", "trimmed-mean", "krum", "multi-krum", "geometric-median"}
    with pytest.raises(
        TacitError, match=r"'median' is no sum: .* under masks only sums are possible; choose a sum"
    ):
        aggregation(AggregationConfig("median"), where="under masks")
    with pytest.raises(TacitError, match=r"needs aggregation.rule = 'mean', not 'krum'"):
        chosen_rule(AggregationConfig("krum"), scheme="II")


@pytest.mark.parametrize(
    ("rule", "named"),
    [
        (CohortRule(lambda w, u, a: u), r"combine returns \['a'\] of shape \[2, 3, 2\]"),
        (CohortRule(lambda w, u: w), "combine: TypeError"),
        (CohortRule(lambda w, u, a: {"a": w["a"]}, least=5), r"combine leaves out \['b'\]"),
    ],
)
def test_a_cohort_rule_that_does_not_fit(rule, named):
    with pytest.raises(TacitError, match=f"aggregation.rule = 'mine': {named}"):
        check_rule("mine", rule, PARAMS)
