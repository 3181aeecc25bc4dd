"""Sparse forms: only a share of the numbers of an array travels.

    top-k         the largest numbers by absolute value, in bf16, with their positions. Biased: what does not travel has
                  to be kept and sent later (`feedback`)
    random-mask   a structured update (Konečný et al. 2016): numbers at random positions, times n/k. A seed of 8 bytes
                  stands for the positions

A mask takes one number at random from each of k equal stretches of the array. So every number is as likely to travel as
any other, the mean of what is decoded is the array, and no sort is needed.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.compression.codec import Codec, Parts, Shape
from tacit.federated.compression.dense import from_bf16, to_bf16


def kept(share: float, size: int) -> int:
    """Returns how many numbers of an array travel: at least one.

    >>> kept(0.1, 1000), kept(0.1, 3)
    (100, 1)
    """
    return min(size, max(1, math.ceil(round(share * size, 6))))


def drawn(seed: Array, count: int, size: int) -> tuple[Array, np.ndarray]:
    """Returns positions [count] in ascending order, one from each stretch, and the lengths of the stretches."""
    edges = np.arange(count + 1, dtype=np.int64) * size // count
    lengths = np.diff(edges)
    key = jax.random.wrap_key_data(jnp.asarray(seed))
    within = jnp.floor(jax.random.uniform(key, (count,)) * lengths.astype(np.float32)).astype(jnp.int32)
    # a product of float32 may be rounded up to the length
    within = jnp.minimum(within, lengths.astype(np.int32) - 1)
    return jnp.asarray(edges[:-1], jnp.int32) + within, lengths.astype(np.float32)


def random_mask(share: float) -> Codec:
    """Returns the codec of numbers at random positions that a seed gives."""

    def encode(key: Array, x: Array) -> dict[str, Array]:
        seed = jax.random.key_data(key)
        positions, _ = drawn(seed, kept(share, x.size), x.size)
        return {"values": x.ravel()[positions], "seed": seed}

    def decode(parts: Parts, shape: Shape) -> Array:
        size = math.prod(shape)
        positions, lengths = drawn(parts["seed"], kept(share, size), size)
        return jnp.zeros(size).at[positions].set(parts["values"] * lengths).reshape(shape)

    return Codec(encode, decode)


def top_k(share: float) -> Codec:
    """Returns the codec of the largest numbers; of equal ones the first."""

    def encode(key: Array, x: Array) -> dict[str, Array]:
        del key
        flat = x.ravel()
        positions = jnp.sort(jax.lax.top_k(jnp.abs(flat), kept(share, x.size))[1])
        return {"values": to_bf16(flat[positions]), "positions": positions.astype(jnp.int32)}

    def decode(parts: Parts, shape: Shape) -> Array:
        values = from_bf16(parts["values"])
        return jnp.zeros(math.prod(shape)).at[jnp.asarray(parts["positions"])].set(values).reshape(shape)

    def fault(parts: Parts, shape: Shape) -> str:
        positions = np.asarray(parts["positions"])
        if positions[0] < 0 or positions[-1] >= math.prod(shape):
            return "a position is outside the array"
        return "" if np.all(positions[1:] > positions[:-1]) else "its positions do not ascend"

    return Codec(encode, decode, fault)
