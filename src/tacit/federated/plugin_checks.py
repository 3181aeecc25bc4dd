"""Checks that a rule and a server optimiser fit a model, on shapes alone, before anything is written.

A custom rule or optimiser may return something of the wrong shape. Without this check it would fail only after a run
has begun, or never, where broadcasting stretches a shape that is too small.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tacit.base.errors import TacitError
from tacit.federated.aggregation import Aggregation, total
from tacit.models.base import Params

_WEIGHT = jax.ShapeDtypeStruct((), jnp.float32)
_STEPS = jax.ShapeDtypeStruct((), jnp.int32)


def check_rule(name: str, rule: Aggregation, params: Params) -> None:
    """Takes shapes through a round of the rule: the message, the sum, and a pseudo-gradient like the model."""
    what = f"aggregation.rule = '{name}'"
    said = _tried(f"{what}: message", rule.say, params, params, _WEIGHT, _STEPS)
    if not jax.tree.leaves(said):
        raise TacitError(f"{what}: message returns no numbers; a client's message is arrays, which are added")
    both = jax.tree.map(lambda x: jax.ShapeDtypeStruct((2, *x.shape), x.dtype), said)
    _same(
        what, "combine", _tried(f"{what}: combine", rule.combine, params, _tried(what, total, both)), params
    )


def check_optimiser(name: str, optimiser: optax.GradientTransformation, params: Params) -> None:
    """Takes shapes through a step: it must be like the model, its state must keep its shape and fit a checkpoint."""
    what = f"server.optimiser = '{name}'"
    kept = _tried(f"{what}: init", optimiser.init, params)
    for leaf in jax.tree.leaves(kept):
        if not isinstance(leaf.dtype, np.dtype) or leaf.dtype.kind not in "biuf":
            raise TacitError(
                f"{what}: its state holds {leaf.dtype}, which a checkpoint cannot; use float32 or integers"
            )
    made = _tried(f"{what}: update", optimiser.update, params, kept, params)
    if not isinstance(made, tuple) or len(made) != 2:
        raise TacitError(f"{what}: update returns {type(made).__name__}, expected (step, state)")
    _same(what, "update", made[0], params)
    _same(what, "update's state", made[1], kept)


def _tried(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the shapes of what a function returns for arguments of these shapes."""
    try:
        return jax.eval_shape(function, *arguments)
    except TacitError:
        raise
    except Exception as error:
        first = str(error).strip().partition("\n")[0]
        raise TacitError(f"{what}: {type(error).__name__}: {first}") from error


def _same(what: str, who: str, made: Any, wanted: Any) -> None:
    """Refuses a tree whose places, or shapes there, are not those of another."""
    a, b = (
        {jax.tree_util.keystr(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
        for tree in (made, wanted)
    )
    if a.keys() != b.keys():
        odd = sorted(a.keys() ^ b.keys())[0]
        wrong = "leaves out" if odd in b else "returns"
        raise TacitError(
            f"{what}: {who} {wrong} {odd or 'a bare array'}; it must be a tree like the one it was given"
        )
    for place, shape in a.items():
        if shape != b[place]:
            raise TacitError(
                f"{what}: {who} returns {place} of shape {list(shape)}, expected {list(b[place])}"
            )
