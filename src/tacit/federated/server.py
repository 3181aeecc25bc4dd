"""The server optimiser: which step the server takes along the pseudo-gradient (FedOpt, paper 5, section 4.3).

FedAvg is SGD with rate 1 on the mean pseudo-gradient; Gboard adds Nesterov momentum. Paper 5's Algorithm 3 subtracts
the averaged *update*, which ascends; here the pseudo-gradient is w_t − w_k, so subtracting descends.

FedAdam, FedYogi and FedAdagrad have two forms (`server.form`):

    optax   moments start at zero and their bias is corrected, as in paper 5's Algorithm 3: optax's adam, yogi, adagrad
    reddi   the second moment starts at τ² and nothing is corrected: Algorithm 2 of Reddi et al. (2021)

An optimiser is a function that returns an optax transformation. Its parameters are its settings in the table [server];
`lr` is the table's typed key. CONTRIBUTING.md shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tacit.base.errors import TacitError
from tacit.base.settings import OPEN, Range, Schedule, Settings, number
from tacit.federated import plugins

Decay = Annotated[float, Range(0, 0.9999)]
SlowDecay = Annotated[float, Range(0, 0.99999)]
Tau = Annotated[float, Range(1e-12)]
Form = Literal["optax", "reddi"]


@dataclass(frozen=True)
class ServerConfig:
    """The optimiser that applies the pseudo-gradient: the table [server] of a configuration."""

    optimiser: str = "sgd"  # of OPTIMISERS, of a file of TACIT_RULES, or registered (see plugins)
    lr: float = number(1.0, 0)
    schedule: Schedule = "constant"
    warmup: int = number(0, 0)  # rounds in which the rate rises to `lr`
    code: str = ""  # hash of a custom optimiser's code, written by a run
    settings: Settings = field(
        default_factory=dict, metadata=OPEN
    )  # the optimiser's own settings, which are keys of the table itself


def sgd(lr: float, momentum: Decay = 0.0, nesterov: bool = False) -> optax.GradientTransformation:
    """Returns SGD: w ← w − lr·z, z ← momentum·z + g; `nesterov` looks one step ahead."""
    if nesterov and not momentum:
        raise TacitError("server.nesterov = true needs server.momentum above 0; set it or remove nesterov")
    return optax.sgd(lr, momentum or None, nesterov)


def adam(
    lr: float, beta1: Decay = 0.9, beta2: SlowDecay = 0.99, tau: Tau = 1e-3, form: Form = "optax"
) -> optax.GradientTransformation:
    """Returns Adam; `tau` is added to the root of the second moment."""
    if form == "reddi":
        return _algorithm_2(lr, beta1, tau, lambda v, g: beta2 * v + (1 - beta2) * g**2)
    return optax.adam(lr, beta1, beta2, tau)


def yogi(
    lr: float, beta1: Decay = 0.9, beta2: SlowDecay = 0.99, tau: Tau = 1e-3, form: Form = "optax"
) -> optax.GradientTransformation:
    """Returns Yogi; `tau` is added to the root of the second moment."""
    if form == "reddi":
        return _algorithm_2(lr, beta1, tau, lambda v, g: v - (1 - beta2) * g**2 * jnp.sign(v - g**2))
    # optax.yogi starts both moments at 1e-6, as after a first pseudo-gradient; start at zero instead
    moments = optax.scale_by_yogi(beta1, beta2, tau, initial_accumulator_value=0.0)
    return optax.chain(moments, optax.scale(-lr))


def adagrad(lr: float, tau: Tau = 1e-3, form: Form = "optax") -> optax.GradientTransformation:
    """Returns Adagrad: lr·g/√(Σg² + tau²), or in Reddi et al.'s form lr·g/(√(tau² + Σg²) + tau)."""
    if form == "reddi":
        return _algorithm_2(lr, 0.0, tau, lambda v, g: v + g**2)
    # optax adds its eps inside the root: tau² there acts as tau does outside
    return optax.adagrad(lr, initial_accumulator_value=0.0, eps=tau**2)


class Moments(NamedTuple):
    """The moments of the pseudo-gradient."""

    m: Any
    v: Any


def _algorithm_2(
    lr: float, beta1: float, tau: float, next_v: Callable[[Array, Array], Array]
) -> optax.GradientTransformation:
    """Returns Algorithm 2 of Reddi et al.: m ← β₁m + (1 − β₁)g, v ← `next_v`(v, g), w ← w − lr·m/(√v + τ)."""

    def init(params: Any) -> Moments:
        return Moments(
            jax.tree.map(jnp.zeros_like, params), jax.tree.map(lambda w: jnp.full_like(w, tau**2), params)
        )

    def update(g: Any, state: Moments, params: Any = None) -> tuple[Any, Moments]:
        m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, state.m, g)
        v = jax.tree.map(next_v, state.v, g)
        return jax.tree.map(lambda m, v: -lr * m / (jnp.sqrt(v) + tau), m, v), Moments(m, v)

    return optax.GradientTransformation(init, update)


OPTIMISERS: dict[str, Callable[..., optax.GradientTransformation]] = {
    "sgd": sgd,
    "adam": adam,
    "yogi": yogi,
    "adagrad": adagrad,
}
KIND = plugins.Kind(plugins.OPTIMISERS, "server.optimiser", optax.GradientTransformation, lambda: OPTIMISERS)


def server_optimiser(config: ServerConfig) -> optax.GradientTransformation:
    """Returns the optax transformation that a configuration names; the round's schedule scales its step."""
    return plugins.make(KIND, config)


def settled(config: ServerConfig) -> ServerConfig:
    """Returns the table with every setting of its optimiser, and the hash of a custom optimiser's code."""
    return plugins.settle(KIND, config)
