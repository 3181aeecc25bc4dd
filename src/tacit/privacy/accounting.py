"""Computes ε of the releases in a ledger, by two accountants of dp-accounting.

    RDP  adds Rényi divergences, order by order, and converts the sum to ε at δ (Mironov 2017; for Poisson samples
         Mironov et al. 2019).
    PLD  convolves the distributions of the privacy loss (Koskela et al. 2020). It is tighter. Its rounding only ever
         makes ε larger. For Gaussian noise on its own the exact ε is known in closed form (Balle and Wang 2018).

Both are upper bounds at the same δ; the smaller one is reported as ε. Neighbours are two trainings, in one of which one
client sends zeros whenever it is sampled ("zero-out"; dp-accounting's REPLACE_SPECIAL). A sum with zeros from a
client is the sum without it, and denominators and rates are public and the same in both. So the distributions are those
of a client added or removed, and so is ε.

Which mechanism counts how:

    gaussian, Poisson  amplified by sampling at the rate q
    gaussian, other    not amplified; one client may be in every round, or in as many as `participations` says
    local              as gaussian without amplification: the receiver of a message knows its sender
    matrix             all rounds together are one Gaussian release of multiplier z / sensitivity(C)
    laplace            not amplified
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.privacy.ledger import Release, no_epsilon

_FINE, _COARSE = 5e-5, 3e-4  # width of a bin of the privacy loss, as a share of ε
_WIDEST = 50.0  # bins wider than this hold the whole loss of a release
_TOO_SMALL = "the noise is too small for a finite ε"
_POINTS = 500  # of a curve, at most
_CURVE = 50  # points of a curve at which PLD is computed

# Orders of Rényi divergence. Those below 2 converge slowly for Poisson samples and matter only for ε above 100.
_ORDERS = np.unique(
    [
        *(1.02, 1.05),
        *np.arange(1.1, 11, 0.1).round(1),
        *np.arange(11, 64),
        *(72, 80, 96, 112, 128, 160, 192, 256, 384, 512, 768, 1024, 2048),
    ]
)
_FEW = np.array([*range(2, 17), 20, 24, 32, 48, 64, 128, 256])


class Spent(NamedTuple):
    """The privacy that releases have cost."""

    epsilon: float | None  # the smaller of the two below; None if there is no ε
    reason: str  # why there is none
    epsilon_rdp: float | None
    epsilon_pld: float | None
    zcdp: float | None  # ρ of zero-concentrated DP; None with Poisson sampling, where no ρ is known
    assumption: str  # in words: about sampling, and about who is protected


class Parts(NamedTuple):
    """Releases, sorted by how they are accounted for."""

    gaussian: float = 0.0  # Σ 1/z² of Gaussian noise without amplification
    sampled: tuple[tuple[float, float, int], ...] = ()  # (z, q, how often) of Poisson samples
    laplace: tuple[tuple[float, int], ...] = ()  # (scale / L1 sensitivity, how often)
    delta: float = 0.0  # Σ δ of thresholds


def spent(releases: Sequence[Release], delta: float) -> Spent:
    """Returns ε of these releases at δ.

    >>> rounds = [Release("round", "gaussian", t, 1.0, "poisson", 0.01, clip=1.0) for t in range(1, 501)]
    >>> figures = spent(rounds, 1e-5)
    >>> round(figures.epsilon_rdp, 3), round(figures.epsilon_pld, 2)
    (1.653, 1.33)
    """
    check_delta(delta)
    if reason := no_epsilon(releases):
        return Spent(None, reason, None, None, None, assumption(releases))
    parts = sorted_parts(releases)
    if parts.delta >= delta:
        reason = f"thresholds alone fail with probability {parts.delta:g}, not below δ = {delta:g}; ask for a larger δ"
        return Spent(None, reason, None, None, None, assumption(releases))
    if math.isinf(parts.gaussian):
        return Spent(None, _TOO_SMALL, None, None, None, assumption(releases))
    by_rdp, by_pld = rdp(parts, delta), pld(parts, delta)
    both = [value for value in (by_rdp, by_pld) if math.isfinite(value)]
    if not both:
        return Spent(None, _TOO_SMALL, None, None, None, assumption(releases))
    return Spent(min(both), "", _finite(by_rdp), _finite(by_pld), zcdp(parts), assumption(releases))


def check_delta(delta: float) -> None:
    """Refuses a δ that is not a small probability."""
    if not 0 < delta < 1:
        raise TacitError(
            f"δ = {delta:g} must be above 0 and below 1; take one far below 1 / number of people"
        )


def sorted_parts(releases: Sequence[Release]) -> Parts:
    """Sorts releases by how they are accounted for; they all have noise."""
    gaussian, delta = 0.0, 0.0
    sampled: Counter[tuple[float, float]] = Counter()
    laplace: Counter[float] = Counter()
    bounded: dict[tuple[str, int], list[float]] = defaultdict(list)  # 1/z², by what and participations
    matrix: dict[tuple[Any, ...], Counter[int | None]] = defaultdict(Counter)
    for release in releases:
        z = release.noise_multiplier
        assert z
        delta += release.delta
        if release.mechanism == "laplace":
            laplace[z] += 1
        elif release.mechanism == "matrix":
            key = (z, release.sensitivity, release.participations, release.separation)
            matrix[key][release.round] += 1
        elif release.mechanism == "gaussian" and release.sampling == "poisson" and release.rate < 1:
            sampled[z, release.rate] += 1
        elif release.participations:
            bounded[release.what, release.participations].append(_square(1 / z))
        else:
            gaussian += _square(1 / z)
    for (_, most), costs in bounded.items():  # the worst client takes part in the costliest of them
        gaussian += sum(sorted(costs, reverse=True)[:most])
    for (z, sensitivity, *_), rounds in matrix.items():
        # a round made twice repeats a row of C; a matrix with every row so often has √so often the sensitivity
        gaussian += max(rounds.values()) * _square(sensitivity / z)
    return Parts(gaussian, tuple((z, q, n) for (z, q), n in sampled.items()), tuple(laplace.items()), delta)


def _square(x: float) -> float:
    """Returns x², ∞ if it is larger than any float; `**` would raise an error."""
    return x * x


def rdp(parts: Parts, delta: float, rough: bool = False) -> float:
    """Returns ε at δ by Rényi divergences; a rough one is faster and a little larger, because it tries few orders."""
    compute = library("dp_accounting.rdp").compute_epsilon
    orders = _FEW if rough else _ORDERS
    total = orders * parts.gaussian / 2
    for z, q, count in parts.sampled:
        total = total + count * _sampled_divergence(z, q, rough)
    for scale, count in parts.laplace:
        total = total + count * _laplace_divergence(scale, rough)
    with _quiet():
        return float(compute(orders, total, delta - parts.delta)[0])


def pld(parts: Parts, delta: float, width: float | None = None) -> float:
    """Returns ε at δ by distributions of the privacy loss; Gaussian noise alone in closed form.

    The loss is put into bins of this width; wider ones are faster and make ε larger (`bin_width`).
    """
    delta = delta - parts.delta
    if not parts.sampled and not parts.laplace:
        exact = library("dp_accounting.gaussian_mechanism").get_epsilon_gaussian
        return float(exact(1 / math.sqrt(parts.gaussian), delta)) if parts.gaussian else 0.0
    width = width or bin_width(parts, delta + parts.delta, fine=True)
    if not 0 < width < _WIDEST:
        return math.inf if width else 0.0
    with _quiet():
        return float(_losses(parts, width).get_epsilon_for_delta(delta))


def bin_width(parts: Parts, delta: float, fine: bool = False) -> float:
    """Returns a width of bins for the privacy loss: a small share of ε. Coarse ones make ε up to 1 % larger."""
    count = sum(count for *_, count in (*parts.sampled, *parts.laplace))
    share = _FINE if fine else min(_COARSE, 0.01 / math.sqrt(max(1, count)))  # rounding adds up over releases
    return share * rdp(parts, delta, rough=True)


def zcdp(parts: Parts) -> float | None:
    """Returns ρ of zero-concentrated DP; None with Poisson sampling or thresholds, to which it does not apply."""
    if parts.sampled or parts.delta:
        return None
    return parts.gaussian / 2 + sum(count / (2 * scale**2) for scale, count in parts.laplace)


def curve(
    releases: Sequence[Release], delta: float, progress: Progress = no_progress
) -> list[tuple[int, float]]:
    """Returns ε after each round of a ledger, as (round, ε), of many rounds some; [] if the releases have no ε.

    Releases without a round count from the first round on. A repeated round counts where it was repeated.
    """
    if no_epsilon(releases):
        return []
    before = [release for release in releases if release.round is None]
    rounds = [release for release in releases if release.round is not None]
    if not rounds:
        return [(0, value)] if (value := spent(releases, delta).epsilon) is not None else []
    step = -(-len(rounds) // _POINTS)
    sizes = sorted({*range(step, len(rounds) + 1, step), len(rounds)})
    values = epsilons(lambda n: sorted_parts([*before, *rounds[: sizes[n - 1]]]), len(sizes), delta, progress)
    reached = np.maximum.accumulate([release.round or 0 for release in rounds])
    return list({int(reached[size - 1]): value for size, value in zip(sizes, values, strict=True)}.items())


def epsilons(
    parts: Callable[[int], Parts], count: int, delta: float, progress: Progress = no_progress
) -> list[float]:
    """Returns upper bounds of ε after 1, …, `count` releases.

    RDP is computed for each, PLD, which takes longer, at a few. ε never falls, so PLD of a later release bounds the
    earlier ones; the smaller of the two bounds is taken.
    """
    even = {-(-count * i // _CURVE) for i in range(1, _CURVE + 1)}
    at = sorted(even | {n for n in (1, 2, 4, 8, 16, 32) if n < count})  # ε rises fastest at first
    width = bin_width(parts(count), delta)  # one for all, so that a release's loss is computed once
    tight = {}
    for i, n in enumerate(at):
        progress("ε of every round", i / len(at))
        tight[n] = pld(parts(n), delta, width if n < count else None)
    progress("ε of every round", 1.0)
    later = np.searchsorted(at, np.arange(1, count + 1))
    return [min(rdp(parts(n), delta), tight[at[later[n - 1]]]) for n in range(1, count + 1)]


def assumption(releases: Sequence[Release]) -> str:
    """Returns in words what ε assumes."""
    ways = {_way(release) for release in releases if release.mechanism != "none" and not release.reason}
    return "; ".join(["one client with all its text is protected", *sorted(ways)])


def _way(release: Release) -> str:
    if release.mechanism == "matrix":
        return (
            f"a client takes part in at most {release.participations or 0:,} rounds, at least "
            f"{release.separation or 0:,} apart, which the server enforces; nothing is assumed about sampling"
        )
    if release.mechanism == "local":
        return (
            "every client adds its own noise, so nobody has to be trusted; nothing is assumed about sampling"
        )
    if release.mechanism == "gaussian" and release.sampling == "poisson" and release.rate < 1:
        return (
            f"in each round every client takes part independently with probability {release.rate:g} and nobody learns "
            "who did (Poisson sampling, which a simulation can do and a real federation cannot)"
        )
    if release.participations:
        return f"a client takes part in at most {release.participations:,}; nothing is assumed about sampling"
    return "a client may take part every time; nothing is gained from sampling"


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


@functools.lru_cache(maxsize=1000)
def _sampled_divergence(z: float, q: float, rough: bool) -> np.ndarray:
    """Returns the Rényi divergence of a Poisson-sampled Gaussian at each order; ∞ where it does not converge."""
    events = library("dp_accounting")
    return _divergence(events.PoissonSampledDpEvent(q, events.GaussianDpEvent(z)), rough, least=1.1)


@functools.lru_cache(maxsize=1000)
def _laplace_divergence(scale: float, rough: bool) -> np.ndarray:
    return _divergence(library("dp_accounting").LaplaceDpEvent(scale), rough)


def _divergence(event: Any, rough: bool, least: float = 1.0) -> np.ndarray:
    orders = _FEW if rough else _ORDERS
    used = orders[orders >= least]
    zero_out = library("dp_accounting").NeighboringRelation.REPLACE_SPECIAL
    accountant = library("dp_accounting.rdp").RdpAccountant(used, zero_out)
    with _quiet():
        accountant.compose(event)
    divergences = np.full(len(orders), np.inf)
    divergences[len(orders) - len(used) :] = accountant._rdp
    return divergences


def _losses(parts: Parts, width: float) -> Any:
    """Composes the privacy losses of all parts, in bins of this width."""
    made = library("dp_accounting.pld.privacy_loss_distribution")
    total = made.identity(value_discretization_interval=width)
    for z, q, count in parts.sampled:
        total = total.compose(_loss("gaussian", z, width, q).self_compose(count))
    for scale, count in parts.laplace:
        total = total.compose(_loss("laplace", scale, width).self_compose(count))
    if parts.gaussian:
        total = total.compose(_loss("gaussian", 1 / math.sqrt(parts.gaussian), width))
    return total


@functools.lru_cache(maxsize=20)
def _loss(mechanism: str, noise: float, width: float, rate: float = 1.0) -> Any:
    """Returns the distribution of the privacy loss of one release."""
    made = library("dp_accounting.pld.privacy_loss_distribution")
    make = getattr(made, f"from_{mechanism}_mechanism")
    return make(noise, value_discretization_interval=width, sampling_prob=rate)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences dp-accounting's warnings about orders that it leaves out, and about overflow in them."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        logger.setLevel(level)


def available() -> bool:
    """Whether dp-accounting is installed."""
    from importlib.util import find_spec

    return find_spec("dp_accounting") is not None


def library(name: str) -> Any:
    """Imports a module of the extra `privacy`; says how to install it if it is missing."""
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0].replace("_", "-")
        raise TacitError(f"{package} is not installed; `pip install 'tacit[privacy]'`") from None
