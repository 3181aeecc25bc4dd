"""The server optimiser: which step the server takes along the pseudo-gradient (FedOpt, paper 5, section 4.3).

FedAvg is SGD with rate 1 on the mean pseudo-gradient; Gboard adds Nesterov momentum; FedAdam, FedYogi and FedAdagrad
are optax's adam, yogi and adagrad. Paper 5's Algorithm 3 subtracts the averaged *update*, which ascends; here the
pseudo-gradient is w_t − w_k, so subtracting descends. Moments start at zero with bias correction, as in that algorithm;
Reddi et al. start at τ² without correction.

An optimiser is a function that returns an optax transformation. Its parameters are its settings in the table [server];
`lr` is the table's typed key. CONTRIBUTING.md shows how to add one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated

import optax

from tacit.base.errors import TacitError
from tacit.base.settings import OPEN, Range, Schedule, Settings, number
from tacit.federated import plugins

Decay = Annotated[float, Range(0, 0.9999)]
SlowDecay = Annotated[float, Range(0, 0.99999)]
Tau = Annotated[float, Range(1e-12)]


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
    lr: float, beta1: Decay = 0.9, beta2: SlowDecay = 0.99, tau: Tau = 1e-3
) -> optax.GradientTransformation:
    """Returns Adam; `tau` is added to the root of the second moment."""
    return optax.adam(lr, beta1, beta2, tau)


def yogi(
    lr: float, beta1: Decay = 0.9, beta2: SlowDecay = 0.99, tau: Tau = 1e-3
) -> optax.GradientTransformation:
    """Returns Yogi; `tau` is added to the root of the second moment."""
    # optax.yogi starts both moments at 1e-6, as after a first pseudo-gradient; start at zero instead
    moments = optax.scale_by_yogi(beta1, beta2, tau, initial_accumulator_value=0.0)
    return optax.chain(moments, optax.scale(-lr))


def adagrad(lr: float, tau: Tau = 1e-3) -> optax.GradientTransformation:
    """Returns Adagrad: lr·g/√(Σg² + tau²)."""
    # optax adds its eps inside the root: tau² there acts as tau does outside
    return optax.adagrad(lr, initial_accumulator_value=0.0, eps=tau**2)


OPTIMISERS: dict[str, Callable[..., optax.GradientTransformation]] = {
    "sgd": sgd,
    "adam": adam,
    "yogi": yogi,
    "adagrad": adagrad,
}
_KIND = plugins.Kind(plugins.OPTIMISERS, "server.optimiser", optax.GradientTransformation, lambda: OPTIMISERS)


def server_optimiser(config: ServerConfig) -> optax.GradientTransformation:
    """Returns the optax transformation that a configuration names; the round's schedule scales its step."""
    return plugins.make(_KIND, config)


def settled(config: ServerConfig) -> ServerConfig:
    """Returns the table with every setting of its optimiser, and the hash of a custom optimiser's code."""
    return plugins.settle(_KIND, config)
