"""Who is whose neighbour, and how many neighbours and shares suffice (Bell et al. 2020, section 3).

Masks and shares go between neighbours only. The graph is a Harary graph in random order: clients stand in a circle in
the order of SHA-256(seed / id), and each is a neighbour of the k/2 before and the k/2 after it. If k ≥ n − 1, all are
neighbours.

`choose` returns the smallest degree k, and a threshold t of shares, for which a round of n clients fails with at most
the stated probabilities, where at most ⌊δn⌋ clients drop out and at most ⌈γn⌉ collude with the server. With X the
colluding and Y the remaining neighbours of a client (hypergeometric, because the order is random), it bounds by the sum
over clients:

    privacy   P[X ≥ 2t − k]   A neighbour answers for either of a client's secrets, never for both. The server needs
                              t shares of each, so it needs 2t ≤ k + X even if it tells neighbours different things.
    privacy   P[k/2 clients in a row are absent or collude]
                              Otherwise the remaining honest clients are connected: only their whole sum is open.
    loss      P[Y < t]        A secret that the server needs cannot be put together, and the round is abandoned.
"""

from __future__ import annotations

import hashlib
import math
import struct
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln  # type: ignore[import-untyped]

from tacit.base.errors import TacitError


class Rates(NamedTuple):
    """What a round must bear, and how seldom it may fail."""

    dropout: float = 0.3  # δ: share of clients that drop out after the graph is drawn
    colluding: float = 0.1  # γ: share of clients that tell the server all they know
    privacy: float = 2.0**-40  # largest probability that the graph does not protect somebody
    loss: float = 1e-6  # largest probability that a round with at most δn absent is lost


class Sparsity(NamedTuple):
    """How many neighbours a client has, and how many of them can put a secret together."""

    degree: int
    threshold: int


USUAL = Rates()
_ENOUGH = 31  # neighbours: above this only `Rates` ask for more


def fewest_neighbours(clients: int, least: int) -> int:
    """Returns how many neighbours a client insists on: one less than the least number of clients, at most 31.

    This guards against a graph drawn by mistake; how many neighbours protect against collusion is for `choose`.
    """
    return min(least - 1, clients - 1, _ENOUGH)


@cache
def choose(clients: int, rates: Rates = USUAL, least: int = 3) -> Sparsity:
    """Returns the smallest degree, and the threshold, that keep to `rates` and to `fewest_neighbours`.

    >>> choose(100), choose(10)
    (Sparsity(degree=72, threshold=42), Sparsity(degree=9, threshold=6))
    """
    for name in ("dropout", "colluding"):
        if not 0 <= getattr(rates, name) < 1:
            raise TacitError(
                f"{name} = {getattr(rates, name):g} is no share of the clients: it is 0 or more, below 1"
            )
    for name in ("privacy", "loss"):
        if not 0 < getattr(rates, name) < 1:
            raise TacitError(f"{name} = {getattr(rates, name):g} is no probability between 0 and 1")
    absent = math.floor(rates.dropout * clients + 1e-9)
    colluding = math.ceil(rates.colluding * clients - 1e-9)
    first = max(2, fewest_neighbours(clients, least))
    for degree in [*range(first + first % 2, clients - 1, 2), clients - 1]:
        left = _log_tails(clients - 1, clients - 1 - absent, degree)  # log P[Y < 0], …, log P[Y < degree + 1]
        threshold = int(np.flatnonzero(left + math.log(clients) <= math.log(rates.loss)).max(initial=0))
        if 2 * threshold <= degree or disconnected(clients, degree, absent + colluding) > rates.privacy:
            continue
        below = _log_tails(
            clients - 1, clients - 1 - colluding, degree
        )  # of the neighbours that do not collude
        if clients * math.exp(below[2 * (degree - threshold) + 1]) <= rates.privacy:  # X ≥ 2t − k
            return Sparsity(degree, threshold)
    raise TacitError(
        f"no graph of {clients} clients bears {absent} that drop out and {colluding} that collude; "
        "take more clients, or lower shares of them"
    )


def disconnected(clients: int, degree: int, removed: int) -> float:
    """Bounds the probability that a Harary graph without `removed` random clients is not connected.

    A gap of degree/2 in the circle is needed: clients · P[a given stretch of degree/2 is all removed].
    """
    if degree >= clients - 1:
        return 0.0
    row = degree // 2
    if row > removed:
        return 0.0
    return float(
        clients * np.exp(np.sum(np.log(removed - np.arange(row)) - np.log(clients - np.arange(row))))
    )


def _log_tails(population: int, good: int, drawn: int) -> np.ndarray:
    """Returns log P[Y < y] for y = 0 … drawn + 1, Y the good ones among `drawn` of a population, [drawn + 2]."""
    y = np.arange(drawn + 1)
    possible = (y <= good) & (drawn - y <= population - good)
    safe = np.where(possible, y, max(0, drawn - population + good))

    def log_choose(n: int, k: np.ndarray) -> np.ndarray:
        return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    mass = log_choose(good, safe) + log_choose(population - good, drawn - safe)
    mass = np.where(possible, mass - log_choose(population, np.asarray(drawn)), -np.inf)
    return np.concatenate([[-np.inf], np.logaddexp.accumulate(mass)])


def neighbours(ids: Sequence[int], degree: int, seed: bytes) -> dict[int, list[int]]:
    """Returns each client's neighbours in ascending order: a random Harary graph, or everybody.

    >>> neighbours([4, 7, 9], 2, bytes(32))
    {4: [7, 9], 7: [4, 9], 9: [4, 7]}
    """
    if degree >= len(ids) - 1:
        return {i: sorted(set(ids) - {i}) for i in ids}
    if degree % 2:
        raise TacitError(f"a sparse graph has an even degree, not {degree}")
    circle = sorted(ids, key=lambda i: hashlib.sha256(seed + struct.pack(">I", i)).digest())
    steps = [step for step in range(-(degree // 2), degree // 2 + 1) if step]
    return {i: sorted(circle[(at + step) % len(circle)] for step in steps) for at, i in enumerate(circle)}
