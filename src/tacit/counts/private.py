"""Adds noise to counts, which bounds what they reveal about one client.

Over a public whitelist a client's counts are clipped to the sum λ in each of the p rounds that it takes part in, so
one client changes the sum by at most λp:

    laplace   noise of scale λp / ε on every word of the whitelist: ε at δ = 0, no threshold
    gaussian  noise of standard deviation λp σ(ε, δ), σ that of the Gaussian mechanism

Without a whitelist a rare word would reveal who typed it. So each client sends at most k different words, each once,
and only words whose noised count reaches a threshold are released:

    open      σ = √k σ(ε, δ/2),   τ = 1 + σ Φ⁻¹((1 − δ/2)^{1/k})

If all k words of a client are typed by that client alone, all stay below τ with probability 1 − δ/2.

The clients of a round are drawn independently of the text, so the server may know p.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import ndtri  # type: ignore[import-untyped]

from tacit.base.arrays import Floats
from tacit.base.errors import TacitError
from tacit.counts.unigrams import tally
from tacit.federated.sampling import SamplingConfig, choose
from tacit.privacy.accounting import check_delta, library
from tacit.privacy.laplace import Source, Traced, laplace, normal, on_grid
from tacit.privacy.ledger import Release
from tacit.text.packed import ClientText
from tacit.text.vocabulary import SPECIALS, Vocabulary

Mechanism = Literal["laplace", "gaussian"]
MECHANISMS: tuple[Mechanism, ...] = ("laplace", "gaussian")
_CLIENTS = 1024  # tallied at once


class Privacy(NamedTuple):
    """Holds the guarantee that a private count must give."""

    epsilon: float
    delta: float = 1e-6  # gaussian noise and open words
    mechanism: Mechanism = "laplace"
    words: int = (
        0  # k: count any words, at most so many different ones of each client; 0: those of a whitelist
    )


class Noised(NamedTuple):
    """Holds noised sums, and their line in the ledger."""

    counts: Floats  # [V], not negative; 0: not released
    release: Release
    scale: float  # of the noise
    threshold: float | None = None


def check(privacy: Privacy) -> None:
    """Refuses settings that give no ε."""
    if not 0 < privacy.epsilon <= 1e6:
        raise TacitError(f"--epsilon {privacy.epsilon:g} must be above 0 and at most 1e+06")
    check_delta(privacy.delta)
    if privacy.words < 0:
        raise TacitError(f"--open {privacy.words} must be at least 1")


def most_rounds(sampling: SamplingConfig, sizes: np.ndarray, seed: int, rounds: int) -> int:
    """Returns p, the number of rounds that the client who is drawn most often takes part in."""
    times = np.zeros(len(sizes), np.int64)
    for t in range(rounds):
        chosen = choose(sampling, sizes, seed, t)
        times[chosen.ids] += 1
    return int(times.max(initial=1))


def over_whitelist(
    counts: Floats, limit: float, most: int, privacy: Privacy, source: Source | None = None
) -> Noised:
    """Adds noise to clipped counts [V] over a whitelist; a client sends a sum of at most λ = `limit`, `most` times."""
    bound = limit * most
    words = len(counts) - len(SPECIALS)
    traced = Traced(source)
    if privacy.mechanism == "laplace":
        multiplier = 1 / privacy.epsilon
        noise = laplace(words, bound * multiplier, traced)
    else:
        multiplier = gaussian_sigma(privacy.epsilon, privacy.delta)
        noise = normal(words, bound * multiplier, traced)
    scale = bound * multiplier
    noised = np.zeros(len(counts))
    noised[len(SPECIALS) :] = np.maximum(on_grid(counts[len(SPECIALS) :] + noise, scale), 0.0)
    release = Release(
        "counts",
        privacy.mechanism,
        noise_multiplier=multiplier,
        clip=bound,
        noise_digest=traced.digest,
    )
    return Noised(noised, release, scale)


def open_words(
    clients: ClientText, words: Vocabulary, privacy: Privacy, source: Source | None = None
) -> Noised:
    """Counts in how many clients' text a word is, noised, over any words; `words` are all that occur."""
    counts = clients_with(clients, words, privacy.words)
    sigma, threshold = open_noise(privacy.epsilon, privacy.delta, privacy.words)
    there = np.flatnonzero(counts)
    traced = Traced(source)
    noise = normal(len(there), sigma, traced)
    noised = np.zeros(len(words))
    noised[there] = counts[there] + noise
    released = np.where(noised >= threshold, on_grid(noised, sigma), 0.0)
    release = Release(
        "vocabulary",
        "gaussian",
        noise_multiplier=sigma / math.sqrt(privacy.words),
        clip=math.sqrt(privacy.words),
        noise_digest=traced.digest,
        delta=privacy.delta / 2,
    )
    return Noised(released, release, sigma, threshold)


def open_noise(epsilon: float, delta: float, words: int) -> tuple[float, float]:
    """Returns σ and the threshold τ for clients that send k = `words` words each."""
    sigma = math.sqrt(words) * gaussian_sigma(epsilon, delta / 2)
    return sigma, 1 + sigma * float(ndtri((1 - delta / 2) ** (1 / words)))


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """Returns σ(ε, δ): the least standard deviation for sensitivity 1 (Balle and Wang 2018)."""
    return float(library("dp_accounting.gaussian_mechanism").get_sigma_gaussian(epsilon, delta))


def clients_with(clients: ClientText, words: Vocabulary, most: int) -> Floats:
    """Returns for each word the number of clients that send it, [V]: each its `most` commonest words, once.

    Ties are broken by the alphabet, because a client's choice must not depend on what others typed.
    """
    letters = np.empty(len(words), np.int64)
    letters[np.argsort(np.array(words.words, object), kind="stable")] = np.arange(len(words))
    counts = np.zeros(len(words))
    for first in range(0, len(clients), _CLIENTS):
        some = clients.gather(np.arange(first, min(first + _CLIENTS, len(clients))))
        held = tally(some, len(words))
        owner = np.repeat(np.arange(len(some)), np.diff(held.starts))
        by = np.lexsort((letters[held.words], -held.counts, owner))
        place = np.arange(len(by)) - held.starts[owner]  # rank within the client: `by` keeps owners together
        np.add.at(counts, held.words[by][place < most], 1.0)
    return counts
