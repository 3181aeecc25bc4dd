"""Scan a recurrent cell over time, with the gradients of its weights formed once, after the scan.

Differentiating a plain scan adds every step's weight gradient to a running sum: a read and a write of the
whole matrix at each time step, and one more small product. But that gradient is Σ_t v_tᵀ e_t, with v_t what
was multiplied and e_t the gradient of the product, and both can be kept. So the backward scan computes only
the e_t, and one large product over time and batch gives the gradient of each weight. The sum is the same; a
test compares it with the plain scan's.
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
# runs a cell over [time, batch, …] inputs, as `scan` does; another may keep the state (see base.stacked's step)
Run = Callable[[Cell, Product, Weights, Any, Any], Array]


def scan(cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any) -> Array:
    """The outputs of a cell over `inputs`, a tree of [time, batch, …]; [time, batch, …].

    The cell multiplies by a weight only through `multiply(name, v)`, at most once a step for each name.
    """
    return _scan(cell, product, weights, start, inputs)


@partial(jax.custom_vjp, nondiff_argnums=(0, 1))
def _scan(cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any) -> Array:
    return _run(cell, product, weights, start, inputs, None)[0]


def _run(
    cell: Cell, product: Product, weights: Weights, start: Any, inputs: Any, offsets: Weights | None
) -> tuple[Array, Weights]:
    """Outputs, and what each weight was multiplied with; `offsets` [time, …] are added to the products."""

    def step(state: Any, at: tuple[Any, Weights | None]) -> tuple[Any, tuple[Array, Weights]]:
        x, extra = at
        seen: Weights = {}

        def multiply(name: str, v: Array) -> Array:
            seen[name] = v
            result = product(v, weights[name])
            return result if extra is None else result + extra[name]

        state, output = cell(state, x, multiply)
        return state, (output, seen)

    # a few steps at a time on accelerators, whose launches cost more than the arithmetic
    unroll = 1 if jax.default_backend() == "cpu" else 8
    return jax.lax.scan(step, start, (inputs, offsets), unroll=unroll)[1]


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
    # the cells start from zero, which nobody differentiates
    nothing = jax.tree.map(jnp.zeros_like, start)
    return (
        {name: _outer(product, seen[name], products[name], w.ndim) for name, w in weights.items()},
        nothing,
        inputs,
    )


def _outer(product: Product, v: Array, e: Array, dimensions: int) -> Array:
    """Σ vᵀ e over time and batch; with groups, for each group: v and e are [time, groups, batch, …]."""
    if dimensions == 3:
        v, e = (x.swapaxes(0, 1).reshape(x.shape[1], -1, x.shape[-1]) for x in (v, e))
        return product(v.swapaxes(1, 2), e)
    return product(v.reshape(-1, v.shape[-1]).T, e.reshape(-1, e.shape[-1]))


_scan.defvjp(_forward, _backward)
