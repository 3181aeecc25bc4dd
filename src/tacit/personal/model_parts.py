"""Defines the part of a model that a person tunes, and so must store: all of it, or a small part.

    all      every weight
    body     all but the embedding (which, tied, is the output matrix too)
    bias     the output bias alone: which words this person uses more
    adapter  every matrix W becomes W + A B of rank r (Hu et al. 2022), and the output bias; A starts at 0, so
             the model starts unchanged; the rows of B start orthonormal, so a step is the full step's projection

A part is a pair of functions: `start` gives what is tuned before any step, `join` puts a tuned value into the model.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from tacit.base.errors import TacitError, nearest
from tacit.models.base import Params, count_parameters

RANK = 8


class ModelPart(NamedTuple):
    """Defines a part of a model that is tuned."""

    name: str
    start: Callable[[Params], Any]  # global model → initial value of what is tuned
    join: Callable[[Params, Any], Params]  # (global model, tuned value) → personal model


def _name(path: Any) -> str:
    """Returns the name of a leaf from its place in the parameter tree."""
    return "/".join(str(getattr(key, "key", key)) for key in path)


def _named(name: str, chosen: Callable[[Params], list[str]]) -> ModelPart:
    """Returns the part that consists of the top-level entries that `chosen` names."""
    return ModelPart(
        name,
        lambda params: {k: params[k] for k in chosen(params)},
        lambda params, tuned: {**params, **tuned},
    )


EVERYTHING = ModelPart("all", lambda params: params, lambda params, tuned: tuned)
BODY = _named("body", lambda params: [k for k in params if k != "embedding"])
BIAS = _named("bias", lambda params: ["output_bias"])


def adapter(rank: int = RANK) -> ModelPart:
    """Returns the part that adds a low-rank product to every matrix, and the output bias.

    >>> import numpy as np
    >>> params = {"w": np.ones((5, 3), np.float32), "output_bias": np.zeros(5, np.float32)}
    >>> tuned = adapter(2).start(params)
    >>> {k: v.shape for k, v in sorted(tuned["low"].items())}
    {'w/A': (5, 2), 'w/B': (2, 3)}
    >>> bool((adapter(2).join(params, tuned)["w"] == params["w"]).all())
    True
    """

    def matrices(params: Params) -> dict[str, Any]:
        named = {_name(path): leaf for path, leaf in jax.tree_util.tree_leaves_with_path(params)}
        return {name: leaf for name, leaf in named.items() if leaf.ndim >= 2 and min(leaf.shape[-2:]) > rank}

    def start(params: Params) -> Any:
        low = {}
        for i, (name, w) in enumerate(matrices(params).items()):
            *outer, m, n = w.shape
            key = jax.random.fold_in(jax.random.key(rank), i)  # the same on every device
            low[f"{name}/A"] = jnp.zeros((*outer, m, rank), w.dtype)
            low[f"{name}/B"] = jax.random.orthogonal(key, n, tuple(outer), w.dtype)[..., :rank, :]
        return {"low": low, "output_bias": params["output_bias"]}

    def join(params: Params, tuned: Any) -> Params:
        low = tuned["low"]

        def added(path: Any, w: Any) -> Any:
            name = _name(path)
            if f"{name}/A" not in low:
                return w
            product = jnp.matmul(low[f"{name}/A"], low[f"{name}/B"], precision=jax.lax.Precision.HIGHEST)
            return w + product

        joined = jax.tree_util.tree_map_with_path(added, params)
        return {**joined, "output_bias": tuned["output_bias"]}

    return ModelPart("adapter", start, join)


MODEL_PARTS = {part.name: part for part in (EVERYTHING, BODY, BIAS, adapter())}


def model_part(name: str) -> ModelPart:
    """Returns the part of that name."""
    if name not in MODEL_PARTS:
        raise TacitError(f"no part of a model is called '{name}'{nearest(name, MODEL_PARTS)}")
    return MODEL_PARTS[name]


def stored_bytes(part: ModelPart, params: Params) -> int:
    """Returns the bytes that a person stores of a tuned part, in float32."""
    return 4 * count_parameters(jax.eval_shape(part.start, params))
