"""The image classifiers against scipy, and their published sizes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.signal import correlate2d

import reference
from tacit.models import count_parameters
from tacit.models.images import convolve_and_pool, logistic_regression, mnist_2nn, mnist_cnn


def test_published_sizes():
    key = jax.random.key(0)
    assert count_parameters(jax.eval_shape(mnist_2nn().init, key)) == 199_210
    assert count_parameters(jax.eval_shape(mnist_cnn().init, key)) == 1_663_370
    assert count_parameters(jax.eval_shape(logistic_regression(60, 10).init, key)) == 610


def test_initial_weights_are_glorots():
    """Uniform within √(6 / (inputs + outputs)), of a convolution those of all its 5×5 places; no biases."""
    params = mnist_cnn().init(jax.random.key(0))
    ends = {"conv0": 25 * (1 + 32), "conv1": 25 * (32 + 64), "hidden": 7 * 7 * 64 + 512, "output": 512 + 10}
    for name, both in ends.items():
        largest, bound = np.abs(params[name]["weight"]).max(), (6 / both) ** 0.5
        assert 0.98 * bound < largest <= bound and not params[name]["bias"].any(), name


def test_2nn_and_logistic_regression_by_hand():
    model = mnist_2nn()
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 0, 0.1)
    x = np.random.default_rng(0).normal(size=(3, 784)).astype(np.float32)
    p, h = reference.float64(params), x.astype(np.float64)
    for layer in ("hidden0", "hidden1"):
        h = np.maximum(h @ p[layer]["weight"] + p[layer]["bias"], 0)
    expected = h @ p["output"]["weight"] + p["output"]["bias"]
    np.testing.assert_allclose(model.apply(params, x), expected, rtol=1e-3, atol=1e-3)
    line = logistic_regression(784, 10)
    assert all(not np.any(leaf) for leaf in jax.tree.leaves(line.init(jax.random.key(0))))
    w = reference.shaken(jax.eval_shape(line.init, jax.random.key(0)), 1)
    np.testing.assert_allclose(line.apply(w, x), x @ w["weight"] + w["bias"], rtol=1e-3, atol=1e-3)


def convolve(layer, x):
    """[channels, height, width] → the same size, ReLU, then the maximum of every 2×2 block."""
    weight, bias = layer["weight"], layer["bias"]
    out = []
    for o in range(weight.shape[-1]):
        total = sum(correlate2d(x[i], weight[:, :, i, o], mode="same") for i in range(len(x)))
        out.append(np.maximum(total + bias[o], 0))
    pooled = np.array(out).reshape(len(out), x.shape[1] // 2, 2, x.shape[2] // 2, 2)
    return pooled.max(axis=(2, 4))


def test_cnn_against_scipys_correlation():
    model = mnist_cnn()
    params = reference.shaken(jax.eval_shape(model.init, jax.random.key(0)), 0, 0.1)
    x = np.random.default_rng(0).normal(size=(1, 784)).astype(np.float32)
    p = reference.float64(params)
    image = convolve(p["conv1"], convolve(p["conv0"], x.astype(np.float64).reshape(1, 28, 28)))
    flat = image.transpose(1, 2, 0).ravel()  # height, width, channel
    h = np.maximum(flat @ p["hidden"]["weight"] + p["hidden"]["bias"], 0)
    expected = h @ p["output"]["weight"] + p["output"]["bias"]
    np.testing.assert_allclose(model.apply(params, x)[0], expected, rtol=1e-3, atol=1e-2)


@pytest.mark.parametrize(
    ("height", "width", "channels", "outputs"), [(2, 2, 1, 3), (4, 6, 2, 1), (14, 14, 8, 16)]
)
def test_convolution_and_pooling_and_their_gradients_against_xlas(height, width, channels, outputs):
    draw = np.random.default_rng(height)
    layer = {
        "weight": draw.normal(size=(5, 5, channels, outputs)).astype(np.float32),
        "bias": draw.normal(size=outputs).astype(np.float32),
    }
    x = draw.normal(size=(3, height, width, channels)).astype(np.float32)
    pull = draw.normal(size=(3, height // 2, width // 2, outputs)).astype(np.float32)

    def by_xla(layer, x):
        y = jax.lax.conv_general_dilated(
            x, layer["weight"], (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
        )
        y = jax.nn.relu(y + layer["bias"])
        return jax.lax.reduce_window(y, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    (ours, back), (theirs, judge) = (jax.vjp(f, layer, x) for f in (convolve_and_pool, by_xla))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-4)
    for found, expected in zip(*(jax.tree.leaves(f(pull)) for f in (back, judge)), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
