"""Every rule as a sum against the paper's formula over the whole cohort, in numpy."""

from __future__ import annotations

from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flwr.server.strategy.aggregate import aggregate as flower_mean
from hypothesis import given
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.federated import trees
from tacit.federated.aggregation import AggregationConfig as Config
from tacit.federated.aggregation import Peaked, aggregation, is_plain_sum, neutral, settled, total

SHAPES = {"a": (4, 3), "b": (5,), "c": (2, 3, 2)}
CLIENTS = 5
RULES = {
    "mean": Config(),
    "attentive": Config(rule="attentive"),
    "spectral": Config(rule="attentive", settings={"distance": "spectral"}),
    "bounded": Config(rule="attentive", settings={"bound": 3.0}),
    "exact": Config(rule="attentive-loss"),
    "printed": Config(rule="attentive-loss", settings={"form": "as-printed"}),
}


def draw(seed: int, scale: float = 1.0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {k: rng.normal(0, scale, s).astype(np.float32) for k, s in SHAPES.items()}


@pytest.fixture
def cohort() -> SimpleNamespace:
    params = draw(0)
    deltas = [draw(1 + k, 0.2 * (k + 1)) for k in range(CLIENTS)]
    models = [{n: params[n].astype(np.float64) + d[n] for n in SHAPES} for d in deltas]
    return SimpleNamespace(params=params, deltas=deltas, models=models, weights=[3.0, 1.0, 7.0, 2.0, 5.0])


def stack(messages):
    return jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *messages)


def said(rule, params, deltas, weights):
    return [rule.message(params, d, jnp.float32(w)) for d, w in zip(deltas, weights, strict=True)]


def gradient(rule, cohort):
    messages = said(rule, cohort.params, cohort.deltas, cohort.weights)
    return rule.combine(cohort.params, total(stack(messages)))


def close(found, expected, rtol=1e-5, atol=1e-6):
    assert set(found) == set(expected)
    for name in expected:
        np.testing.assert_allclose(found[name], expected[name], rtol=rtol, atol=atol)


def softmax(s):
    e = np.exp(np.asarray(s, np.float64) - np.max(s))
    return e / e.sum()


def test_the_mean_is_flowers_and_numpys(cohort):
    g = gradient(aggregation(Config()), cohort)
    after = [cohort.params[n] - np.asarray(g[n]) for n in SHAPES]  # the server's step of 1
    for mine, theirs in zip(
        after,
        flower_mean(
            [([m[n] for n in SHAPES], int(w)) for m, w in zip(cohort.models, cohort.weights, strict=True)]
        ),
        strict=True,
    ):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)
    average = {n: np.average([m[n] for m in cohort.models], axis=0, weights=cohort.weights) for n in SHAPES}
    close({n: cohort.params[n] - np.asarray(g[n]) for n in SHAPES}, average)


def fedatt(cohort, norm):
    """Paper 1, equations 2 and 3, layer by layer over the whole cohort."""
    expected = {}
    for n in SHAPES:
        moved = [cohort.params[n] - m[n] for m in cohort.models]
        alpha = softmax([norm(x) for x in moved])
        expected[n] = sum(a * x for a, x in zip(alpha, moved, strict=True))
    return expected


def spectral_norm(x):
    if x.ndim == 1:
        return np.linalg.norm(x)
    return np.linalg.svd(x.reshape(-1, x.shape[-1]), compute_uv=False)[0]


@pytest.mark.parametrize("bound", [0.0, 3.0, 60.0])
def test_fedatt_by_frobenius_norm(cohort, bound):
    g = gradient(aggregation(Config(rule="attentive", settings={"bound": bound})), cohort)
    # s − c is rounded to float32's step at c, so a loose bound costs digits
    close(g, fedatt(cohort, lambda x: np.sqrt(np.sum(x**2))), rtol=1e-5 if bound < 10 else 1e-4, atol=1e-5)


