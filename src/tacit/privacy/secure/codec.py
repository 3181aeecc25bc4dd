"""A tree of numbers as one vector of fixed-point integers, and back.

A schema lists the tree's leaves in the order of `jax.tree.leaves` (dictionaries by key): name, shape, the largest
absolute value one client may send, and f, the number of fractional bits. A number x is the integer round(x · 2^f), ties
to even, modulo 2⁶⁴; the words of a leaf lie in C order, one leaf after another.

Rounding: a client's number is off by at most 2^−(f+1), so a coordinate of a sum over n clients by at most n · 2^−(f+1).
Converting the integer sum to float64 adds at most 2⁻⁵³ of its size. Whole numbers (f = 0) of integer arrays are exact.

Overflow: n · (bound · 2^f + 1) < 2⁶³ for every leaf is checked before a round, and every client refuses to send a
number beyond its bound, or one that is not finite: under a mask nobody could find it afterwards.

A leaf that others are divided by, such as Σu of attentive aggregation, may need a least sum, in quanta of 2^−f: with
Q quanta, the rounding of n clients changes a quotient of size a by at most about n (1 + a) / 2Q.
"""

from __future__ import annotations

import hashlib
import math
import struct
from typing import Any, NamedTuple

import jax
import numpy as np
from numpy.typing import NDArray

from tacit.base.errors import TacitError

BITS = 32  # fractional bits where nothing else is asked for
_MOST_BITS = 62


class Part(NamedTuple):
    """One leaf of a message."""

    name: str
    shape: tuple[int, ...]
    bound: float  # largest |x| of one client
    bits: int = BITS  # f
    quanta: int = 0  # refuse a sum below this many quanta; 0: any sum will do

    @property
    def words(self) -> int:
        """How many numbers the leaf has."""
        return math.prod(self.shape)


class Schema(NamedTuple):
    """The layout of a message."""

    parts: tuple[Part, ...]
    structure: Any  # the tree's structure, as JAX describes it

    @property
    def words(self) -> int:
        """Length of the vector."""
        return sum(part.words for part in self.parts)

    def rounding(self, clients: int) -> Any:
        """Returns the largest rounding error of a coordinate of the sum, for each leaf, as a tree."""
        return jax.tree.unflatten(self.structure, [clients * 2.0 ** -(part.bits + 1) for part in self.parts])

    def digest(self) -> bytes:
        """Returns SHA-256 of the layout, which the terms of a round carry.

        For each part: length of the name 2 · name in UTF-8 · dimensions 1 · each dimension 8 · bound, float64 ·
        fractional bits 1 · quanta 8; everything big-endian.
        """
        digest = hashlib.sha256()
        for part in self.parts:
            name = part.name.encode()
            digest.update(struct.pack(">H", len(name)) + name)
            digest.update(struct.pack(f">B{len(part.shape)}Q", len(part.shape), *part.shape))
            digest.update(struct.pack(">dBQ", part.bound, part.bits, part.quanta))
        return digest.digest()


def schema_of(message: Any, bounds: Any, bits: Any = BITS, quanta: Any = 0) -> Schema:
    """Returns the layout of a message like this one.

    `bounds`, `bits` and `quanta` are single numbers, or trees that begin like the message: a number in the place of a
    subtree holds for all its leaves.

    >>> schema_of((np.zeros(3), np.float32(1)), bounds=(8.0, 1.0), quanta=(0, 1000)).parts[1]
    Part(name='1', shape=(), bound=1.0, bits=32, quanta=1000)
    """
    named, structure = jax.tree_util.tree_flatten_with_path(message)
    columns = [
        _spread(what, tree, message)
        for what, tree in (("bounds", bounds), ("bits", bits), ("quanta", quanta))
    ]
    parts = [
        Part(
            jax.tree_util.keystr(path, simple=True, separator="."),
            np.shape(leaf),
            float(bound),
            int(f),
            int(least),
        )
        for (path, leaf), bound, f, least in zip(named, *columns, strict=True)
    ]
    return Schema(tuple(parts), structure)


def _spread(what: str, prefix: Any, message: Any) -> list[Any]:
    try:
        return jax.tree.leaves(jax.tree.broadcast(prefix, message))
    except ValueError:
        raise TacitError(f"the {what} of a secure sum have another structure than the message") from None


