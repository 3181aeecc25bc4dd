"""How much one client can say: clipping to a norm, and the noise that hides a message of several parts jointly.

A message has parts p_j (subtrees) with bounds ‖p_j‖ ≤ B_j. Give each part a share a_j > 0 of the protection, Σ a_j = 1.
Noise of standard deviation z·B_j/√a_j on part j is noise of multiplier z on the whole message: in units of its noise,
the message is p_j √a_j/(z B_j), and its squared norm is

    Σ a_j ‖p_j‖² / (z B_j)² ≤ Σ a_j / z² = 1/z²

A part with a small share gets more noise; the guarantee is the same for any shares.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

Tree = Any
_ROUNDING = 1e-5  # far above the error of a norm in float32: 1e-7 of it, measured up to 10⁷ numbers


class Bounds(NamedTuple):
    """The largest L2 norm of each part of a message, and the parts' shares of the protection.

    Both are trees whose leaves stand for subtrees of the message, like `in_axes` of `jax.vmap`: `Bounds(2.0)` bounds a
    whole message, `Bounds((2.0, 1.0))` the two parts of a pair. Shares need not add up to 1; None makes them equal.
    `divides` is True for the parts whose sum others are divided by: a secure sum must not round them away.
    """

    norms: Tree
    shares: Tree = None
    divides: Tree = None


def tree_norm(tree: Tree) -> Array:
    """Returns ‖tree‖₂ over all leaves, in float32."""
    squares = [jnp.sum(jnp.square(leaf)) for leaf in jax.tree.leaves(tree)]
    return jnp.sqrt(sum(squares, start=jnp.float32(0)))


def clip_factor(norm: Array, clip: Array | float) -> Array:
    """Returns the factor that brings a tree of this norm to norm ≤ clip; 0 if the norm is not finite.

    The result stays below the clip by the rounding of float32, so that no bound is exceeded.

    >>> [round(float(clip_factor(jnp.float32(n), 2.0)), 4) for n in (0.0, 1.0, 8.0, float("nan"))]
    [1.0, 1.0, 0.25, 0.0]
    """
    limit = clip * (1 - _ROUNDING)
    factor = jnp.where(norm > limit, limit / jnp.maximum(norm, 1e-30), 1.0)
    return jnp.where(jnp.isfinite(norm), factor, 0.0)


def clipped(tree: Tree, clip: Array | float) -> tuple[Tree, Array]:
    """Returns the tree clipped to a norm, and whether it is finite; one that is not becomes zeros."""
    norm = tree_norm(tree)
    factor = clip_factor(norm, clip)
    finite = jnp.isfinite(norm)
    return jax.tree.map(lambda x: jnp.where(finite, factor * x, 0), tree), finite


def scales(bounds: Bounds) -> Tree:
    """Returns B_j/√a_j of each part: the standard deviation of its noise for noise multiplier 1.

    >>> [round(x, 3) for x in scales(Bounds((2.0, 1.0), (3.0, 1.0)))]
    [2.309, 2.0]
    """
    shares = bounds.shares
    if shares is None:
        shares = jax.tree.map(lambda _: 1.0, bounds.norms)
    whole = sum(jax.tree.leaves(shares))
    return jax.tree.map(lambda norm, share: norm * (whole / share) ** 0.5, bounds.norms, shares)


def spread(scale: Tree, message: Tree) -> Tree:
    """Returns a tree like the message with the scale of each leaf's part."""
    return jax.tree.map(lambda s, part: jax.tree.map(lambda _: s, part), scale, message)


def joined(parts: Any, shares: Any) -> Bounds:
    """Returns the bounds of a message of several parts, each with bounds of its own, and its share of the protection.

    `parts` is a tree of `Bounds`, `shares` a tree of numbers like it.

    >>> joined([Bounds((2.0, 1.0)), Bounds(5.0)], [0.8, 0.2]).shares
    [(0.4, 0.4), 0.2]
    """

    def is_bounds(node: Any) -> bool:
        return isinstance(node, Bounds)

    def divided(part: Bounds, share: float) -> Tree:
        own = part.shares
        if own is None:
            own = jax.tree.map(lambda _: 1.0, part.norms)
        whole = sum(jax.tree.leaves(own))
        return jax.tree.map(lambda x: share * x / whole, own)

    def marked(part: Bounds) -> Tree:
        return jax.tree.map(lambda _: False, part.norms) if part.divides is None else part.divides

    norms = jax.tree.map(lambda part: part.norms, parts, is_leaf=is_bounds)
    divides = jax.tree.map(marked, parts, is_leaf=is_bounds)
    return Bounds(norms, jax.tree.map(divided, parts, shares, is_leaf=is_bounds), divides)