@pytest.mark.parametrize("bound", [0.0, 3.0])
def test_fedatt_by_spectral_norm(cohort, bound):
    g = gradient(
        aggregation(Config(rule="attentive", settings={"distance": "spectral", "bound": bound})), cohort
    )
    close(g, fedatt(cohort, spectral_norm))


def test_fedatt_weighs_the_client_that_moved_farther_more(cohort):
    near, far = cohort.deltas[0], trees.scale(10.0, cohort.deltas[1])
    rule = aggregation(Config(rule="attentive"))
    g = rule.combine(cohort.params, total(stack(said(rule, cohort.params, [near, far], [100.0, 1.0]))))
    assert np.linalg.norm(g["a"] + far["a"]) < 0.1 * np.linalg.norm(g["a"] + near["a"])


def test_huge_scores_do_not_overflow(cohort):
    deltas = [trees.scale(f, cohort.deltas[0]) for f in (1e4, 1e4, 1.0)]
    rule = aggregation(Config(rule="attentive"))
    g = rule.combine(cohort.params, total(stack(said(rule, cohort.params, deltas, [1.0] * 3))))
    close(g, {n: -1e4 * cohort.deltas[0][n] for n in SHAPES})  # two equals share the softmax
    exact = aggregation(Config(rule="attentive-loss"))
    params = trees.scale(1e3, cohort.params)
    g = exact.combine(params, total(stack(said(exact, params, deltas, [1.0] * 3))))
    assert all(np.all(np.isfinite(x)) for x in g.values())


def flat(tree):
    return np.concatenate([np.asarray(tree[n], np.float64).ravel() for n in SHAPES])


def test_fedattopt_exact_is_the_gradient_of_its_loss(cohort):
    """L′ = Σ (log a_k + log d_k) with θ_k constants, differentiated by JAX in float64."""
    g = gradient(aggregation(Config(rule="attentive-loss")), cohort)
    models = np.array([flat(m) for m in cohort.models])
    with jax.enable_x64(True):

        def loss(theta):
            s = jnp.asarray(models) @ theta / jnp.sqrt(theta.size)
            a = jax.nn.softmax(s)
            d = jnp.linalg.norm(theta - jnp.asarray(models), axis=1)
            return jnp.sum(jnp.log(a) + jnp.log(d))

        expected = np.asarray(jax.grad(loss)(jnp.asarray(flat(cohort.params))))
    np.testing.assert_allclose(flat(g), expected, rtol=1e-4, atol=1e-5)
    assert np.abs(expected).max() > 0.1