def most_bits(bound: float, clients: int) -> int:
    """Returns the most fractional bits with which the sum of numbers up to `bound` fits.

    >>> most_bits(8.0, 100), most_bits(1e-6, 100)
    (53, 62)
    """
    fits = [f for f in range(_MOST_BITS + 1) if _fits(bound, f, clients)]
    if not fits:
        raise TacitError(f"the sum of {clients} numbers up to {bound:g} does not fit 64 bits")
    return fits[-1]


def quanta_for(error: float, clients: int) -> int:
    """Returns how many quanta a divisor must have, so that rounding changes a quotient a by at most error · (1 + a).

    >>> quanta_for(0.001, 100)
    50000
    """
    return math.ceil(clients / (2 * error))


def _fits(bound: float, bits: int, clients: int) -> bool:
    return clients * (bound * 2.0**bits + 1) < 2.0**63


def check(schema: Schema, clients: int) -> None:
    """Refuses a layout whose sums could overflow, before a round."""
    for part in schema.parts:
        if not 0 <= part.bits <= _MOST_BITS:
            raise TacitError(f"'{part.name}': {part.bits} fractional bits; it must be 0 to {_MOST_BITS}")
        if not (math.isfinite(part.bound) and part.bound > 0):
            raise TacitError(f"'{part.name}': the bound is {part.bound:g}; it must be positive and finite")
        if not 0 <= part.quanta < 2**63:
            raise TacitError(f"'{part.name}': {part.quanta} quanta; it must be 0 or more and fit 63 bits")
        most = most_bits(part.bound, clients)
        if part.bits > most:
            raise TacitError(
                f"'{part.name}': the sum of {clients} numbers up to {part.bound:g} with {part.bits} fractional bits "
                f"does not fit 64 bits; take at most {most} bits, or a smaller bound"
            )


def encode(schema: Schema, message: Any) -> NDArray[np.uint64]:
    """Returns a client's vector [words]; refuses numbers beyond their bounds, and NaN."""
    leaves, structure = jax.tree.flatten(message)
    if structure != schema.structure:
        raise TacitError("a message of a secure sum has another structure than its schema")
    words = np.empty(schema.words, np.uint64)
    at = 0
    for part, leaf in zip(schema.parts, leaves, strict=True):
        words[at : at + part.words] = _fixed(part, np.asarray(leaf)).reshape(-1)
        at += part.words
    return words


def _fixed(part: Part, x: NDArray[Any]) -> NDArray[np.uint64]:
    if x.shape != part.shape:
        raise TacitError(f"'{part.name}' of a message has the shape {x.shape} instead of {part.shape}")
    if x.dtype.kind not in "fiub":
        raise TacitError(f"'{part.name}' of a message has the type {x.dtype}, expected real numbers")
    if x.size and not (x.min() >= -part.bound and x.max() <= part.bound):  # NaN fails both
        what = "beyond its bound" if np.all(np.isfinite(x)) else "that is not finite; its bound is"
        raise TacitError(f"'{part.name}' of a message has a number {what} {part.bound:g}. Nothing is sent")
    if x.dtype.kind != "f":
        return (x.astype(np.int64) << part.bits).view(np.uint64)
    return np.rint(x.astype(np.float64) * 2.0**part.bits).astype(np.int64).view(np.uint64)


def decode(schema: Schema, total: NDArray[np.uint64], clients: int) -> Any:
    """Returns the tree of a sum over `clients`: float64, and int64 where a part has no fractional bits."""
    if total.shape != (schema.words,):
        raise TacitError(f"a sum has {total.size} words instead of {schema.words}")
    leaves = []
    at = 0
    for part in schema.parts:
        whole = total[at : at + part.words].view(np.int64).reshape(part.shape)
        at += part.words
        _check_sum(part, whole, clients)
        leaves.append(whole if not part.bits else whole / 2.0**part.bits)
    return jax.tree.unflatten(schema.structure, leaves)


def _check_sum(part: Part, whole: NDArray[np.int64], clients: int) -> None:
    limit = clients * (part.bound * 2.0**part.bits + 1)
    if whole.size and not (whole.min() >= -limit and whole.max() <= limit):
        raise TacitError(
            f"the sum of '{part.name}' is beyond what {clients} clients within their bounds can send"
        )
    if part.quanta and whole.size and whole.min() < part.quanta:
        raise TacitError(
            f"the sum of '{part.name}' has {int(whole.min())} quanta of 2^-{part.bits}, fewer than {part.quanta}: "
            "rounding would be felt in what is divided by it; lower the bound of the score (in training, "
            "privacy.clip), or raise the bits"
        )
