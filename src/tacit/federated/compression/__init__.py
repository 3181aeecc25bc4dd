"""Compression of what a client sends: the rule's message, and the moments that travel.

    form          each array of the message travels as              bytes a number
    none          float32                                           4
    bf16          bfloat16 (`dense`)                                2
    int8          8 bits, rounded at random, a scale a row          1 and a little
    top-k         the largest numbers and their positions           6 · share
    random-mask   numbers at positions that a seed gives            4 · share
    sketch        rotated, a share of it, a few bits each           bits / 8 · share

Single numbers, such as a weight or a count of steps, travel as they are. Moments travel in bf16 with `bf16` and in 8
bits with every other form: they are no change that could be sent later or in part, and second moments must not become
negative. A message is a sum's term, so every form keeps its mean, but for bf16 (its error is below 2⁻⁸ of a number) and
top-k, where a client adds what it has not sent to its next message (`feedback`).

The simulator sends every message through `encode` and `decode` inside the program that trains a cohort. Over a network
clients encode and the server decodes, by the same functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import jax
import numpy as np
from jax import Array

from tacit.base.errors import TacitError
from tacit.base.settings import number
from tacit.federated.aggregation import AggregationConfig, CohortRule, Rule, is_plain_sum
from tacit.federated.compression.codec import Codec, as_it_is
from tacit.federated.compression.dense import bf16, int8, moments8
from tacit.federated.compression.partial import random_mask, top_k
from tacit.federated.compression.sketch import sketch
from tacit.privacy.config import PrivacyConfig

Said = tuple[Any, Any]  # a client's message, and its moments with their weight

_KEY = 2**31 - 2  # a step i of a client draws with `fold_in(key, i)`: no step reaches this number
_LENGTHENS = (
    "top-k",
    "random-mask",
    "sketch",
)  # forms whose decoded message may be far longer than the message


@dataclass(frozen=True)
class CompressionConfig:
    """How a client compresses what it sends: the table [compression] of a configuration."""

    form: Literal["none", "bf16", "int8", "top-k", "random-mask", "sketch"] = "none"
    share: float = number(
        0.1, 1e-6, 1
    )  # top-k, random-mask, sketch: of an array's numbers, those that travel
    bits: int = number(4, 1, 8)  # sketch: of each number; 1, 2, 4 or 8


def check(
    config: CompressionConfig, aggregation: AggregationConfig, privacy: PrivacyConfig, federated: bool = True
) -> None:
    """Refuses keys that contradict others or would do nothing.

    >>> check(CompressionConfig(share=0.2), AggregationConfig(), PrivacyConfig())
    Traceback (most recent call last):
    tacit.base.errors.TacitError: compression.share would do nothing with compression.form = 'none'; remove it
    """
    usual, what = CompressionConfig(), f"compression.form = '{config.form}'"
    for key, forms in (("share", _LENGTHENS), ("bits", ("sketch",))):
        if getattr(config, key) != getattr(usual, key) and config.form not in forms:
            raise TacitError(f"compression.{key} would do nothing with {what}; remove it")
    if config.bits not in (1, 2, 4, 8):
        raise TacitError(f"compression.bits = {config.bits} must be 1, 2, 4 or 8, which fill a byte")
    if config.form == "none":
        return
    if not federated:
        raise TacitError(f"{what} is for clients, and training.mode = 'central' has none; remove one")
    if aggregation.rule == "attentive-loss" and not privacy.private:
        raise TacitError(
            f"aggregation.rule = 'attentive-loss' sends whole models, whose rounding would drown the update; {what} is "
            "for rules that send updates: remove one"
        )
    if aggregation.max_norm and config.form in _LENGTHENS:
        raise TacitError(
            f"aggregation.max_norm = {aggregation.max_norm:g} would refuse honest clients: {what} makes a message "
            "longer than the update; use 'bf16' or 'int8', or remove one"
        )
    if privacy.secure:
        raise TacitError(
            f"{what} does not go with privacy.secure = true: a masked number is as long whatever it holds; remove one"
        )
    if privacy.private and (config.form != "bf16" or privacy.mechanism == "local"):
        raise TacitError(
            f"{what} does not go with privacy.mechanism = '{privacy.mechanism}': its messages may exceed the bound "
            "that the noise is for; use 'bf16' (not with 'local'), or remove one"
        )


class Compression(NamedTuple):
    """How what a client says becomes arrays that travel, and back."""

    encode: Callable[[Array, Said], Any]  # (the client's key of the round, what it says) → arrays that travel
    decode: Callable[[Any, Said], Said]  # (arrays that travel, shapes of what was said) → float32
    fault: Callable[[Any, Said], str]  # the same, of numpy arrays → what is wrong in a few words, or ""

    def through(self, key: Array, said: Said) -> Said:
        """Returns what the server reads of what a client says."""
        return self.decode(self.encode(key, said), said)


def compression(
    config: CompressionConfig, kinds: tuple[str, ...] = (), private: bool = False
) -> Compression | None:
    """Returns the compression of a configuration; `kinds` are of the carried moments (`carried_kinds`).

    >>> said = ({"w": np.ones((2, 64), np.float32)}, np.float32(3)), ()
    >>> form = compression(CompressionConfig("int8"))
    >>> sent = form.encode(jax.random.key(0), said)
    >>> sent[0][0]["w"]["codes"].dtype, form.decode(sent, said)[0][0]["w"][0, :2].tolist()
    (dtype('int8'), [1.0, 1.0])
    """
    if config.form == "none":
        return None
    forms: dict[str, Callable[[], Codec]] = {
        "bf16": lambda: bf16(toward_zero=private),
        "int8": int8,
        "top-k": lambda: top_k(config.share),
        "random-mask": lambda: random_mask(config.share),
        "sketch": lambda: sketch(config.share, config.bits),
    }
    usual, plain = forms[config.form](), as_it_is()
    moments = {"m": int8(), "v": moments8()} if config.form != "bf16" else {"m": usual, "v": usual}

    def codecs(said: Said) -> list[Codec]:
        """Returns the codec of each array."""
        message, carried = (jax.tree.leaves(part) for part in said)
        ours = [usual] * len(message) + [moments.get(kind, plain) for kind in kinds[: len(carried)]]
        ours += [plain] * (len(message) + len(carried) - len(ours))  # the weight of the moments
        return [plain if x.size <= 1 else c for x, c in zip(message + carried, ours, strict=True)]

    def pairs(sent: Any, said: Said) -> list[tuple[Codec, Any, tuple[int, ...]]]:
        parts = jax.tree.structure(said).flatten_up_to(sent)  # type: ignore[attr-defined]
        shapes = [x.shape for x in jax.tree.leaves(said)]
        return list(zip(codecs(said), parts, shapes, strict=True))

    def encode(key: Array, said: Said) -> Any:
        leaves, structure = jax.tree.flatten(said)
        keys = jax.random.split(jax.random.fold_in(key, _KEY), len(leaves))
        sent = [c.encode(k, x) for c, k, x in zip(codecs(said), keys, leaves, strict=True)]
        return jax.tree.unflatten(structure, sent)

    def decode(sent: Any, said: Said) -> Said:
        arrays = [codec.decode(parts, shape) for codec, parts, shape in pairs(sent, said)]
        both: Said = jax.tree.unflatten(jax.tree.structure(said), arrays)
        return both

    def fault(sent: Any, said: Said) -> str:
        return next(
            filter(None, (codec.fault(parts, shape) for codec, parts, shape in pairs(sent, said))), ""
        )

    return Compression(encode, decode, fault)


def check_message(config: CompressionConfig, name: str, rule: Rule, message: Any) -> None:
    """Refuses a rule whose messages are not plainly added."""
    if config.form == "none":
        return
    if isinstance(rule, CohortRule):
        raise TacitError(
            f"compression.form = '{config.form}' is for sums, and aggregation.rule = '{name}' is none; remove one"
        )
    if not is_plain_sum(message):
        raise TacitError(
            f"compression.form = '{config.form}' needs a message that is plainly added, and that of aggregation.rule = "
            f"'{name}' is not; with 'attentive' set aggregation.bound"
        )


def encoded_shapes(form: Compression, said: Said) -> Any:
    """Returns the shapes and types of what travels instead of a message and moments of these shapes."""
    return jax.eval_shape(form.encode, jax.eval_shape(lambda: jax.random.key(0)), said)


def bytes_of(shapes: Any) -> int:
    """Returns the bytes of arrays of these shapes and types."""
    return sum(int(np.prod(x.shape)) * np.dtype(x.dtype).itemsize for x in jax.tree.leaves(shapes))


__all__ = [
    "Compression",
    "CompressionConfig",
    "Said",
    "bytes_of",
    "check",
    "check_message",
    "compression",
    "encoded_shapes",
]
