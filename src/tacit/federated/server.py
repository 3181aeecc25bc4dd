"""The server optimiser: which step it takes along the pseudo-gradient (FedOpt, paper 5, section 4.3).

FedAvg is SGD with rate 1 on the mean pseudo-gradient; Gboard adds Nesterov momentum; FedAdam, FedYogi
and FedAdagrad are optax's adam, yogi and adagrad. Paper 5's Algorithm 3 subtracts the averaged *update*,
which climbs; the pseudo-gradient here is w_t − w_k, so that subtracting descends. Moments begin at zero and their bias
is corrected, as there; Reddi et al. begin at τ² and correct nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import optax
from jax import Array

from tacit.base.settings import Own, Schedule, number
from tacit.federated import plugins
from tacit.models.base import Params


@dataclass(frozen=True)
class ServerConfig:
    """The optimiser that applies the pseudo-gradient: the table [server] of a configuration."""

    optimiser: str = "sgd"  # a name of OPTIMISERS, or one's own
    lr: float = number(1.0, 0)
    momentum: float = number(0.0, 0, 0.9999)  # sgd
    nesterov: bool = False  # sgd
    beta1: float = number(0.9, 0, 0.9999)  # adam, yogi
    beta2: float = number(0.99, 0, 0.99999)  # adam, yogi
    # adam, yogi: added to the root of the second moment; adagrad: its square, inside the root
    tau: float = number(1e-3, 1e-12)
    schedule: Schedule = "constant"
    warmup: int = number(0, 0)
    own: Own = ()  # the settings of an optimiser of one's own
    code: str = ""  # a mark of its file; a run writes it down


class ServerState(NamedTuple):
    """What the server keeps between rounds."""

    params: Params
    optimiser: Any


def _sgd(config: ServerConfig) -> optax.GradientTransformation:
    return optax.sgd(config.lr, config.momentum or None, config.nesterov)


def _adam(config: ServerConfig) -> optax.GradientTransformation:
    return optax.adam(config.lr, config.beta1, config.beta2, config.tau)


def _yogi(config: ServerConfig) -> optax.GradientTransformation:
    # optax.yogi starts both moments at 1e-6, as if a pseudo-gradient had been seen; start at zero instead
    moments = optax.scale_by_yogi(config.beta1, config.beta2, config.tau, initial_accumulator_value=0.0)
    return optax.chain(moments, optax.scale(-config.lr))


def _adagrad(config: ServerConfig) -> optax.GradientTransformation:
    # optax adds its eps inside the root: tau² there acts as tau does outside
    return optax.adagrad(config.lr, initial_accumulator_value=0.0, eps=config.tau**2)


OPTIMISERS = {"sgd": _sgd, "adam": _adam, "yogi": _yogi, "adagrad": _adagrad}


def server_optimiser(config: ServerConfig) -> optax.GradientTransformation:
    """The optax transformation; its rate is `config.lr`, scaled by the round's factor when it is applied."""
    return plugins.make(_part(config), config, optax.GradientTransformation)


def settled(config: ServerConfig) -> ServerConfig:
    """The table with every setting of an optimiser of one's own, and a mark of its file."""
    return plugins.settle(_part(config), config)


def _part(config: ServerConfig) -> plugins.Part:
    return plugins.find("OPTIMISERS", OPTIMISERS, "server.optimiser", config.optimiser)


def apply(
    optimiser: optax.GradientTransformation, state: ServerState, pseudo_gradient: Params, factor: Array
) -> ServerState:
    """One server step; `factor` is the schedule's, on the rate."""
    step, kept = optimiser.update(pseudo_gradient, state.optimiser, state.params)
    params = jax.tree.map(lambda w, s: w + factor * s, state.params, step)
    return ServerState(params, kept)
