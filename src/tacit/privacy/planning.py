"""Plans a private training: finds the noise for a wanted ε, the ε of given noise, or the cohort that both allow.

The noise multiplier z is the standard deviation of the noise over the most that one client can change in the sum. ε
falls as z grows, so z is found by root finding on ε by PLD (`tacit.privacy.accounting`), then rounded up. With Poisson
sampling ε also depends on the cohort: the rate is clients / population.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress, stage
from tacit.privacy.accounting import (
    Parts,
    assumption,
    bin_width,
    check_delta,
    epsilons,
    library,
    pld,
    rdp,
    zcdp,
)
from tacit.privacy.ledger import Release
from tacit.privacy.optimal import FORMS, Form, optimal, prefix_error
from tacit.privacy.plan_file import Plan
from tacit.privacy.strategy import Strategy, participations, sensitivities

MECHANISMS = ("gaussian", "matrix", "local")
SAMPLING = ("poisson", "fixed", "separated")
_MOST_ROUNDS = 100_000
_LARGEST = 1e6  # noise multiplier, and ε


@dataclass(frozen=True)
class Wish:
    """What is asked for. Of ε, clients and noise multiplier two are given and the third is found."""

    delta: float
    rounds: int
    population: int
    epsilon: float | None = None
    clients: int | None = None
    noise_multiplier: float | None = None
    mechanism: str = "gaussian"
    sampling: str = ""  # "": poisson for gaussian, separated for matrix, fixed for local
    separation: int = 0  # 0: as large as the population allows
    form: Form = "blt"
    bands: int = 0


class Cohort(NamedTuple):
    """Another cohort size for the same ε."""

    clients: int
    noise_multiplier: float
    noise_in_mean: float


def plan(wish: Wish, progress: Progress = no_progress) -> Plan:
    """Returns the plan for a wish."""
    sampling = _check(wish)
    clients = wish.clients
    if clients is None:
        assert wish.epsilon is not None and wish.noise_multiplier is not None
        clients = largest_cohort(
            wish.epsilon, wish.delta, wish.rounds, wish.population, wish.noise_multiplier, progress
        )
    separation = _separation(wish, clients) if sampling == "separated" else None
    matrix = None
    if wish.mechanism == "matrix":
        assert separation
        half = stage(progress, 0.0, 0.7)
        matrix = optimal(wish.rounds, separation, wish.form, wish.bands, half)
    rate = clients / wish.population
    parts = _parts(wish.rounds, rate, sampling, separation, matrix)
    z = wish.noise_multiplier
    if z is None:
        assert wish.epsilon is not None
        z = noise_for(wish.epsilon, wish.delta, lambda z: parts(z, wish.rounds), progress)
    return _filled(wish, sampling, clients, separation, matrix, z, parts, progress)


def noise_for(
    epsilon: float, delta: float, parts: Callable[[float], Parts], progress: Progress = no_progress
) -> float:
    """Returns the least noise multiplier, rounded up to four digits, with which releases have at most this ε."""
    from scipy.optimize import brentq  # type: ignore[import-untyped]

    if (alone := parts(1.0)).gaussian and not alone.sampled:  # Gaussian noise alone: closed form
        exact = library("dp_accounting.gaussian_mechanism").get_sigma_gaussian
        sigma = float(exact(epsilon, delta)) * math.sqrt(alone.gaussian)
        return _rounded_up(sigma)
    high = _enough_by_rdp(epsilon, delta, parts)
    tried = 0

    def excess(z: float) -> float:
        nonlocal tried
        progress("finding the noise", min(0.95, tried / 9))
        tried += 1
        now = parts(z)
        return math.log(max(pld(now, delta, bin_width(now, delta)), 1e-12) / epsilon)

    low = high * 0.85  # PLD needs a little less noise than RDP
    while low > 1e-3 and excess(low) < 0:
        low, high = low * 0.8, low
    z = _rounded_up(brentq(excess, low, high, rtol=2e-4) if low > 1e-3 else high)
    while excess(z) > 0:  # the root is known to 0.02 %
        z = _rounded_up(z * 1.0002)
    return z


def _enough_by_rdp(epsilon: float, delta: float, parts: Callable[[float], Parts]) -> float:
    """Returns a noise multiplier that is enough by RDP, within 2 %."""
    low, high = 1e-3, 1.0
    while rdp(parts(high), delta, rough=True) > epsilon:
        low, high = high, high * 4
        if high > _LARGEST:
            raise TacitError(
                f"ε = {epsilon:g} at δ = {delta:g} needs a noise multiplier above {_LARGEST:g}; ask for a larger ε"
            )
    while high > 1.02 * low:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if rdp(parts(middle), delta, rough=True) > epsilon else (low, middle)
    return high


def _rounded_up(z: float) -> float:
    """Rounds up to four digits.

    >>> _rounded_up(1.23401), _rounded_up(123.4)
    (1.235, 123.4)
    """
    unit = 10.0 ** (math.floor(math.log10(z)) - 3)
    return float(f"{math.ceil(round(z / unit, 9)) * unit:.4g}")


def largest_cohort(
    epsilon: float,
    delta: float,
    rounds: int,
    population: int,
    noise_multiplier: float,
    progress: Progress = no_progress,
) -> int:
    """Returns the largest Poisson cohort with which this noise still gives at most this ε."""

    def fits(clients: int) -> bool:
        parts = _parts(rounds, clients / population, "poisson", None, None)(noise_multiplier, rounds)
        if rdp(parts, delta, rough=True) <= epsilon:
            return True
        return pld(parts, delta, bin_width(parts, delta)) <= epsilon

    if not fits(1):
        raise TacitError(
            f"with noise multiplier {noise_multiplier:g} even one client of {population:,} in a round gives more than "
            f"ε = {epsilon:g}; give more noise, fewer rounds or a larger ε"
        )
    least, most, tried = 1, population + 1, 0
    while most - least > max(1, least // 1000):
        middle = math.isqrt(least * most) if most > 2 * least + 2 else (least + most) // 2
        progress("finding the cohort", min(0.95, tried / 18))
        tried += 1
        least, most = (middle, most) if fits(middle) else (least, middle)
    return least


def cohorts(plan: Plan, progress: Progress = no_progress) -> list[Cohort]:
    """Returns what other cohorts need for the ε of a Poisson plan: a larger one has less noise in its mean."""
    if plan.sampling != "poisson":
        return []
    choices = []
    sizes = [round(plan.clients * factor) for factor in (0.25, 0.5, 2, 4)]
    sizes = [clients for clients in sizes if 1 <= clients <= plan.population and clients != plan.clients]
    for i, clients in enumerate(sizes):
        part = stage(progress, i / len(sizes), (i + 1) / len(sizes), f"a cohort of {clients:,}")
        parts = _parts(plan.rounds, clients / plan.population, "poisson", None, None)
        z = noise_for(plan.epsilon, plan.delta, lambda z, parts=parts: parts(z, plan.rounds), part)  # type: ignore[misc]
        choices.append(Cohort(clients, z, z / clients))
    own = Cohort(plan.clients, plan.noise_multiplier, plan.noise_multiplier / plan.clients)
    return sorted([*choices, own])


def _parts(
    rounds: int, rate: float, sampling: str, separation: int | None, matrix: Strategy | None
) -> Callable[[float, int], Parts]:
    """Returns a function of the noise multiplier and the number of rounds made: what is to be accounted for."""
    if matrix is not None:
        assert separation
        changes = sensitivities(matrix, rounds, separation)
        return lambda z, n: Parts(gaussian=float(changes[n - 1] / z) ** 2)
    if sampling == "poisson" and rate < 1:
        return lambda z, n: Parts(sampled=((z, rate, n),))
    if separation:
        return lambda z, n: Parts(gaussian=participations(n, separation) / z**2)
    return lambda z, n: Parts(gaussian=n / z**2)


def _filled(
    wish: Wish,
    sampling: str,
    clients: int,
    separation: int | None,
    matrix: Strategy | None,
    z: float,
    parts: Callable[[float, int], Parts],
    progress: Progress,
) -> Plan:
    rounds, all_rounds = wish.rounds, parts(z, wish.rounds)
    by_rdp, by_pld = rdp(all_rounds, wish.delta), pld(all_rounds, wish.delta)
    if not 0 < min(by_rdp, by_pld) < math.inf:
        raise TacitError(f"noise multiplier {z:g} gives no finite ε above 0; give another")
    last = stage(progress, 0.7, 1.0) if matrix else progress
    each = np.maximum.accumulate(epsilons(lambda n: parts(z, n), rounds, wish.delta, last))
    one = z / (math.sqrt(clients) if wish.mechanism == "local" else clients)
    independent = math.sqrt((rounds + 1) / 2)
    error = prefix_error(matrix, rounds) if matrix else independent
    most = participations(rounds, separation) if separation else None
    sensitivity = None
    if matrix and separation:
        sensitivity = float(sensitivities(matrix, rounds, separation)[-1])
    release = Release(
        "round",
        wish.mechanism,
        noise_multiplier=z,
        sampling=sampling,
        rate=clients / wish.population if sampling == "poisson" else 1.0,
        participations=most,
        separation=separation,
    )
    return Plan(
        mechanism=wish.mechanism,
        sampling=sampling,
        delta=wish.delta,
        rounds=rounds,
        population=wish.population,
        clients=clients,
        rate=clients / wish.population,
        noise_multiplier=z,
        epsilon=min(by_rdp, by_pld),
        epsilon_rdp=by_rdp if math.isfinite(by_rdp) else None,
        epsilon_pld=by_pld if math.isfinite(by_pld) else None,
        epsilons=tuple(each.tolist()),
        noise_in_mean=None if matrix else one,
        noise_in_sum=one * error,
        assumption=assumption([release]),
        zcdp=zcdp(all_rounds),
        separation=separation,
        participations=most,
        sensitivity=sensitivity,
        coefficients=matrix.text() if matrix else None,
        error=error * sensitivity if sensitivity else None,
        error_independent=independent * math.sqrt(most) if sensitivity and most else None,
    )


def _separation(wish: Wish, clients: int) -> int:
    """Returns the separation, as asked or the largest; refuses one that the population cannot satisfy."""
    possible = wish.population // clients
    if wish.separation > possible:
        raise TacitError(
            f"a separation of {wish.separation:,} rounds needs {wish.separation * clients:,} people for {clients:,} "
            f"clients a round, and the population is {wish.population:,}; the largest possible is {possible:,}"
        )
    return min(wish.separation or possible, wish.rounds)


def _check(wish: Wish) -> str:
    """Refuses a wish that makes no sense; returns the sampling."""
    check_delta(wish.delta)
    for name, value in (("ε", wish.epsilon), ("the noise multiplier", wish.noise_multiplier)):
        if value is not None and not 0 < value <= _LARGEST:
            raise TacitError(
                f"{name} = {value:g} must be above 0 and at most {_LARGEST:g}; give one such as 1"
            )
    whole: dict[str, Any] = {"rounds": wish.rounds, "population": wish.population, "clients": wish.clients}
    for name, number in whole.items():
        if number is not None and not 1 <= number < 2**53:
            raise TacitError(f"{name} = {number} must be a whole number from 1")
    if wish.rounds > _MOST_ROUNDS:
        raise TacitError(f"rounds = {wish.rounds:,} are more than {_MOST_ROUNDS:,}; plan fewer")
    if wish.clients is not None and wish.clients > wish.population:
        raise TacitError(
            f"{wish.clients:,} clients a round are more than the population of {wish.population:,}; give fewer clients"
        )
    given = [value is not None for value in (wish.epsilon, wish.clients, wish.noise_multiplier)]
    if sum(given) != 2:
        raise TacitError(
            "give two of epsilon, clients and noise multiplier, and the third is found; given are "
            + str(sum(given))
        )
    usual = {"gaussian": "poisson", "matrix": "separated", "local": "fixed"}
    if wish.mechanism not in usual:
        raise TacitError(f"mechanism '{wish.mechanism}' is not known; it is one of: {', '.join(usual)}")
    sampling = wish.sampling or ("separated" if wish.separation else usual[wish.mechanism])
    _check_sampling(wish, sampling)
    return sampling


def _check_sampling(wish: Wish, sampling: str) -> None:
    if sampling not in SAMPLING:
        raise TacitError(f"sampling '{sampling}' is not known; it is one of: {', '.join(SAMPLING)}")
    if wish.mechanism == "matrix" and sampling != "separated":
        raise TacitError(
            "mechanism 'matrix' needs sampling 'separated': its noise is planned for rounds that lie apart"
        )
    if wish.mechanism == "local" and sampling == "poisson":
        raise TacitError(
            "mechanism 'local' gains nothing from Poisson sampling, because the receiver sees who sends; leave it out"
        )
    if wish.separation < 0 or (wish.separation and sampling != "separated"):
        raise TacitError(f"separation = {wish.separation} needs sampling 'separated' and must be at least 1")
    if wish.clients is None and sampling != "poisson":
        raise TacitError(f"with sampling '{sampling}' ε does not depend on the cohort: give clients")
    if wish.form not in FORMS:
        raise TacitError(f"matrix '{wish.form}' is not known; it is one of: {', '.join(FORMS)}")
    if wish.bands < 0 or (wish.bands and (wish.mechanism, wish.form) != ("matrix", "banded")):
        raise TacitError("bands are for mechanism 'matrix' with matrix 'banded', and at least 1")
