"""The client optimiser: which step a client takes along a batch's gradient, and which of its moments travel.

    u, state ← optimiser(g, state)
    w ← w − η (u + λ w)                 λ: `client.decay`, decoupled weight decay

Plain SGD has no state. Adam has two moments, and a client's few hundred sentences are too few to estimate them: with
fresh moments in every round, Adam is worse than SGD. So the moments may travel (`client.carry`). A client begins with
the server's moments and sends its last ones beside its update, times its weight. The server keeps their mean, which is
a plain sum divided by a plain sum. The count of steps behind a moment travels with it, because bias correction needs
it. Moments that stay on each client instead were tried and are worse (docs/federated.md).

`client.carry_form = "factored"` sends of a matrix of second moments only the means of its rows and columns, as
Adafactor keeps it: v ≈ r cᵀ / mean(r). The message is then hardly longer than the update.

An optimiser is a function that returns an optax transformation for the rate 1; its parameters are its settings in the
table [client]. The moments of its state are known by the names of their fields, which are those of optax.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tacit.base.errors import TacitError
from tacit.base.settings import Range
from tacit.federated import plugins, trees
from tacit.federated.client_config import ClientConfig
from tacit.models.base import Params

Decay = Annotated[float, Range(0, 0.9999)]
SlowDecay = Annotated[float, Range(0, 0.99999)]
Epsilon = Annotated[float, Range(1e-12)]

# the moments of a state by the names of their fields, and the counts of steps behind them
_MOMENTS = {"m": "m", "mu": "m", "trace": "m", "v": "v", "nu": "v", "sum_of_squares": "v"}
_COUNTS = {"m_steps": "m", "v_steps": "v", "count": "both"}


def sgd(momentum: Decay = 0.0) -> optax.GradientTransformation:
    """Returns SGD: u = z, z ← momentum·z + g."""
    return optax.trace(momentum) if momentum else optax.identity()


class AdamState(NamedTuple):
    """Adam's moments, each with its own count of steps, because one may travel and the other not."""

    m: Params  # () where beta1 is 0
    v: Params
    m_steps: Array
    v_steps: Array


def adam(beta1: Decay = 0.9, beta2: SlowDecay = 0.999, eps: Epsilon = 1e-8) -> optax.GradientTransformation:
    """Returns Adam: u = m̂ / (√v̂ + eps), with bias correction. `beta1` = 0 keeps no first moment."""

    def init(params: Params) -> AdamState:
        zeros, none = trees.zeros_like(params), jnp.float32(0)
        return AdamState(zeros if beta1 else (), zeros, none, none)

    def update(g: Params, state: AdamState, params: Any = None) -> tuple[Params, AdamState]:
        del params
        m_steps, v_steps = state.m_steps + 1, state.v_steps + 1
        m = jax.tree.map(lambda a, b: beta1 * a + (1 - beta1) * b, state.m, g) if beta1 else ()
        v = jax.tree.map(lambda a, b: beta2 * a + (1 - beta2) * jnp.square(b), state.v, g)
        first = 1 / (1 - beta1**m_steps)
        second = jax.lax.rsqrt(1 - beta2**v_steps)
        step = jax.tree.map(lambda a, b: first * a / (second * jnp.sqrt(b) + eps), m if beta1 else g, v)
        return step, AdamState(m, v, m_steps, v_steps)

    return optax.GradientTransformation(init, update)


def adagrad(eps: Epsilon = 1e-7) -> optax.GradientTransformation:
    """Returns Adagrad: u = g / √(Σg² + eps)."""
    return optax.scale_by_rss(initial_accumulator_value=0.0, eps=eps)


def yogi(beta1: Decay = 0.9, beta2: SlowDecay = 0.999, eps: Epsilon = 1e-3) -> optax.GradientTransformation:
    """Returns Yogi of optax, with moments that start at zero."""
    return optax.scale_by_yogi(beta1, beta2, eps, initial_accumulator_value=0.0)


def lion(beta1: Decay = 0.9, beta2: SlowDecay = 0.99) -> optax.GradientTransformation:
    """Returns Lion: the sign of a first moment."""
    return optax.scale_by_lion(beta1, beta2)


OPTIMISERS: dict[str, Callable[..., optax.GradientTransformation]] = {
    "sgd": sgd,
    "adam": adam,
    "adagrad": adagrad,
    "yogi": yogi,
    "lion": lion,
}
KIND = plugins.Kind(
    plugins.CLIENT_OPTIMISERS, "client.optimiser", optax.GradientTransformation, lambda: OPTIMISERS
)


class ClientOptimiser(NamedTuple):
    """The optimiser of a client, and how its moments travel. What travels is a list of float32 arrays."""

    begin: Callable[[Params, Any], Any]  # (w_t, what arrived) → state
    update: Callable[..., tuple[Params, Any]]  # (gradient, state, w) → u, state
    sends: Callable[[Any], Any]  # state → what travels


