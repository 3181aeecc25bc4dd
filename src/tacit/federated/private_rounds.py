"""Private rounds: as `rounds`, with clipped messages, noise on their sum, and a ledger entry for each.

`private` has the mathematics of a round, `private_setup` its settings and what the ledger says of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated import hosts, plugin_checks, trees
from tacit.federated.aggregation import Aggregation, CohortRule, Rule
from tacit.federated.algorithm import (
    Algorithm,
    ServerState,
    Trainer,
    apply,
    client_rate,
    first_state,
    remedy,
    require_finite,
    round_key,
    server_factor,
)
from tacit.federated.client_optimisers import carried_kinds
from tacit.federated.cohort_sums import CohortSums
from tacit.federated.local import Broadcast, Reply
from tacit.federated.private import Private, check_form, noised_release, private_form
from tacit.federated.private_setup import check, private_federation, released
from tacit.models.base import Params, count_parameters
from tacit.privacy.correlated import no_noise_yet
from tacit.privacy.noise import NoiseThread, seeded


def privacy_of(
    algorithm: Algorithm, rule: Rule, params: Params, population: int, rounds: int
) -> Private | None:
    """Returns the privacy of an algorithm, its rule's bounds checked on the shapes of the model."""
    check(algorithm.privacy, algorithm.aggregation, algorithm.client, algorithm.sampling)
    kinds = carried_kinds(algorithm.client, params)
    private = private_federation(algorithm.privacy, algorithm.sampling, population, rounds, kinds)
    if private:
        name = algorithm.aggregation.rule
        if isinstance(rule, CohortRule):
            raise TacitError(
                f"aggregation.rule = '{name}' is no sum: it compares the clients' updates, and {_only_sums(private)}; "
                "choose a rule that is a sum, such as 'mean' or 'norm-bounded'"
            )
        form = private_form(name, rule, private.terms(private.config.clip))
        message = plugin_checks.check_rule(name, form, params)
        check_form(name, form, params, message, private.config.clip)
    return private


def _only_sums(private: Private) -> str:
    """Returns why a private federation needs a rule that is a sum."""
    if private.config.secure:
        return "privacy.secure = true opens their sum only"
    if private.config.mechanism == "clipped":
        return "privacy.mechanism = 'clipped' bounds what one client adds to a sum"
    return f"privacy.mechanism = '{private.config.mechanism}' adds noise to a sum"


def private_server_step(
    rule: Aggregation, optimiser: optax.GradientTransformation, private: Private
) -> Callable[..., tuple[ServerState, Array]]:
    """Returns the compiled end of a private round: noise on the sum of what clients sent, then as `server_step`.

    Noise is added and a step is made also if nobody reported: who is there must not show.
    """
    release = noised_release(rule, private)

    def step(state: ServerState, reply: Reply, factor: Array, white: Array) -> tuple[ServerState, Array]:
        g, kept = release(
            state.params, state.carried, state.clip, state.noise, reply.message, reply.report.clients, white
        )
        moved = apply(optimiser, state, g, factor)._replace(**kept._asdict())
        return moved, trees.finite((moved.params, moved.carried, moved.clip))

    return jax.jit(step)


def private_trainer(
    init: Callable[[Array], Params],
    algorithm: Algorithm,
    private: Private,
    rule: Aggregation,
    optimiser: optax.GradientTransformation,
    nobody: Reply,
    sums: CohortSums,
    seed: int,
    rounds: int,
    population: int,
) -> Trainer:
    """Returns private training as a trainer; the noise of a round is drawn while its clients train."""
    client, server, config = algorithm.client, algorithm.server, private.config
    count = count_parameters(nobody.message)
    finish, noise = private_server_step(rule, optimiser, private), NoiseThread()

    def start(key: Array) -> ServerState:
        past = no_noise_yet(private.strategy, jnp.zeros(count)) if private.strategy else ()
        begun = first_state(init, optimiser, client, key)
        return begun._replace(clip=jnp.float32(config.clip), noise=past)

    def round_(state: ServerState, t: int) -> tuple[ServerState, dict[str, Any]]:
        lr, factor = client_rate(client, t, rounds), server_factor(server, t, rounds)
        # the first process draws for all of them
        drawing = noise.begin(
            count if hosts.first() else 0, *([seeded(seed, t)] if config.noise_source == "seed" else [])
        )
        clip, ready, reply = float(state.clip), sums.ready(t), nobody
        said: dict[str, Any] = {}
        state = sums.place(state)
        if ready.reports:
            sent = Broadcast(state.params, state.carried, state.clip)
            reply = sums.program(sent, ready.laid, np.float32(lr), round_key(seed, t))
            if reply is nobody and config.mechanism == "clipped":  # with noise, who is there must not show
                said["abandoned"] = 1
        del ready
        drawn = drawing.result()
        white = hosts.from_first(drawn.values if hosts.first() else np.zeros(count, np.float32))
        state, finite = finish(state, sums.place(reply), np.float32(factor), sums.place(white))
        if t + 1 < rounds:
            sums.prefetch(t + 1)
        release = released(private, algorithm.sampling, population, rounds, t, clip, drawn.digest)
        require_finite(t, bool(finite), remedy(algorithm), release)
        # what clients report beside their messages has no noise, and is left out
        return state, {"lr": lr, **said, **({"clip": clip} if config.adaptive else {}), "release": release}

    return Trainer(start, round_)