def test_fedattopt_as_printed(cohort):
    """Paper 2, equations 8 to 10 and Algorithm 3, literally: for every k the whole of (10)."""
    g = gradient(aggregation(Config(rule="attentive-loss", settings={"form": "as-printed"})), cohort)
    theta, models = flat(cohort.params), [flat(m) for m in cohort.models]
    n = len(theta)
    a = softmax([theta @ m / np.sqrt(n) for m in models])
    d = [np.sum((theta - m) ** 2) for m in models]
    expected = np.zeros(n)
    for k, model in enumerate(models):
        grad_a = a[k] / np.sqrt(n) * model
        grad_d = sum(2 * (theta - other) for other in models)
        expected += 1 / a[k] * grad_a + 1 / d[k] * grad_d
    np.testing.assert_allclose(flat(g), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("form", ["exact", "as-printed"])
def test_a_client_that_did_not_move_gives_no_nan(cohort, form):
    rule = aggregation(Config(rule="attentive-loss", settings={"form": form}))
    still = trees.zeros_like(cohort.params)
    moved = cohort.deltas[:2]
    g = rule.combine(cohort.params, total(stack(said(rule, cohort.params, [*moved, still], [1.0] * 3))))
    assert all(np.all(np.isfinite(x)) for x in g.values())
    if form == "as-printed":  # its distance term is left out; Σθ_k still has it
        theta, models = flat(cohort.params), [flat(m) for m in cohort.models[:2]]
        nearness = sum(1 / np.sum((theta - m) ** 2) for m in models)
        pull = 2 * nearness * sum(theta - m for m in models)
        np.testing.assert_allclose(
            flat(g), (sum(models) + theta) / len(theta) ** 0.5 + pull, rtol=1e-4, atol=1e-4
        )


@pytest.mark.parametrize("name", RULES)
@given(order=st.permutations(range(CLIENTS)), cut=st.integers(1, CLIENTS - 1))
def test_messages_add_in_any_order_and_grouping(name, order, cut):
    rule = aggregation(RULES[name])
    params = draw(0)
    deltas = [draw(1 + k, 0.2 * (k + 1)) for k in range(CLIENTS)]
    messages = MESSAGES.setdefault(name, said(rule, params, deltas, [3.0, 1.0, 7.0, 2.0, 5.0]))
    whole = TOTAL(stack(messages))
    mixed = [messages[k] for k in order]
    halves = TOTAL(stack([TOTAL(stack(mixed[:cut])), TOTAL(stack(mixed[cut:]))]))
    for a, b in zip(jax.tree.leaves(whole), jax.tree.leaves(halves), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


MESSAGES: dict = {}
TOTAL = jax.jit(total)


@pytest.mark.parametrize("name", RULES)
def test_the_neutral_message_changes_nothing(cohort, name):
    rule = aggregation(RULES[name])
    messages = said(rule, cohort.params, cohort.deltas, cohort.weights)
    nobody = neutral(messages[0])
    with_it = total(stack([nobody, *messages[:2], nobody, *messages[2:]]))
    for a, b in zip(jax.tree.leaves(total(stack(messages))), jax.tree.leaves(with_it), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)
    only = total(stack([nobody, nobody]))  # nobody at all: still neutral, and no NaN
    for a, b in zip(jax.tree.leaves(nobody), jax.tree.leaves(only), strict=True):
        np.testing.assert_array_equal(a, b)
    again = total(stack([only, messages[0]]))
    for a, b in zip(jax.tree.leaves(messages[0]), jax.tree.leaves(again), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6)


def test_which_rules_are_plain_sums(cohort):
    plain = {
        n: is_plain_sum(aggregation(c).message(cohort.params, cohort.deltas[0], 1.0))
        for n, c in RULES.items()
    }
    assert plain == {
        "mean": True,
        "attentive": False,
        "spectral": False,
        "bounded": True,
        "exact": False,
        "printed": True,
    }
    assert not is_plain_sum([{"x": Peaked(jnp.float32(0), ())}])


def test_no_weight_at_all_is_no_update(cohort):
    rule = aggregation(Config())
    zero = [trees.zeros_like(cohort.params)] * 2
    g = rule.combine(cohort.params, total(stack(said(rule, cohort.params, zero, [0.0, 0.0]))))
    assert all(not np.any(x) for x in g.values())


def test_a_bound_so_loose_that_updates_vanish_is_refused():
    """At 80, e^{s−80} is so small that the ratio of sums is no longer the mean: updates are silently lost."""
    assert settled(Config("attentive", settings={"bound": 60})).settings["bound"] == 60.0
    with pytest.raises(TacitError, match=r"bound = 80\.0 must be between 0 and 60"):
        aggregation(Config("attentive", settings={"bound": 80.0}))


def test_an_unknown_rule_is_named():
    with pytest.raises(TacitError, match=r"attentiv.*did you mean 'attentive'"):
        aggregation(Config(rule="attentiv"))


def test_no_rule_uses_the_matrix_unit_in_less_than_full_precision(cohort):
    """TF32 or bfloat16 passes would make simulators on different hardware disagree."""
    for name, config in RULES.items():
        rule = aggregation(config)

        def whole(params, deltas, rule=rule):
            messages = jax.vmap(lambda d: rule.message(params, d, jnp.float32(1)))(deltas)
            return rule.combine(params, total(messages))

        text = str(jax.make_jaxpr(whole)(cohort.params, stack(cohort.deltas)))
        products = text.count("dot_general")
        assert products == text.count("precision=HIGHEST") + text.count("(Precision.HIGHEST"), name
        assert products == 0 or name == "spectral"
