"""Encodes a client's reply for compression, and checks and decodes it on the server.

A wrong array is refused before it is decoded. The decoded reply is checked like one that was not compressed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tacit.federated.compression import Compression, encoded_shapes
from tacit.federated.compression.feedback import corrected
from tacit.federated.local import Reply
from tacit.network.work import Expected, Refusal, check_arrays, expected, named, rebuilt

Arrays = Mapping[str, np.ndarray]


class Reading(NamedTuple):
    """Holds how the server reads the arrays of a reply."""

    wanted: Mapping[str, Expected]  # what arrives
    decoded: Callable[[Arrays], Arrays]  # raises `Refusal` for what no client encodes


def reading(form: Compression | None, silence: Reply, wanted: Mapping[str, Expected]) -> Reading:
    """Returns how replies are read; `wanted` are the arrays of a decoded reply."""
    if not form:
        return Reading(wanted, lambda arrays: arrays)
    shapes = jax.eval_shape(lambda: (silence.message, silence.carried))
    message, carried = encoded_shapes(form, shapes)
    travels = Reply(message, carried, silence.report)
    decode = jax.jit(lambda sent: form.decode(sent, shapes))

    def decoded(arrays: Arrays) -> Arrays:
        reply = rebuilt("reply", travels, arrays)
        sent = reply.message, reply.carried
        if fault := form.fault(sent, shapes):
            raise Refusal("encoding", fault)
        message, carried = jax.tree.map(np.asarray, decode(sent))
        result = named("reply", Reply(message, carried, reply.report))
        check_arrays(result, wanted)
        return result

    # a seed may be any number, and codes and positions are judged by their form
    arriving = {
        name: want._replace(largest=math.inf) if want.dtype.kind in "iu" else want
        for name, want in expected("reply", travels).items()
    }
    return Reading(arriving, decoded)


class Memory:
    """Holds the residual of error feedback between a client's rounds, in its process only; it starts at zero.

    A repeated round gets the same answer.
    """

    def __init__(self, zero: Any) -> None:
        self._zero = zero
        self._before, self._after, self._last = zero, zero, -1

    def residual(self, t: int) -> Any:
        """Returns the residual at the start of round t; a round before the last one belongs to another run."""
        if t != self._last:
            self._before = self._after if t > self._last else self._zero
        return self._before

    def keep(self, t: int, after: Any) -> None:
        """Stores the residual at the end of round t."""
        self._after, self._last = after, t


def encoding(form: Compression, feedback: bool, message: Any) -> Callable[[Any, int, Reply], Reply]:
    """Returns the function (the client's key of the round, round, reply) → the reply as it travels.

    `message` has the shapes of a message; with `feedback` the client sends later what it could not send.
    """
    if not feedback:
        encode = jax.jit(form.encode)

        def encoded(key: Any, t: int, reply: Reply) -> Reply:
            message, carried = encode(key, (reply.message, reply.carried))
            return Reply(message, carried, reply.report)

        return encoded
    both = jax.jit(lambda key, reply, residual: corrected(form, key, reply, residual))
    memory = Memory(jax.tree.map(lambda x: jnp.zeros(x.shape), message))

    def encode_and_remember(key: Any, t: int, reply: Reply) -> Reply:
        (message, carried), after = both(key, reply, memory.residual(t))
        memory.keep(t, after)
        return Reply(message, carried, reply.report)

    return encode_and_remember
