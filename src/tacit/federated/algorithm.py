"""An algorithm of federated training: its choices, its parts, and what the server keeps between rounds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import Array

from tacit.base.errors import Diverged
from tacit.federated import plugin_checks
from tacit.federated.aggregation import AggregationConfig, Rule, chosen_rule
from tacit.federated.availability import AvailabilityConfig
from tacit.federated.client_config import ClientConfig
from tacit.federated.client_optimisers import check_carry, first_moments
from tacit.federated.compression import CompressionConfig
from tacit.federated.sampling import SamplingConfig, check_scheme
from tacit.federated.schedules import rate
from tacit.federated.server import ServerConfig, server_optimiser
from tacit.models.base import Params
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.ledger import Release


class Trainer(NamedTuple):
    """Anything that learns in rounds."""

    init: Callable[[Array], Any]  # key → state; state.params is the model
    # (state, t = 0, 1, …) → state, facts; a private round's facts have its ledger entry as "release"
    round: Callable[[Any, int], tuple[Any, dict[str, Any]]]


class Algorithm(NamedTuple):
    """The three choices that make an algorithm, who takes part, and how clients are protected."""

    client: ClientConfig
    aggregation: AggregationConfig
    server: ServerConfig
    sampling: SamplingConfig
    privacy: PrivacyConfig = PrivacyConfig()
    availability: AvailabilityConfig = AvailabilityConfig()
    compression: CompressionConfig = CompressionConfig()


class ServerState(NamedTuple):
    """What the server keeps between rounds."""

    params: Params
    optimiser: Any
    carried: Any = ()  # the mean moments of client optimisers, which the next cohort begins with
    clip: Any = ()  # S of the next round, if it is private
    noise: Any = ()  # [kept, count]: correlated noise of earlier rounds (privacy.mechanism = 'matrix')
    residuals: Any = ()  # of the message, [population, …]: what each client has not sent (`compression.feedback`)


def first_state(
    init: Callable[[Array], Params], optimiser: optax.GradientTransformation, client: ClientConfig, key: Array
) -> ServerState:
    """Returns what the server keeps before the first round."""
    params = init(key)
    kept = jax.tree.map(jnp.asarray, optimiser.init(params))
    return ServerState(params, kept, first_moments(client, params))


def client_rate(client: ClientConfig, t: int, rounds: int) -> float:
    """Returns the clients' learning rate η in round t = 0, 1, …"""
    return client.lr * rate(client.schedule, client.warmup, t, rounds)


def server_factor(server: ServerConfig, t: int, rounds: int) -> float:
    """Returns the factor on the server's learning rate in round t = 0, 1, …"""
    return rate(server.schedule, server.warmup, t, rounds)


def without_noise(state: Any) -> Any:
    """Returns the state of a training that has ended: its correlated noise, which no round needs any more, is zeros.

    Anyone who has the noise of the last rounds can subtract it from the released models.
    """
    if not isinstance(state, ServerState):
        return state
    return state._replace(noise=jax.tree.map(jnp.zeros_like, state.noise))


def apply(
    optimiser: optax.GradientTransformation, state: ServerState, pseudo_gradient: Params, factor: Array
) -> ServerState:
    """Takes one server step along −g; `factor` is the schedule's factor on the rate."""
    step, kept = optimiser.update(pseudo_gradient, state.optimiser, state.params)
    params = jax.tree.map(lambda w, s: w + factor * s, state.params, step)
    return state._replace(params=params, optimiser=kept)


def rule_and_optimiser(algorithm: Algorithm, params: Params) -> tuple[Rule, optax.GradientTransformation]:
    """Returns the rule and the server optimiser of an algorithm, both checked on the shapes of the model."""
    rule = chosen_rule(algorithm.aggregation, algorithm.sampling.scheme)
    optimiser = server_optimiser(algorithm.server)
    check_scheme(algorithm.sampling, algorithm.client, algorithm.aggregation)
    check_carry(algorithm.client, params)
    plugin_checks.check_rule(algorithm.aggregation.rule, rule, params)
    plugin_checks.check_optimiser(algorithm.server.optimiser, optimiser, params)
    return rule, optimiser


def round_key(seed: int, t: int) -> Array:
    """Returns the random key of round t."""
    return jax.random.fold_in(jax.random.key(seed), t)


def remedy(algorithm: Algorithm) -> str:
    """Returns what helps against training that diverges."""
    noise = algorithm.aggregation.noise
    return (
        f"lower client.lr ({algorithm.client.lr:g}) or server.lr ({algorithm.server.lr:g})"
        + (f" or aggregation.noise ({noise:g})" if noise else "")
        + (" or privacy.noise, or use larger cohorts" if algorithm.privacy.private else "")
        + ", or set client.clip=1"
    )


def require_finite(t: int, finite: bool, remedy: str, release: Release | None = None) -> None:
    """Raises `Diverged`, with a remedy, if the result of round t is not finite; `release` is of a private round."""
    if not finite:
        kept = "; the last good checkpoint is kept" if t else ""
        raise Diverged(f"round {t + 1}: training gave numbers that are not finite; {remedy}{kept}", release)