def client_optimiser(client: ClientConfig) -> ClientOptimiser:
    """Returns the optimiser that a configuration names."""
    optimiser = plugins.make(KIND, client)
    wanted = set() if client.carry == "none" else set(client.carry.split(","))
    factored = client.carry_form == "factored"

    def travels(state: Any) -> list[str]:
        return carried_roles(state, wanted, client)

    def begin(params: Params, arrived: Any) -> Any:
        state = optimiser.init(params)
        if not wanted:
            return state
        leaves, structure = jax.tree.flatten(state)
        parts = iter(arrived)
        for i, role in enumerate(travels(state)):
            if role:
                value = next(parts)
                if factored and _splits(role, leaves[i]):
                    value = _product(value, next(parts))
                leaves[i] = _like(value, leaves[i])
        return jax.tree.unflatten(structure, leaves)

    def sends(state: Any) -> list[Array]:
        sent = list[Array]()
        if not wanted:
            return sent
        for leaf, role in zip(jax.tree.leaves(state), travels(state), strict=True):
            if role and factored and _splits(role, leaf):
                sent += [leaf.mean(axis=-1), leaf.mean(axis=-2)]
            elif role:
                sent.append(jnp.asarray(leaf, jnp.float32))
        return sent

    return ClientOptimiser(begin, optimiser.update, sends)


def first_moments(client: ClientConfig, params: Params) -> Any:
    """Returns the moments that travel before the first round: those of an optimiser that has made no step."""
    if client.carry == "none":
        return ()
    fresh = dataclasses.replace(client, carry="none", carry_form="full")
    return client_optimiser(client).sends(client_optimiser(fresh).begin(params, ()))


def settled(client: ClientConfig) -> ClientConfig:
    """Returns the table with every setting of its optimiser, and the hash of a custom optimiser's code."""
    return plugins.settle(KIND, client)


def check_carry(client: ClientConfig, params: Params) -> None:
    """Refuses moments that cannot travel: one that the optimiser does not keep, or one of two that share a count."""
    optimiser = client_optimiser(client)
    if client.carry == "none":
        if client.carry_form != "full":
            raise TacitError(
                f"client.carry_form = '{client.carry_form}' would do nothing: client.carry is 'none'"
            )
        return
    plain = plugins.make(KIND, client)
    jax.eval_shape(lambda w: optimiser.sends(plain.init(w)), params)


def carried_kinds(client: ClientConfig, params: Params) -> tuple[str, ...]:
    """Returns for each array that travels what it is: "m", "v", or "count" for steps behind moments."""
    if client.carry == "none":
        return ()
    state = jax.eval_shape(plugins.make(KIND, client).init, params)
    roles = carried_roles(state, set(client.carry.split(",")), client)
    kinds = list[str]()
    for (path, leaf), role in zip(jax.tree_util.tree_leaves_with_path(state), roles, strict=True):
        halves = 2 if client.carry_form == "factored" and _splits(role, leaf) else 1
        kinds += [_role(path, _MOMENTS) or "count"] * (halves if role else 0)
    return tuple(kinds)


def carried_roles(state: Any, wanted: set[str], client: ClientConfig) -> list[str]:
    """Returns for each leaf of an optimiser's state the moment it belongs to, or "" where it stays on the client."""
    paths = [path for path, _ in jax.tree_util.tree_leaves_with_path(state)]
    named = {_role(path, _MOMENTS) for path in paths} - {""}
    roles = [_role(path, _MOMENTS | _COUNTS) for path in paths]
    what = f"client.carry = '{client.carry}': client.optimiser = '{client.optimiser}'"
    if missing := sorted(wanted - named):
        kept = f"only '{','.join(sorted(named))}'" if named else "nothing that could travel"
        raise TacitError(f"{what} does not keep '{missing[0]}' with these settings, it keeps {kept}")
    if "both" in roles and wanted != named:
        raise TacitError(f"{what} counts its steps for both moments; let both travel: client.carry = 'm,v'")
    return [role if role in wanted | {"both"} else "" for role in roles]


def _role(path: Any, roles: dict[str, str]) -> str:
    names = [getattr(key, "name", "") for key in path]
    return next((roles[name] for name in names if name in roles), "")


def _splits(role: str, leaf: Any) -> bool:
    return role == "v" and leaf.ndim >= 2


def _product(rows: Array, columns: Array) -> Array:
    """Returns r cᵀ / mean(r), which has the given means of rows and columns."""
    mean = jnp.maximum(rows.mean(axis=-1), 1e-30)[..., None, None]
    return rows[..., :, None] * (columns[..., None, :] / mean)


def _like(value: Array, leaf: Array) -> Array:
    return value if leaf.dtype == value.dtype else jnp.round(value).astype(leaf.dtype)
