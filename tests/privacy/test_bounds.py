"""Clipping, and joint noise: what one client sends is never more than its bounds say, whatever it computed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tacit.federated.aggregation import AggregationConfig, aggregation
from tacit.federated.private import Private, bounds_of, client_parts, private_form
from tacit.privacy.bounds import Bounds, clip_factor, clipped, scales, spread
from tacit.privacy.config import PrivacyConfig

SHAPES = {"bias": (3,), "matrix": (4, 5), "none": (1,)}
RULES = {
    "mean": AggregationConfig(),
    "uniform mean": AggregationConfig(settings={"uniform": True}),
    "attentive": AggregationConfig("attentive"),
    "attentive, own bound": AggregationConfig("attentive", settings={"bound": 0.3}),
    "spectral": AggregationConfig("attentive", settings={"distance": "spectral"}),
    "exact": AggregationConfig("attentive-loss"),
    "as printed": AggregationConfig("attentive-loss", settings={"form": "as-printed"}),
    "norm-bounded": AggregationConfig("norm-bounded", settings={"norm": 0.3}),
    "norm-bounded by weight": AggregationConfig("norm-bounded", settings={"uniform": False}),
}
CASES = 10_000  # of each rule
CONFIG = {
    "mechanism": "gaussian",
    "noise": 0.01,
    "clip": 1.0,
    "moments_clip": 0.1,
    "second_clip": 3e-4,
    "adaptive": True,
}


def draws(seed: int) -> dict:
    """Clients of every kind: norms from 1e-20 to 1e25, zeros, infinities, NaN, weights and moments of any size."""
    draw = np.random.default_rng(seed)

    def tree(low: float, high: float) -> dict:
        size = 10.0 ** draw.uniform(low, high, CASES)
        each = {k: draw.normal(size=(CASES, *shape)) for k, shape in SHAPES.items()}
        return {k: (v.T * size).T.astype(np.float32) for k, v in each.items()}

    with np.errstate(over="ignore"):
        update = tree(-20, 25)
    update["bias"][::50] = 0
    update["matrix"][::50], update["none"][::50] = 0, 0
    update["matrix"][1::50, 2, 2] = np.nan
    update["none"][2::50] = -np.inf
    before = [
        draw.normal(size=(CASES, 3)).astype(np.float32),
        np.abs(draw.normal(size=(CASES, 4, 5))).astype(np.float32),
        np.float32(draw.uniform(0, 9, CASES)),
    ]
    after = [
        before[0] + np.float32(10.0 ** draw.uniform(-9, 3, (CASES, 1))),
        before[1] * np.float32(10.0 ** draw.uniform(-3, 25)),
        before[2] + np.float32(draw.normal(0, 300, CASES)),
    ]
    after[0][5::50] = -np.inf
    after[1][3::50] = np.nan
    after[2][4::50] = np.inf
    return {
        "params": tree(-3, 3),
        "update": update,
        "clip": np.float32(10.0 ** draw.uniform(-4, 3, CASES)),
        "weight": np.float32(10.0 ** draw.uniform(-3, 6, CASES)),
        "before": before,
        "after": after,
    }


def norms(tree, cases: int = CASES) -> np.ndarray:
    """The norm of each case, in float64."""
    return np.sqrt(
        sum(np.sum(np.asarray(x, np.float64).reshape(cases, -1) ** 2, 1) for x in jax.tree.leaves(tree))
    )


@pytest.mark.parametrize("name", RULES)
def test_nobody_sends_more_than_the_bounds(name):
    rule = aggregation(RULES[name])
    weight = "bounded" if name in ("mean", "norm-bounded by weight") else "uniform"
    private = Private(PrivacyConfig(**CONFIG, weight=weight), 1000.0, ("m", "v", "count"))
    one = draws(len(name))

    def sends(params, update, clip, weight, before, after):
        parts = client_parts(rule, private, params, clip, update, weight, jnp.int32(7), (before, after))
        return parts, bounds_of(rule, private, params, clip)

    parts, bounds = jax.jit(jax.vmap(sends))(
        *(one[k] for k in ("params", "update", "clip", "weight", "before", "after"))
    )
    shares = [float(np.asarray(x).flat[0]) for x in jax.tree.leaves(bounds.shares)]
    assert sum(shares) == pytest.approx(1)
    limits = [np.asarray(x, np.float64) for x in jax.tree.leaves(bounds.norms)]
    sent = jax.tree.leaves(jax.tree.map(lambda _, part: norms(part), bounds.norms, parts))
    joint = np.zeros(CASES)
    for share, limit, norm in zip(shares, limits, sent, strict=True):
        assert np.all(norm <= limit), name
        joint += share * (norm / limit) ** 2
    assert np.all(joint <= 1)
    assert np.max(joint) > 0.5  # the bounds are not idle: somebody comes near
    broken = ~np.isfinite(norms(one["update"]) ** 2) | (norms(one["update"]) > 1.9e19)
    assert broken[1] and broken[2]
    assert np.all(norms(parts)[broken] == 0)  # also its clip indicator and its moments
    assert np.all(np.isfinite(norms(parts)))


@pytest.mark.parametrize(("norm", "clip"), [(0.3, 2.0), (2.0, 0.3)])
def test_the_private_form_of_norm_bounded_against_numpy(norm, clip):
    """The mean, over the expected clients, of updates clipped to the smaller of the two norms."""
    rule = aggregation(AggregationConfig("norm-bounded", settings={"norm": norm}))
    private = Private(PrivacyConfig(mechanism="gaussian", noise=1.0, clip=clip), 10.0)
    draw = np.random.default_rng(1)
    updates = [{"a": np.float32(draw.normal(0, size, (3, 2)))} for size in (0.01, 0.2, 30.0)]
    sent = [
        client_parts(rule, private, {"a": np.zeros((3, 2))}, clip, update, jnp.float32(9), 1).rule
        for update in updates
    ]
    form = private_form("", rule, private.terms(clip))
    found = form.combine({}, jax.tree.map(lambda *xs: sum(xs), *sent))["a"]
    scaled = [u["a"] * min(1, min(norm, clip) / np.linalg.norm(u["a"])) for u in updates]
    np.testing.assert_allclose(found, -sum(scaled) / 10, rtol=3e-5)


def test_rounding_of_a_sum_hides_in_the_margin():
    """One client more or less changes how all later 32-bit additions round; the clip leaves room for that."""
    draw = np.random.default_rng(3)
    along = draw.normal(size=1000)  # honest updates agree in part, so their sum is long
    updates = draw.normal(size=(1000, 1000)) + along
    sent, _ = jax.vmap(lambda x: clipped(x, 1.0))(jnp.float32(updates))
    sent = np.asarray(sent)
    whole = np.cumsum(sent, axis=0, dtype=np.float32)[-1].astype(np.float64)
    for k in (0, 1, 500, 999):
        zeros = sent.copy()
        zeros[k] = 0
        without = np.cumsum(zeros, axis=0, dtype=np.float32)[-1]
        assert 0.9999 < np.linalg.norm(whole - without) < 1


def test_clipping_against_numpy():
    draw = np.random.default_rng(0)
    for _ in range(50):
        tree = {"a": draw.normal(size=(3, 2)), "b": draw.normal(size=4) * draw.choice([0, 1, 100])}
        clip = float(draw.uniform(0.1, 5))
        length = np.sqrt(sum((x**2).sum() for x in tree.values()))
        found, finite = clipped(jax.tree.map(jnp.float32, tree), clip)
        assert bool(finite)
        for name, value in tree.items():
            np.testing.assert_allclose(found[name], value * min(1, clip / length), rtol=3e-5, atol=1e-7)
    assert float(clip_factor(jnp.float32(0), 1.0)) == 1


def test_joint_noise_scales():
    found = scales(Bounds({"a": 3.0, "b": [1.0, 2.0]}, {"a": 2.0, "b": [1.0, 1.0]}))
    assert found == {"a": 3 * 2**0.5, "b": [2.0, 4.0]}
    assert scales(Bounds(7.0)) == 7.0
    spread_out = spread({"a": 1.0, "b": 2.0}, {"a": (np.zeros(2), np.zeros(3)), "b": np.zeros(1)})
    assert spread_out == {"a": (1.0, 1.0), "b": 2.0}
