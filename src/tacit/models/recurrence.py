"""Scans a recurrent cell over time and computes the gradients of its weights once, after the scan.

The gradient of a plain scan adds to a running sum at every time step: a small product, and a read and a write of
the whole matrix. But the gradient of a weight is Σ_t v_tᵀ e_t, where v_t is the input of the product at step t and
e_t the gradient of its output. So the backward scan computes only the e_t, and one large product over time and
batch then gives the gradient of each weight. The sum is the same; a test compares it with the plain scan's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

Weights = dict[str, Array]  # by name, [inputs, outputs] or, in groups, [groups, inputs, outputs]
Multiply = Callable[[str, Array], Array]  # (name of a weight, [batch, …, inputs]) → [batch, …, outputs]
# (state, inputs of a step, multiply) → state, output
Cell = Callable[[Any, Any, Multiply], tuple[Any, Array]]
Product = Callable[[Array, Array], Array]
# runs a cell over [time, batch, …] inputs, as `scan` does; `step` in base.stacked passes one that keeps the state
Run = Callable[[Cell, Product, Weights, Any, Any], Array]


def unrolling() -> int:
    """Returns how many time steps are unrolled: on accelerators, launching one costs more than its arithmetic."""
    return 1 if jax.default_backend() == "cpu" else 8


def scan(cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any) -> Array:
    """Returns the outputs of a cell, [time, batch, …], over `inputs`, a tree of [time, batch, …].

    The cell must multiply by weights only through `multiply(name, v)`, at most once a step for each name.
    """
    return _scan(cell, product, weights, start, inputs)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _scan(cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any) -> Array:
    return _run(cell, product, weights, start, inputs, None)[0]


def _run(
    cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any, offsets: Weights | None
) -> tuple[Array, Weights]:
    """Returns the outputs and the inputs of every product; `offsets` [time, …] are added to the products."""

    def step(state: Any, at: tuple[Any, Weights | None]) -> tuple[Any, tuple[Array, Weights]]:
        x, extra = at
        seen: Weights = {}

        def multiply(name: str, v: Array) -> Array:
            seen[name] = v
            result = product(v, weights[name])
            return result if extra is None else result + extra[name]

        state, output = cell(state, x, multiply)
        return state, (output, seen)

    return jax.lax.scan(step, start, (inputs, offsets), unroll=unrolling())[1]


def _forward(cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any) -> tuple[Array, Any]:
    _, seen = jax.eval_shape(partial(_run, cell, product), weights, start, inputs, None)
    shapes = {k: jax.eval_shape(jax.vmap(product, (0, None)), v, weights[k]).shape for k, v in seen.items()}
    zeros = {k: jnp.zeros(shape, jnp.float32) for k, shape in shapes.items()}
    run = partial(_run, cell, product, weights, start)
    outputs, pull, seen = jax.vjp(run, inputs, zeros, has_aux=True)
    return outputs, (pull, seen, weights, start)


def _backward(cell: Cell, product: Product, kept: Any, gradient: Array) -> tuple[Weights, Any, Any]:
    pull, seen, weights, start = kept
    inputs, products = pull(gradient)  # gradients of the inputs, and of every product at every step
    no_gradient = jax.tree.map(jnp.zeros_like, start)  # the initial state is constant
    return (
        {name: _outer(product, seen[name], products[name], w.ndim) for name, w in weights.items()},
        no_gradient,
        inputs,
    )


def _outer(product: Product, v: Array, e: Array, dimensions: int) -> Array:
    """Returns Σ vᵀ e over time and batch; with groups, v and e are [time, groups, batch, …], and one sum per group."""
    if dimensions == 3:
        v, e = (x.swapaxes(0, 1).reshape(x.shape[1], -1, x.shape[-1]) for x in (v, e))
        return product(v.swapaxes(1, 2), e)
    return product(v.reshape(-1, v.shape[-1]).T, e.reshape(-1, e.shape[-1]))


_scan.defvjp(_forward, _backward)
