"""Defines the messages between server and clients: a task and an answer, each named arrays and a few facts.

    train      the model, its carried moments and the clip  →  the rule's message, moments and report
    evaluate   the model                                     →  sums of scores on the client's held-out text
    count, frequencies   a list of words                     →  counts of the client's words (`tasks.count`)
    personalize  the model, strategies                       →  the reports of a personalisation (`tasks.personalize`)

A task also has the configuration, the words, the round, the client's number, and a secret that its answer repeats, so
an answer counts only for its own task. Nothing that arrives is trusted: every fact and array is checked before it is
used. A `Refusal` names its reason in a word, so that refusals can be counted.
"""

from __future__ import annotations

import hmac
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from tacit.federated.local import Broadcast
from tacit.models.base import Params, tree_names
from tacit.network.sums import LARGEST

VERSION = 1  # of these messages; a client and a server of different versions refuse each other
Facts = Mapping[str, Any]
TASK_FACTS: Mapping[str, type] = {  # of every task; a kind may add its own
    "version": int,
    "kind": str,
    "round": int,
    "number": int,
    "population": int,
    "rounds": int,
    "seed": int,
    "config": str,
    "secret": str,
}


# why a client may say that it does not answer; of its person's device the server learns no more
CLIENT_REASONS = ("conditions", "period", "refused", "schema", "version", "kind", "config", "training")


def work_of(facts: Facts) -> str:
    """Returns the work that a task belongs to: its kind, or for a secure sum the work of its first stage.

    >>> work_of({"kind": "train"}), work_of({"kind": "advertise", "work": "train"})
    ('train', 'train')
    """
    return str(facts.get("work", facts.get("kind")))


class Parcel(NamedTuple):
    """Holds a message: named arrays, and named facts (numbers and short texts)."""

    arrays: Mapping[str, np.ndarray]
    facts: Facts


class Refusal(Exception):
    """Raised for a refused parcel: `reason` is one of a few words, `detail` says more and never quotes content."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason, self.detail = reason, detail


class Expected(NamedTuple):
    """Describes what an array of an answer must be."""

    shape: tuple[int, ...]
    dtype: np.dtype
    largest: float = LARGEST  # of the absolute values; a NaN or an infinity is larger


def named(prefix: str, tree: Any) -> dict[str, Any]:
    """Returns the leaves of a tree by name.

    >>> named("w", {"a": 1, "b": (2, 3)})
    {'w/a': 1, 'w/b/0': 2, 'w/b/1': 3}
    """
    leaves = jax.tree.leaves(tree)
    names = [f"{prefix}/{name}" if name else prefix for name in tree_names(tree)]
    return dict(zip(names, leaves, strict=True))


def expected(prefix: str, like: Any, largest: Any = None) -> dict[str, Expected]:
    """Returns what arrays of a tree like this must be; `largest` is a tree of bounds for its leaves."""
    bounds = [LARGEST] * len(jax.tree.leaves(like)) if largest is None else jax.tree.leaves(largest)
    return {
        name: Expected(tuple(leaf.shape), np.dtype(leaf.dtype), min(LARGEST, float(bound)))
        for (name, leaf), bound in zip(named(prefix, like).items(), bounds, strict=True)
    }


def rebuilt(prefix: str, like: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """Returns a tree of this structure with the arrays of these names."""
    return jax.tree.unflatten(jax.tree.structure(like), [arrays[name] for name in named(prefix, like)])


def check_arrays(arrays: Any, wanted: Mapping[str, Expected]) -> None:
    """Raises `Refusal` unless these are exactly the wanted arrays. Converts nothing."""
    if not isinstance(arrays, Mapping):
        raise Refusal("schema", f"{type(arrays).__name__} instead of arrays by name")
    if arrays.keys() != wanted.keys():
        missing, extra = len(wanted.keys() - arrays.keys()), len(arrays.keys() - wanted.keys())
        raise Refusal("schema", f"{missing} arrays missing, {extra} too many")
    for name, want in wanted.items():
        array = arrays[name]
        if type(array) is not np.ndarray:  # a subclass may compute otherwise
            raise Refusal("schema", f"{name} is {type(array).__name__}, expected an array")
        if array.dtype != want.dtype:  # also another order of bytes
            raise Refusal("dtype", f"{name} holds {array.dtype}, expected {want.dtype}")
        if array.shape != want.shape:
            raise Refusal("shape", f"{name} has shape {array.shape}, expected {want.shape}")
    for name, want in wanted.items():
        array = arrays[name]
        # one pass each, and no copy; a NaN makes both comparisons false
        if array.size and not (array.max() <= want.largest and array.min() >= -want.largest):
            finite = bool(np.isfinite(array).all())
            raise Refusal(
                "too large" if finite else "not finite", f"{name} holds a number above {want.largest:g}"
            )


def without_words(arrays: Mapping[str, np.ndarray]) -> tuple[bytes, dict[str, np.ndarray]]:
    """Returns the words of a task as bytes, and its other arrays."""
    rest = dict(arrays)
    words = rest.pop("words", None)
    if type(words) is not np.ndarray or words.dtype != np.uint8 or words.ndim != 1:
        raise Refusal("schema", "a task has its words as bytes")
    return words.tobytes(), rest


def check_facts(facts: Any, task: Facts) -> None:
    """Raises `Refusal` unless these are the facts of an answer to this task."""
    if not isinstance(facts, Mapping) or facts.keys() != {"version", "kind", "round", "secret"}:
        raise Refusal("schema", "an answer has the facts version, kind, round and secret")
    for name in ("version", "kind", "round"):
        if type(facts[name]) is not type(task[name]) or facts[name] != task[name]:
            raise Refusal("stale" if name == "round" else "schema", f"its {name} is not that of the task")
    secret = facts["secret"]
    if not isinstance(secret, str) or not hmac.compare_digest(secret.encode(), task["secret"].encode()):
        raise Refusal("secret", "its secret is not that of the task")


def answer_facts(task: Facts) -> dict[str, Any]:
    """Returns the facts that an answer repeats of its task."""
    return {name: task[name] for name in ("version", "kind", "round", "secret")}


def check_report(report: Any) -> None:
    """Raises `Refusal` unless a report is that of one client."""
    figures = {name: float(value) for name, value in report._asdict().items()}
    if figures["clients"] != 1 or figures["refused"] != 0:
        raise Refusal("report", "it is not the report of one client")
    if min(figures.values()) < 0:
        raise Refusal("report", "a figure is negative")


def check_weighted(update: Params, weight: Any, max_weight: float, max_norm: float) -> None:
    """Raises `Refusal` if a weighted update weighs too much, nothing or less, or is too long for its weight."""
    weight = float(weight)
    if not 0 < weight <= max_weight:
        raise Refusal("weight", f"{weight:.4g} is not in (0, {max_weight:g}]")
    if max_norm:
        squares = (float(np.sum(np.square(leaf, dtype=np.float64))) for leaf in jax.tree.leaves(update))
        norm = math.sqrt(math.fsum(squares)) / weight
        if norm > max_norm * (1 + 1e-5):  # room for the rounding of the client's own check
            raise Refusal("norm", f"{norm:.4g} is above aggregation.max_norm = {max_norm:g}")


def broadcast_arrays(sent: Broadcast) -> dict[str, np.ndarray]:
    """Returns what the server sends as arrays by name."""
    parts = {**named("params", sent.params), **named("carried", list(sent.carried))}
    if not isinstance(sent.clip, tuple):
        parts["clip"] = sent.clip
    return {name: np.asarray(leaf, np.float32) for name, leaf in parts.items()}
