"""Arithmetic on whole parameter trees."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

Tree = Any


def add(a: Tree, b: Tree) -> Tree:
    """Returns a + b, leaf by leaf."""
    return jax.tree.map(jnp.add, a, b)


def subtract(a: Tree, b: Tree) -> Tree:
    """Returns a − b, leaf by leaf."""
    return jax.tree.map(jnp.subtract, a, b)


def scale(factor: Array | float, a: Tree) -> Tree:
    """Returns factor · a."""
    return jax.tree.map(lambda x: factor * x, a)


def zeros_like(a: Tree) -> Tree:
    """Returns a tree of zeros with the shapes of a."""
    return jax.tree.map(jnp.zeros_like, a)


def dot(a: Tree, b: Tree) -> Array:
    """Returns ⟨a, b⟩ over all leaves, in true float32 (elementwise: no matrix unit may round it)."""
    return sum(jax.tree.leaves(jax.tree.map(lambda x, y: jnp.sum(x * y), a, b)), start=jnp.float32(0))


def norm(a: Tree) -> Array:
    """Returns ‖a‖₂ over all leaves."""
    return jnp.sqrt(dot(a, a))


def where(condition: Array, a: Tree, b: Tree) -> Tree:
    """Returns a where the scalar condition holds, else b."""
    return jax.tree.map(lambda x, y: jnp.where(condition, x, y), a, b)


def finite(a: Tree) -> Array:
    """Returns whether every number is finite."""
    return jnp.all(jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves(a)]))


def noise(key: Array, a: Tree) -> Tree:
    """Draws standard normal numbers with the shapes of a."""
    leaves, structure = jax.tree.flatten(a)
    keys = jax.random.split(key, len(leaves))
    drawn = [jax.random.normal(k, x.shape, x.dtype) for k, x in zip(keys, leaves, strict=True)]
    return jax.tree.unflatten(structure, drawn)
