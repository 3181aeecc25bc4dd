"""Partitions n examples among clients.

A partition is two arrays instead of a list of lists: client k holds the examples
`order[offsets[k]:offsets[k + 1]]`. `order` is a permutation of 0..n-1, so every example has exactly one client, and
no client is empty. The kind `user` (each user is a client) needs no function here.

- `iid`: assigns examples at random; sizes differ by at most one.
- `shards`: sorts by label, cuts into shards and gives each client a few (McMahan et al. 2017, §3: 60,000 digits in
  200 shards of 300, two to a client), so that most clients have two labels.
- `dirichlet`: draws the clients' shares of each label from Dirichlet(α): label or topic skew from one label per
  client (α → 0) to none (α → ∞).
- `quantity`: only the sizes differ; they are log-normal with log-sd σ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.settings import number
from tacit.text.flat import ends


@dataclass(frozen=True)
class PartitionConfig:
    """Selects the partition: the table [partition]. `auto` is `user` if the corpus has users, else `iid`."""

    kind: Literal["auto", "user", "iid", "shards", "dirichlet", "quantity"] = "auto"
    clients: int = number(100, 1, 10_000_000, "all clients' sizes are in memory")  # not used by `user`
    by: Literal["topic", "user", "length"] = "topic"  # the label that shards and dirichlet skew
    shards: int = number(2, 1, 1_000_000, "every shard needs a sentence")  # shards per client
    alpha: float = number(0.5, 1e-6)  # dirichlet: small is skewed
    sigma: float = number(1.0, 0, 10)  # quantity: log-standard deviation of the clients' sizes


class Partition(NamedTuple):
    """Client k holds `order[offsets[k]:offsets[k + 1]]`."""

    order: np.ndarray  # [n] int64, a permutation of the examples
    offsets: np.ndarray  # [clients + 1] int64, from 0 to n

    def client(self, k: int) -> np.ndarray:
        """Returns the examples of client k."""
        return self.order[self.offsets[k] : self.offsets[k + 1]]


def deal(
    kind: str, config: PartitionConfig, n: int, labels: Callable[[], np.ndarray], rng: np.random.Generator
) -> Partition:
    """Partitions n examples by the method `kind`; calls `labels`, which returns [n], only if the method uses labels."""
    if kind == "iid":
        return iid(n, config.clients, rng)
    if kind == "quantity":
        return quantity(n, config.clients, config.sigma, rng)
    if kind == "shards":
        return shards(labels(), config.clients, config.shards, rng=rng)
    return dirichlet(labels(), config.clients, config.alpha, rng)


def iid(n: int, clients: int, rng: np.random.Generator) -> Partition:
    """Assigns examples at random; sizes differ by at most one.

    >>> np.diff(iid(10, 3, np.random.default_rng(0)).offsets)
    array([3, 3, 4])
    """
    _check(n, clients)
    return Partition(rng.permutation(n).astype(np.int64), _cuts(n, clients))


def shards(
    labels: np.ndarray, clients: int, shards_per_client: int = 2, *, rng: np.random.Generator
) -> Partition:
    """Sorts by label, cuts into `clients * shards_per_client` equal shards and assigns the shards at random.

    >>> labels = np.repeat(np.arange(10), 6000)
    >>> p = shards(labels, 100, 2, rng=np.random.default_rng(0))
    >>> max(len(np.unique(labels[p.client(k)])) for k in range(100))
    2
    """
    labels = _labels(labels)
    _check(labels.size, clients)
    if not _whole(shards_per_client) or shards_per_client < 1:
        raise TacitError(f"partition.shards is {shards_per_client}; each client needs at least 1")
    pieces = clients * shards_per_client
    # Shuffled first, so that the examples of a label are assigned to its shards at random.
    shuffled = rng.permutation(labels.size)
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    holder = rng.permutation(np.repeat(np.arange(clients), shards_per_client))  # [pieces]
    owner = np.empty(labels.size, np.int64)
    owner[by_label] = np.repeat(holder, np.diff(_cuts(labels.size, pieces)))
    return _from_owner(owner, clients)


def dirichlet(labels: np.ndarray, clients: int, alpha: float, rng: np.random.Generator) -> Partition:
    """Divides the examples of each label among the clients in Dirichlet(α) proportions.

    >>> labels = np.repeat(np.arange(10), 100)
    >>> p = dirichlet(labels, 20, 0.1, np.random.default_rng(0))
    >>> len(p.order), int(p.offsets[-1])
    (1000, 1000)
    """
    labels = _labels(labels)
    _check(labels.size, clients)
    if not (math.isfinite(alpha) and 1e-6 <= alpha <= 1e9):
        raise TacitError(
            f"partition.alpha is {alpha}; it must be between 1e-6 (one label each) and 1e9 (no skew)"
        )
    owner = np.empty(labels.size, np.int64)
    shuffled = rng.permutation(labels.size)
    by_label = shuffled[np.argsort(labels[shuffled], kind="stable")]
    _, sizes = np.unique(labels, return_counts=True)
    for start, end in pairwise(ends(sizes).tolist()):
        shares = rng.dirichlet(np.full(clients, alpha))
        cuts = np.rint(np.cumsum(shares)[:-1] * (end - start)).astype(np.int64)
        owner[by_label[start:end]] = np.searchsorted(cuts, np.arange(end - start), side="right")
    return _from_owner(owner, clients)


def quantity(n: int, clients: int, sigma: float, rng: np.random.Generator) -> Partition:
    """Assigns examples at random in log-normal amounts with log-sd σ; σ = 0 makes the sizes equal.

    >>> np.diff(quantity(10, 5, 0.0, np.random.default_rng(0)).offsets)
    array([2, 2, 2, 2, 2])
    """
    _check(n, clients)
    if not (math.isfinite(sigma) and 0 <= sigma <= 100):
        raise TacitError(f"partition.sigma is {sigma}; the log-sd of the sizes must be between 0 and 100")
    drawn = sigma * rng.standard_normal(clients)
    weights = np.exp(drawn - drawn.max())  # the largest is 1, so no overflow
    # One example each, the rest in proportion, rounded by the largest remainder method.
    exact = weights / weights.sum() * (n - clients)
    extra = np.floor(exact).astype(np.int64)
    left = n - clients - int(extra.sum())
    extra[np.argsort(extra - exact, kind="stable")[:left]] += 1
    return Partition(rng.permutation(n).astype(np.int64), ends(extra + 1))


def _whole(value: object) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check(n: int, clients: int) -> None:
    if not _whole(clients) or clients < 1:
        raise TacitError(f"partition.clients is {clients}; it must be a whole number of at least 1")
    if n < clients:
        raise TacitError(
            f"partition.clients is {clients} but there are only {n} examples; set it to {n} or less"
        )


def _labels(labels: np.ndarray) -> np.ndarray:
    labels = np.asarray(labels)
    if labels.ndim != 1 or (labels.size and labels.dtype.kind not in "iu"):
        raise TacitError(
            f"labels must be one whole number per example, not {labels.dtype} {list(labels.shape)}"
        )
    return labels


def _cuts(n: int, pieces: int) -> np.ndarray:
    """Returns the boundaries of n things in `pieces` runs whose sizes differ by at most one, [pieces + 1]."""
    return np.arange(pieces + 1, dtype=np.int64) * n // pieces


def _from_owner(owner: np.ndarray, clients: int) -> Partition:
    """Returns the partition in which example e belongs to `owner[e]`.

    An empty client takes one example from the client that has the most at that moment.
    """
    sizes = np.bincount(owner, minlength=clients)
    order = np.argsort(owner, kind="stable").astype(np.int64)
    last = np.cumsum(sizes)  # where each client's examples end in `order`
    empty = np.flatnonzero(sizes == 0)
    for k in empty:
        donor = int(np.argmax(sizes))
        sizes[donor] -= 1
        sizes[k] += 1
        last[donor] -= 1  # the donor gives its last example
        owner[order[last[donor]]] = k
    if empty.size:
        order = np.argsort(owner, kind="stable").astype(np.int64)
    return Partition(order, ends(sizes))
