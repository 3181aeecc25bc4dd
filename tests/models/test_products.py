"""Products in bfloat16 round their factors and nothing else, forward and backward."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from tacit.models.base import ModelConfig, product, short_product

COARSE, FINE = product(ModelConfig(precision="bfloat16")), product(ModelConfig())
SHAPES = {"rows": ((6, 5), (5, 4)), "batch of rows": ((2, 3, 5), (5, 4)), "groups": ((2, 6, 5), (2, 5, 4))}


def rounded(a):
    return a.astype(ml_dtypes.bfloat16).astype(np.float64)


@pytest.mark.parametrize("name", SHAPES)
def test_gradients_are_products_of_rounded_factors_in_full(name):
    draw = np.random.default_rng(0)
    x, w = (draw.normal(size=shape).astype(np.float32) for shape in SHAPES[name])
    g = draw.normal(size=(*x.shape[:-1], w.shape[-1])).astype(np.float32)
    value, pull = jax.vjp(COARSE, jnp.asarray(x), jnp.asarray(w))
    dx, dw = pull(jnp.asarray(g))
    outer = {(2, 2): "ri,ro->io", (3, 2): "bri,bro->io", (3, 3): "gri,gro->gio"}[x.ndim, w.ndim]
    expected = (
        rounded(x) @ rounded(w),
        rounded(g) @ np.swapaxes(rounded(w), -1, -2),
        np.einsum(outer, rounded(x), rounded(g)),
    )
    for ours, theirs in zip((value, dx, dw), expected, strict=True):
        assert ours.dtype == jnp.float32
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    for sum_ in (dx, dw):
        assert not np.array_equal(sum_, sum_.astype(jnp.bfloat16))  # is not rounded


def test_both_precisions_have_gradients_that_agree_roughly_but_not_exactly():
    draw = np.random.default_rng(1)
    x, w = (jnp.asarray(draw.normal(size=shape), jnp.float32) for shape in SHAPES["rows"])

    def gradients(dot):
        return jax.grad(lambda x, w: jnp.sum(jnp.sin(dot(x, w))), (0, 1))(x, w)

    for rough, fine in zip(gradients(COARSE), gradients(FINE), strict=True):
        difference = float(jnp.abs(rough - fine).max())
        assert 0 < difference < 0.05 * float(jnp.abs(fine).max())


def test_a_short_product_is_rounded_once_after_its_sum():
    draw = np.random.default_rng(2)
    x, w = (draw.normal(size=shape).astype(np.float32) for shape in ((6, 300), (300, 4)))
    found = short_product(ModelConfig(precision="bfloat16"))(
        jnp.asarray(x, jnp.bfloat16), jnp.asarray(w, jnp.bfloat16)
    )
    assert found.dtype == jnp.bfloat16
    exact = rounded(x) @ rounded(w)
    np.testing.assert_allclose(
        np.asarray(found, np.float64), exact, rtol=2**-8, atol=1e-4
    )  # half of its last bit
    np.testing.assert_array_equal(short_product(ModelConfig())(x, w), FINE(x, w))
