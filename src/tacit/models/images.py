"""Builds the small classifiers of paper 5: MNIST 2NN, MNIST CNN (section 3.3.1) and logistic regression.

A classifier is a pair of functions, `init(key) -> params` and `apply(params, x) -> logits`. x is [batch, features],
with 784 pixels for the image models.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tacit.models.base import Params

_EXACT = jax.lax.Precision.HIGHEST


class Classifier(NamedTuple):
    """A model that maps features to the logits of classes."""

    init: Callable[[Array], Params]
    apply: Callable[[Params, Array], Array]


def _dense(key: Array, inputs: int, outputs: int) -> Params:
    scale = (6 / (inputs + outputs)) ** 0.5
    weight = jax.random.uniform(key, (inputs, outputs), jnp.float32, -scale, scale)
    return {"weight": weight, "bias": jnp.zeros(outputs, jnp.float32)}


def _apply(layer: Params, x: Array) -> Array:
    return jnp.matmul(x, layer["weight"], precision=_EXACT) + layer["bias"]


def logistic_regression(features: int, classes: int) -> Classifier:
    """Returns multinomial logistic regression with zero initial weights (paper 5, section 5)."""

    def init(key: Array) -> Params:
        del key  # the loss is convex, so the initial weights do not matter
        return {"weight": jnp.zeros((features, classes)), "bias": jnp.zeros(classes)}

    return Classifier(init, _apply)


def mnist_2nn(classes: int = 10) -> Classifier:
    """Returns a network with two hidden layers of 200 ReLU units: 199,210 parameters."""

    def init(key: Array) -> Params:
        a, b, c = jax.random.split(key, 3)
        return {
            "hidden0": _dense(a, 784, 200),
            "hidden1": _dense(b, 200, 200),
            "output": _dense(c, 200, classes),
        }

    def apply(params: Params, x: Array) -> Array:
        x = jax.nn.relu(_apply(params["hidden0"], x))
        return _apply(params["output"], jax.nn.relu(_apply(params["hidden1"], x)))

    return Classifier(init, apply)


def convolve_and_pool(layer: Params, x: Array) -> Array:
    """Computes a same-size 5×5 convolution, ReLU and 2×2 max-pooling as one matrix product; sizes must be even.

    Every client has its own weights, and a batched convolution is then many times slower than a product over
    patches. But writing the patches takes longer than the product. So one patch serves the four outputs of a
    pooling window: it is 6×6, copied as nine blocks of 2×2 (36 cells instead of 4 · 25), and the kernel is placed
    at each of the four positions in it. This takes a third of the memory for 1.4 times the multiplications. The
    product has the device's default precision, which is TF32 on NVIDIA GPUs.
    """
    weight, (batch, height, width, channels) = layer["weight"], x.shape
    x = jnp.pad(x, ((0, 0), (2, 2), (2, 2), (0, 0)))
    x = x.reshape(batch, height // 2 + 2, 2, width // 2 + 2, 2, channels).swapaxes(2, 3)
    blocks = x.reshape(*x.shape[:3], 4 * channels)  # [batch, rows, columns, 2 · 2 · channels]
    parts = [blocks[:, i : i + height // 2, j : j + width // 2] for i in range(3) for j in range(3)]
    placed = [jnp.pad(weight, ((i, 1 - i), (j, 1 - j), (0, 0), (0, 0))) for i in (0, 1) for j in (0, 1)]
    kernel = jnp.stack(placed, axis=-2).reshape(3, 2, 3, 2, channels, -1)
    kernel = kernel.swapaxes(1, 2)  # the order of `blocks`: by block, then within it
    x = jnp.concatenate(parts, axis=-1) @ kernel.reshape(36 * channels, -1)
    return jax.nn.relu(x.reshape(*x.shape[:3], 4, -1).max(axis=-2) + layer["bias"])


def mnist_cnn(classes: int = 10) -> Classifier:
    """Returns a network of two 5×5 convolutions (32, 64 channels) with 2×2 pooling and 512 ReLU units.

    It has 1,663,370 parameters.
    """

    def init(key: Array) -> Params:
        a, b, c, d = jax.random.split(key, 4)

        def kernel(k: Array, i: int, o: int) -> Params:
            scale = (6 / (25 * (i + o))) ** 0.5
            weight = jax.random.uniform(k, (5, 5, i, o), jnp.float32, -scale, scale)
            return {"weight": weight, "bias": jnp.zeros(o, jnp.float32)}

        return {
            "conv0": kernel(a, 1, 32),
            "conv1": kernel(b, 32, 64),
            "hidden": _dense(c, 7 * 7 * 64, 512),
            "output": _dense(d, 512, classes),
        }

    def apply(params: Params, x: Array) -> Array:
        x = convolve_and_pool(params["conv1"], convolve_and_pool(params["conv0"], x.reshape(-1, 28, 28, 1)))
        x = jax.nn.relu(_apply(params["hidden"], x.reshape(x.shape[0], -1)))
        return _apply(params["output"], x)

    return Classifier(init, apply)
