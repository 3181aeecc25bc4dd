"""Checks of what a client sends, before it can touch anything.

`check_update` is for a server of a network: it looks at decoded arrays, trusts nothing about them, and returns why an
update is refused. `acceptable` is the part of it that can fail in a simulation, traced into the program that trains a
cohort: there schema, shapes and round are right by construction.

One number that is not finite would make the whole sum so; an array of shape (1,) would be broadcast; a negative or huge
weight would turn or take over a mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.base.errors import shown
from tacit.federated import trees
from tacit.federated.local import Reply, Sending
from tacit.models.base import Params, tree_names

_LARGEST = float(np.finfo(np.float32).max)  # sums are of float32


class Expected(NamedTuple):
    """What a server accepts in a round."""

    shapes: Mapping[str, tuple[int, ...]]  # of every array, by name; all are float32
    round: int
    max_norm: float = 0.0  # of the whole update; 0: any that is finite
    max_weight: float = _LARGEST


def expected(params: Params, round_: int, max_norm: float = 0.0, max_weight: float = _LARGEST) -> Expected:
    """Returns what a server accepts as updates of this model.

    >>> expected({"bias": np.zeros(3)}, round_=7).shapes
    {'bias': (3,)}
    """
    leaves = jax.tree.leaves(params)
    shapes = {name: tuple(leaf.shape) for name, leaf in zip(tree_names(params), leaves, strict=True)}
    return Expected(shapes, round_, max_norm, max_weight)


def check_update(accepts: Expected, update: Any, weight: Any, round_: Any) -> str:
    """Returns why an update is refused, in a few words without its content; "" if it is accepted.

    `update` should hold arrays by name. Nothing is converted: what is not as expected is refused.

    >>> accepts = expected({"bias": np.zeros(3)}, round_=7)
    >>> check_update(accepts, {"bias": np.ones(3, np.float32)}, weight=2.0, round_=7)
    ''
    >>> check_update(accepts, {"bias": np.ones(1, np.float32)}, weight=2.0, round_=7)
    "'bias' has shape (1,), expected (3,)"
    """
    if type(round_) is not int or round_ != accepts.round:
        return f"it is of round {shown(round_)}, expected {accepts.round}"
    return _wrong_weight(accepts, weight) or _wrong_schema(accepts, update) or _wrong_numbers(accepts, update)


def _wrong_weight(accepts: Expected, weight: Any) -> str:
    if isinstance(weight, bool) or not isinstance(weight, (int, float, np.floating, np.integer)):
        return f"its weight is {shown(weight)}, not a number"
    if not 0 <= weight < math.inf:  # also refuses NaN
        return f"its weight is {shown(weight)}; it must be finite and not negative"
    if weight > accepts.max_weight:
        return f"its weight is {shown(weight)}, above the limit of {accepts.max_weight:g}"
    return ""


def _wrong_schema(accepts: Expected, update: Any) -> str:
    if not isinstance(update, Mapping):
        return f"it is {type(update).__name__}, expected arrays by name"
    for name in update:
        if name not in accepts.shapes:
            return f"it has an array {shown(name)} that the model does not have"
    for name, shape in accepts.shapes.items():
        if name not in update:
            return f"it has no array '{name}'"
        array = update[name]
        if type(array) is not np.ndarray:  # a subclass may compute otherwise
            return f"'{name}' is {type(array).__name__}, expected an array"
        if array.dtype != np.float32:  # also refuses another order of bytes
            return f"'{name}' holds {array.dtype}, expected float32"
        if array.shape != shape:
            return f"'{name}' has shape {array.shape}, expected {shape}"
    return ""


def _wrong_numbers(accepts: Expected, update: Mapping[str, np.ndarray]) -> str:
    for name in accepts.shapes:
        if not np.isfinite(update[name]).all():
            return f"'{name}' holds a number that is not finite"
    squares = [np.sum(np.square(update[name], dtype=np.float64)) for name in accepts.shapes]
    norm = math.sqrt(math.fsum(squares))  # of finite float32: no overflow in float64
    limit = accepts.max_norm or _LARGEST
    if norm > limit:
        return f"its norm is {norm:.4g}, above the limit of {limit:.4g}"
    return ""


def acceptable(sending: Sending, reply: Reply, weight: Array) -> Array:
    """Returns whether a simulated client's reply is added: norm, loss, moments and weight are finite, and in limits.

    A private client is never refused. It has sent zeros if its training did not end with finite numbers: a client that
    is left out would change how many reported, and with it more than its own bounded message.

    The norm is computed anyway, and is not finite if any number of the update is not: this costs no pass over it.
    """
    if sending.private:
        return jnp.bool_(True)
    fits = jnp.isfinite(reply.report.norm) & jnp.isfinite(reply.report.loss)
    fits &= jnp.isfinite(weight) & (weight >= 0)
    if reply.carried:
        fits &= trees.finite(reply.carried)
    if sending.max_norm:
        fits &= reply.report.norm <= sending.max_norm
    return fits
