"""Dense forms: every number travels, in fewer bits.

    bf16      the upper 16 bits of a float32, rounded to the nearest, or (under privacy) toward zero
    int8      x ≈ s·c, c in −127 … 127, s the largest |x| of the row over 127; rounded at random, so the mean is x
    moments   v ≈ s·2^((c − 255)/8), c in 1 … 255, and 0 for c = 0; s the largest v of the row; rounded at random

Second moments span many powers of two within a row, and Adam divides by their roots: a uniform grid would round most of
them to 0, and the next step would be huge. Levels a constant factor apart keep a relative error below 9.1 %, and what
is below the lowest level, 2⁻³² of the largest, is on average still what it was. No code stands for a negative number.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.federated.compression.codec import (
    Codec,
    Parts,
    Shape,
    divided,
    in_rows,
    negative_scale,
    rounded,
    width,
)

_LARGEST = 127  # code of the largest number of a row
_STEPS, _TOP = 8, 255  # levels for each factor of two; code of the largest moment
# the level of each code; float64 and once rounded, so all machines have the same
_LEVELS = np.concatenate([[0.0], 2.0 ** ((np.arange(1, 256) - _TOP) / _STEPS)]).astype(np.float32)


def to_bf16(x: Array, toward_zero: bool = False) -> Array:
    """Returns the bits of bfloat16 numbers as uint16: npy files have no bfloat16.

    >>> [hex(int(b)) for b in to_bf16(jnp.array([1.0, -2.0]))]
    ['0x3f80', '0xc000']
    """
    if toward_zero:
        bits = jax.lax.bitcast_convert_type(x.astype(jnp.float32), jnp.uint32)
        return (bits >> 16).astype(jnp.uint16)
    return jax.lax.bitcast_convert_type(x.astype(jnp.bfloat16), jnp.uint16)


def from_bf16(bits: Array) -> Array:
    """Returns the numbers of these bits as float32."""
    return jax.lax.bitcast_convert_type(jnp.asarray(bits, jnp.uint32) << 16, jnp.float32)


def bf16(toward_zero: bool = False) -> Codec:
    """Returns the codec of bfloat16. Toward zero no number grows, so whatever bounds a message still bounds it."""
    return Codec(
        lambda key, x: {"values": to_bf16(x, toward_zero)}, lambda parts, shape: from_bf16(parts["values"])
    )


def int8() -> Codec:
    """Returns the codec of 8 bits with stochastic rounding and a scale for each row."""

    def encode(key: Array, x: Array) -> dict[str, Array]:
        rows = in_rows(x, width(x.shape))
        scales = jnp.max(jnp.abs(rows), axis=1) / _LARGEST
        codes = jnp.clip(rounded(key, divided(rows, scales[:, None])), -_LARGEST, _LARGEST)
        return {"codes": codes.ravel()[: x.size].astype(jnp.int8), "scales": scales}

    def decode(parts: Parts, shape: Shape) -> Array:
        return _scaled(jnp.asarray(parts["codes"], jnp.float32), parts["scales"], shape)

    def fault(parts: Parts, shape: Shape) -> str:
        if np.any(np.asarray(parts["codes"]) < -_LARGEST):
            return f"a code is below -{_LARGEST}"
        return negative_scale(parts, shape)

    return Codec(encode, decode, fault)


def moments8() -> Codec:
    """Returns the codec of second moments in 8 bits: levels a constant factor apart, and zero."""

    def encode(key: Array, x: Array) -> dict[str, Array]:
        rows = in_rows(x, width(x.shape))
        scales = jnp.max(rows, axis=1)
        share, levels = divided(rows, scales[:, None]), jnp.asarray(_LEVELS)  # share: in 0 … 1
        below = jnp.floor(_TOP + _STEPS * jnp.log2(jnp.maximum(share, 1e-30)))
        low = jnp.clip(below, 0, _TOP - 1).astype(jnp.int32)
        up = (share - levels[low]) / (levels[low + 1] - levels[low])  # probability of the level above
        codes = low + (jax.random.uniform(key, rows.shape) < up)
        return {"codes": codes.ravel()[: x.size].astype(jnp.uint8), "scales": scales}

    def decode(parts: Parts, shape: Shape) -> Array:
        return _scaled(jnp.asarray(_LEVELS)[jnp.asarray(parts["codes"], jnp.int32)], parts["scales"], shape)

    return Codec(encode, decode, negative_scale)


def _scaled(values: Array, scales: Array, shape: Shape) -> Array:
    """Returns values times the scale of their row, in the shape of the array."""
    rows = in_rows(values, width(shape)) * jnp.asarray(scales)[:, None]
    return rows.ravel()[: values.size].reshape(shape)
