"""Checks that a rule and a server optimiser fit a model, on shapes alone, before anything is written.

A custom rule or optimiser may return a wrong shape. Without this check it would fail only after the run has begun, or
never, if broadcasting hides the error.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from tacit.base.errors import TacitError, described
from tacit.federated.aggregation import CohortRule, Rule, total
from tacit.models.base import Params

_WEIGHT = jax.ShapeDtypeStruct((), jnp.float32)
_STEPS = jax.ShapeDtypeStruct((), jnp.int32)


def check_rule(name: str, rule: Rule, params: Params) -> Any:
    """Traces the rule on shapes: the message, the sum, and a pseudo-gradient with the shapes of the model.

    Returns the shapes of a message; of a rule that is no sum, those of an update.
    """
    what = f"aggregation.rule = '{name}'"
    if isinstance(rule, CohortRule):
        clients = max(2, rule.least)
        updates, weights = (_stack(clients, tree) for tree in (params, _WEIGHT))
        _same(what, "combine", _tried(f"{what}: combine", rule.combine, params, updates, weights), params)
        return params
    message = _tried(f"{what}: message", rule.client_message, params, params, _WEIGHT, _STEPS)
    if not jax.tree.leaves(message):
        raise TacitError(
            f"{what}: message returns no arrays; return a tree of arrays, which are summed over clients"
        )
    both = _stack(2, message)
    _same(
        what, "combine", _tried(f"{what}: combine", rule.combine, params, _tried(what, total, both)), params
    )
    return message


def _stack(clients: int, tree: Any) -> Any:
    """Returns the shapes of as many trees, stacked."""
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct((clients, *x.shape), x.dtype), tree)


def check_optimiser(name: str, optimiser: optax.GradientTransformation, params: Params) -> None:
    """Traces a step on shapes: it must match the model, and its state must keep its shapes and fit a checkpoint."""
    what = f"server.optimiser = '{name}'"
    state = _tried(f"{what}: init", optimiser.init, params)
    for leaf in jax.tree.leaves(state):
        if not isinstance(leaf.dtype, np.dtype) or leaf.dtype.kind not in "biuf":
            raise TacitError(
                f"{what}: its state holds {leaf.dtype}, which a checkpoint cannot; use float32 or integers"
            )
    result = _tried(f"{what}: update", optimiser.update, params, state, params)
    if not isinstance(result, tuple) or len(result) != 2:
        raise TacitError(f"{what}: update returns {type(result).__name__}, expected (step, state)")
    _same(what, "update", result[0], params)
    _same(what, "update's state", result[1], state)


def _tried(what: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the shapes of what a function returns for arguments of these shapes."""
    try:
        return jax.eval_shape(function, *arguments)
    except (TacitError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also SystemExit
        first = described(error).strip().partition("\n")[0]
        raise TacitError(f"{what}: {first}") from error


def _same(what: str, who: str, returned: Any, expected: Any) -> None:
    """Refuses a tree whose structure or shapes differ from those expected."""
    a, b = (
        {jax.tree_util.keystr(path): leaf.shape for path, leaf in jax.tree_util.tree_leaves_with_path(tree)}
        for tree in (returned, expected)
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
