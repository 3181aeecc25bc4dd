"""What all forms of compression have in common: an array becomes a few arrays that travel, and is made of them again.

A codec works on one array. `encode` returns the arrays by name, in the types in which they travel, and `decode` makes
float32 of them. Both are pure functions of JAX, so the simulator runs them inside its compiled programs, and a client
and a server run the same two on a device and on a host.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

Parts = Mapping[str, Any]  # the arrays by name that stand for one array
Shape = tuple[int, ...]

_WIDE = 64  # a row of at least so many numbers has a scale of its own
_BLOCK = 256  # numbers that share a scale elsewhere


class Codec(NamedTuple):
    """A form of compression for one array."""

    encode: Callable[[Array, Array], dict[str, Array]]  # (key, array) → what travels
    decode: Callable[[Parts, Shape], Array]  # (what travels, shape of the array) → float32
    # (what travels, as numpy arrays of the right shapes and types; shape of the array) → what is wrong, or ""
    fault: Callable[[Parts, Shape], str] = lambda parts, shape: ""


def as_it_is() -> Codec:
    """Returns the codec that changes nothing."""
    return Codec(lambda key, x: {"values": x}, lambda parts, shape: parts["values"])


def width(shape: Shape) -> int:
    """Returns how many numbers of an array share a scale: a row of a matrix, or a block of a vector.

    >>> width((10_000, 96)), width((10_000,)), width((3,))
    (96, 256, 3)
    """
    rows = len(shape) >= 2 and shape[-1] >= _WIDE
    return shape[-1] if rows else max(1, min(int(np.prod(shape)), _BLOCK))


def in_rows(x: Array, width: int) -> Array:
    """Returns the numbers of an array as [rows, width], with zeros at the end."""
    flat = x.ravel()
    return jnp.pad(flat, (0, -flat.size % width)).reshape(-1, width)


def rounded(key: Array, x: Array) -> Array:
    """Rounds each number up or down at random, so that its mean is the number; whole numbers stay as they are."""
    return jnp.floor(x + jax.random.uniform(key, x.shape))


def divided(x: Array, scale: Array) -> Array:
    """Returns x / scale row by row, and 0 where the scale is 0."""
    positive = scale > 0
    return jnp.where(positive, x / jnp.where(positive, scale, 1), 0 * x)


def negative_scale(parts: Parts, shape: Shape) -> str:
    """Returns what is wrong with scales below zero."""
    del shape
    return "a scale is negative" if np.any(np.asarray(parts["scales"]) < 0) else ""
