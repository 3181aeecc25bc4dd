"""Writes and reads checkpoints: parameter trees as safetensors.

A checkpoint is one safetensors file. It holds every leaf of the tree under its path ("params/gru0/input"). Its header
holds one JSON string under the key "tacit": the format, the facts and the sha256 of everything. There is only one key,
because safetensors writes several in any order, and equal checkpoints must be equal bytes. Reading checks format,
names, shapes, types and the sha256, so a damaged or foreign file gives a one-line error and never a wrong model.
Nothing is pickled.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.reading import parse, read_regular
from tacit.models.base import tree_names

_FORMAT = "tacit checkpoint 1"

# exceptions from reading a damaged header
UNREADABLE = (SafetensorError, ValueError, LookupError, struct.error, TypeError, AttributeError)


def save_tree(path: Path, tree: Any, facts: Mapping[str, str], secret: bool = False) -> None:
    """Writes a tree of arrays as a checkpoint."""
    leaves = [np.asarray(leaf, order="C") for leaf in jax.tree.leaves(tree)]
    tensors = dict(zip(tree_names(tree), leaves, strict=True))
    header = {"format": _FORMAT, **facts}
    header["sha256"] = _digest(tensors, header)
    write_atomic(path, save_tensors(tensors, {"tacit": json.dumps(header, sort_keys=True)}), secret)


def _digest(tensors: Mapping[str, np.ndarray], facts: Mapping[str, str]) -> str:
    digest = hashlib.sha256(json.dumps(dict(facts), sort_keys=True).encode())
    for name in sorted(tensors):
        digest.update(f"{name} {tensors[name].dtype} {tensors[name].shape}".encode())
        digest.update(np.ascontiguousarray(tensors[name]).data)
    return digest.hexdigest()


def facts_in(data: bytes) -> Any:
    """Reads the header of a checkpoint without checking it; raises one of `UNREADABLE` if there is none."""
    header = parse(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
    return parse((header.get("__metadata__") or {}).get("tacit", "{}"))


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def load_tree(path: Path, like: Any) -> tuple[Any, dict[str, str]]:
    """Reads a checkpoint into the shape of `like` (arrays or their shapes), and the facts of its header."""
    try:
        data = read_regular(path)
    except FileNotFoundError:
        raise TacitError(
            f"{path}: no such checkpoint; train the run first, or give a run directory"
        ) from None
    except OSError as error:
        raise TacitError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        tensors = load_tensors(data)
        facts = facts_in(data)
    except UNREADABLE as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise TacitError(
            f"{path}: damaged or truncated checkpoint ({reason}); restore it or train again"
        ) from None
    if (
        not isinstance(facts, dict)
        or facts.get("format") != _FORMAT
        or not all(map(_is_text, facts.values()))
    ):
        raise TacitError(
            f"{path}: not a checkpoint of this Tacit (its header should say '{_FORMAT}'); train the run again"
        )
    names, leaves = tree_names(like), jax.tree.leaves(like)
    for name, leaf in zip(names, leaves, strict=True):
        if name not in tensors:
            raise TacitError(
                f"{path}: '{name}' is missing; the checkpoint belongs to another model or optimiser"
            )
        tensor = tensors[name]
        if tensor.shape != leaf.shape or tensor.dtype != leaf.dtype:
            raise TacitError(
                f"{path}: '{name}' is {tensor.dtype} {list(tensor.shape)}, expected {leaf.dtype} {list(leaf.shape)}; "
                "the checkpoint belongs to another model"
            )
    if extra := set(tensors) - set(names):
        raise TacitError(
            f"{path}: '{min(extra)}' is not part of this model; the checkpoint belongs to another"
        )
    if facts.pop("sha256", None) != _digest(tensors, facts):
        raise TacitError(f"{path}: damaged checkpoint (its sha256 does not match); restore it or train again")
    values = [tensors[name] for name in names]
    if not all(np.isfinite(v).all() for v in values if v.dtype.kind == "f"):
        raise TacitError(f"{path}: holds values that are not finite; restore it or train again")
    return jax.tree.unflatten(jax.tree.structure(like), values), facts
