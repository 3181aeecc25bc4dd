"""Sets a private federation up: checks its settings, fixes its denominator, and describes each round for the ledger.

`private` has the mathematics of a round: what a client sends, and the noise on the sum.
"""

from __future__ import annotations

import os

import numpy as np

from tacit.base.errors import TacitError
from tacit.federated import hosts
from tacit.federated.aggregation import AggregationConfig
from tacit.federated.client_config import ClientConfig
from tacit.federated.private import Private
from tacit.federated.sampling import SamplingConfig, check_separation, cohort_size
from tacit.privacy import config as privacy_config
from tacit.privacy.config import PrivacyConfig
from tacit.privacy.ledger import Release
from tacit.privacy.strategy import participations, read_strategy, sensitivities

_KEY = 32  # bytes
NO_NOISE = "updates are clipped and no noise is added: privacy.mechanism = 'clipped'"
SEEDED = "its noise is drawn from a seed and can be subtracted: privacy.noise_source = 'seed'"


def check(
    privacy: PrivacyConfig, aggregation: AggregationConfig, client: ClientConfig, sampling: SamplingConfig
) -> None:
    """Refuses settings of an algorithm that do not go with privacy, before any data is read."""
    privacy_config.check(privacy)
    if not privacy.private:
        return
    what = f"privacy.mechanism = '{privacy.mechanism}'"
    if aggregation.noise:
        raise TacitError(
            f"aggregation.noise = {aggregation.noise:g} is the papers' noise and no privacy; {what} adds its own "
            "noise: remove aggregation.noise"
        )
    if aggregation.max_norm:
        raise TacitError(
            f"aggregation.max_norm = {aggregation.max_norm:g} would do nothing here: {what} clips every update and "
            "refuses none; remove it"
        )
    if sampling.scheme == "poisson" and privacy.mechanism == "matrix":
        raise TacitError(
            "sampling.scheme = 'poisson' does not go with privacy.mechanism = 'matrix', whose cohorts keep a client's "
            "rounds apart; remove one"
        )
    if sampling.scheme not in ("uniform", "poisson"):
        raise TacitError(
            f"sampling.scheme = '{sampling.scheme}' sets weights that {what} cannot bound; use 'poisson' or 'uniform'"
        )
    travels = set(client.carry.split(","))
    for moment, key in (("m", "moments_clip"), ("v", "second_clip")):
        if moment in travels and not getattr(privacy, key):
            raise TacitError(
                f"client.carry = '{client.carry}' sends moments: {what} needs privacy.{key} above 0, the norm to "
                f"which the change of '{moment}' is clipped"
            )
        if moment not in travels and getattr(privacy, key):
            raise TacitError(
                f"privacy.{key} would do nothing here: client.carry is '{client.carry}', without '{moment}'; remove it"
            )
    if privacy.floor != PrivacyConfig().floor and aggregation.rule != "attentive-loss":
        raise TacitError(
            "privacy.floor would do nothing here: it needs aggregation.rule = 'attentive-loss'; remove it"
        )
    if privacy.coefficients:
        read_strategy(privacy.coefficients)


def private_federation(
    privacy: PrivacyConfig,
    sampling: SamplingConfig,
    population: int,
    rounds: int,
    kinds: tuple[str, ...] = (),
) -> Private | None:
    """Returns the privacy of a federation over a population; None if nothing is private."""
    if not privacy.private:
        return None
    count = cohort_size(sampling, population)
    most = (
        population if sampling.scheme == "poisson" else count
    )  # a Poisson sample may be larger than expected
    if privacy.secure and privacy.least > most:
        raise TacitError(
            f"privacy.least = {privacy.least}, and a round has at most {most} of {population} clients: no sum would "
            "ever be opened; raise sampling.clients, or lower privacy.least"
        )
    clients = count * (1 - sampling.dropout)
    if privacy.mechanism != "matrix":
        return Private(privacy, clients, kinds)
    check_separation(sampling, population, privacy.separation)
    strategy = read_strategy(privacy.coefficients)
    changes = sensitivities(strategy, rounds, privacy.separation)
    return Private(privacy, clients, kinds, strategy, float(changes[-1]))


def secret_sampling(privacy: PrivacyConfig, sampling: SamplingConfig, seed: int) -> int | bytes:
    """Returns the seed by which clients are sampled, the same in every process.

    Sampling hides a client only if nobody knows who was sampled. A run's seed is written in its directory, so a private
    run with Poisson samples takes a secret key from the system, which is stored nowhere.
    """
    if privacy.mechanism != "gaussian" or sampling.scheme != "poisson" or privacy.noise_source == "seed":
        return seed
    return bytes(hosts.from_first(np.frombuffer(os.urandom(_KEY), np.uint8)))


def released(
    private: Private, sampling: SamplingConfig, population: int, rounds: int, t: int, clip: float, digest: str
) -> Release:
    """Returns the ledger entry of round t = 0, 1, …

    Only Poisson sampling hides who takes part. A server that gets each client's own noised message sees who sent it, so
    sampling adds nothing to local noise.
    """
    config = private.config
    if config.mechanism == "clipped":
        return Release("round", "none", round=t + 1, clip=clip, denominator=private.clients, reason=NO_NOISE)
    separated = config.mechanism == "matrix"
    poisson = sampling.scheme == "poisson" and config.mechanism == "gaussian"
    fixed = "fixed" if config.mechanism == "gaussian" else "all"
    return Release(
        what="round",
        mechanism=config.mechanism,
        round=t + 1,
        noise_multiplier=config.noise,
        sampling="separated" if separated else "poisson" if poisson else fixed,
        rate=cohort_size(sampling, population) / population if poisson else 1.0,
        clip=clip,
        participations=participations(rounds, config.separation) if separated else None,
        separation=config.separation if separated else None,
        sensitivity=private.sensitivity,
        noise_digest=digest,
        denominator=private.clients,
        reason=SEEDED if config.noise_source == "seed" else "",
    )
