"""Files that are written whole or not at all, and parameter trees as safetensors.

A checkpoint is one safetensors file: every leaf of the tree under its path ("params/gru0/input"), the
tree's own facts as text in the header. Reading checks format, names, shapes and types against the tree
that is expected, so that a truncated or foreign file is one clear line and never a wrong model. No pickle.
"""

from __future__ import annotations

import json
import os
import shutil
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load as load_tensors
from safetensors.numpy import save as save_tensors

from tacit.errors import TacitError

_FORMAT = "tacit checkpoint 1"


def write_atomic(path: Path, data: bytes | str) -> None:
    """Write a file so that a reader, or a power cut, finds the old one or the new one, never half of one."""
    part = path.with_name(f".{path.name}.part")
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise cannot_write(path, error, len(content)) from None


def cannot_write(path: Path, error: OSError, wanted: int = 0) -> TacitError:
    """One line about a file that could not be written."""
    reason = error.strerror or str(error)
    try:
        free = shutil.disk_usage(path.parent).free
        room = f" ({wanted:,} bytes wanted, {free:,} free)" if wanted > free else ""
    except OSError:
        room = ""
    return TacitError(f"cannot write {path}: {reason}{room}; nothing half-written was left, free some space or "
                      "choose another --out")


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Add one JSON line to a log."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record, sort_keys=True) + "\n")
    except OSError as error:
        raise cannot_write(path, error) from None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """The JSON lines of a log; a last line cut short by a crash is left out."""
    if not path.is_file():
        return []
    records = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        try:
            records.append(json.loads(line))
        except ValueError:
            if number == len(records) + 1:
                break
            raise TacitError(f"{path}, line {number}: not valid JSON; this file was not written by Tacit") from None
    return records


def tree_names(tree: Any) -> list[str]:
    """A name for every leaf, from its place in the tree."""
    def part(key: Any) -> str:
        return str(getattr(key, "key", getattr(key, "name", getattr(key, "idx", key))))

    return ["/".join(part(k) for k in path) for path, _ in jax.tree_util.tree_leaves_with_path(tree)]


def save_tree(path: Path, tree: Any, facts: Mapping[str, str]) -> None:
    """Write a tree of arrays as a checkpoint."""
    leaves = [np.ascontiguousarray(leaf) for leaf in jax.tree.leaves(tree)]
    tensors = dict(zip(tree_names(tree), leaves, strict=True))
    write_atomic(path, save_tensors(tensors, {"format": _FORMAT, **facts}))


def load_tree(path: Path, like: Any) -> tuple[Any, dict[str, str]]:
    """Read a checkpoint into the shape of `like` (arrays or their shapes), with the facts of its header."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise TacitError(f"{path}: no such checkpoint; train the run first, or give a run directory") from None
    except OSError as error:
        raise TacitError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        tensors = load_tensors(data)
        header = json.loads(data[8 : 8 + struct.unpack("<Q", data[:8])[0]])
        facts = dict(header.get("__metadata__", {}))
    except (SafetensorError, ValueError, KeyError, struct.error, TypeError) as error:
        raise TacitError(
            f"{path}: damaged or truncated checkpoint ({str(error).splitlines()[0]}); restore it or train again"
        ) from None
    if facts.get("format") != _FORMAT:
        raise TacitError(f"{path}: not a checkpoint of this Tacit (its header should say '{_FORMAT}')")
    names, leaves = tree_names(like), jax.tree.leaves(like)
    for name, leaf in zip(names, leaves, strict=True):
        if name not in tensors:
            raise TacitError(f"{path}: '{name}' is missing; the checkpoint belongs to another model or optimiser")
        found = tensors[name]
        if found.shape != leaf.shape or found.dtype != leaf.dtype:
            raise TacitError(
                f"{path}: '{name}' is {found.dtype} {list(found.shape)}, expected {leaf.dtype} {list(leaf.shape)}; "
                "the checkpoint belongs to another model"
            )
    if extra := set(tensors) - set(names):
        raise TacitError(f"{path}: '{min(extra)}' is not part of this model; the checkpoint belongs to another")
    values = [tensors[name] for name in names]
    if not all(np.isfinite(v).all() for v in values if v.dtype.kind == "f"):
        raise TacitError(f"{path}: it holds numbers that are not finite; restore it or train again")
    return jax.tree.structure(like).unflatten(values), facts
