"""Sketched updates (Konečný et al. 2016, section 3): rotate at random, keep a share, round to a few bits.

    y = H D x / √B        D: random signs, H: the Hadamard matrix, over blocks of B = 1024 numbers
    z = y at random positions, times n/k
    c = z rounded at random to 2^bits levels between the least and the largest of 1024 numbers

A rotation spreads a large number over its whole block. Then the numbers of a block are alike, few levels suffice, and
it matters little which of them travel. H D/√B is its own inverse but for the order, and each step keeps the mean, so
the mean of what is decoded is the array. A seed of 8 bytes stands for the signs and the positions.
"""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.compression.codec import Codec, Parts, Shape, divided, in_rows, negative_scale, rounded
from tacit.federated.compression.partial import drawn, kept

_BLOCK = 1024


def hadamard(rows: Array) -> Array:
    """Returns rows [rows, B] times the Hadamard matrix over √B; B is a power of two.

    >>> hadamard(jnp.array([[1.0, 0.0, 0.0, 0.0]])).tolist()
    [[0.5, 0.5, 0.5, 0.5]]
    """
    count, block = rows.shape
    half = 1
    while half < block:
        pairs = rows.reshape(count, -1, 2, half)
        rows = jnp.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        half *= 2
    return rows.reshape(count, block) / np.float32(math.sqrt(block))


def packed(codes: Array, bits: int) -> Array:
    """Returns codes below 2^bits as bytes, the first code in the lowest bits.

    >>> packed(jnp.array([1, 2, 3]), 4).tolist()
    [33, 3]
    """
    places = in_rows(codes.astype(jnp.uint8), 8 // bits)
    shifts = jnp.arange(8 // bits, dtype=jnp.uint8) * bits
    return jnp.sum(places << shifts, axis=1, dtype=jnp.uint8)


def unpacked(content: Array, bits: int, count: int) -> Array:
    """Returns the first codes of bytes that `packed` gives."""
    shifts = jnp.arange(8 // bits, dtype=jnp.uint8) * bits
    codes = (jnp.asarray(content)[:, None] >> shifts) & jnp.uint8(2**bits - 1)
    return codes.ravel()[:count]


def sketch(share: float, bits: int) -> Codec:
    """Returns the codec of a rotated, subsampled and rounded array."""
    levels = 2**bits - 1

    def signs(seed: Array, shape: Shape) -> Array:
        key = jax.random.fold_in(jax.random.wrap_key_data(jnp.asarray(seed)), 1)
        return jax.random.rademacher(key, shape, jnp.float32)

    def sizes(size: int) -> tuple[int, int]:
        """Returns the numbers of a block and of all blocks."""
        block = min(_BLOCK, 2 ** (size - 1).bit_length())
        return block, -(-size // block) * block

    def encode(key: Array, x: Array) -> dict[str, Array]:
        seed = jax.random.key_data(jax.random.fold_in(key, 0))
        block, size = sizes(x.size)
        rows = in_rows(x, block)
        rotated = hadamard(rows * signs(seed, rows.shape)).ravel()
        count = kept(share, size)
        positions, _ = drawn(seed, count, size)
        # the last row is filled up with a number of its own, so that its range stays what it is
        row = min(count, _BLOCK)
        values = jnp.pad(rotated[positions], (0, -count % row), mode="edge").reshape(-1, row)
        least = values.min(axis=1)
        scales = (values.max(axis=1) - least) / levels
        steps = rounded(jax.random.fold_in(key, 1), divided(values - least[:, None], scales[:, None]))
        codes = jnp.clip(steps, 0, levels).ravel()[:count]
        return {"codes": packed(codes, bits), "least": least, "scales": scales, "seed": seed}

    def decode(parts: Parts, shape: Shape) -> Array:
        wanted = math.prod(shape)
        block, size = sizes(wanted)
        count = kept(share, size)
        codes = in_rows(unpacked(parts["codes"], bits, count).astype(jnp.float32), min(count, _BLOCK))
        values = jnp.asarray(parts["least"])[:, None] + codes * jnp.asarray(parts["scales"])[:, None]
        positions, lengths = drawn(parts["seed"], count, size)
        rotated = jnp.zeros(size).at[positions].set(values.ravel()[:count] * lengths).reshape(-1, block)
        rows = hadamard(rotated) * signs(parts["seed"], rotated.shape)
        return rows.ravel()[:wanted].reshape(shape)

    return Codec(encode, decode, negative_scale)
