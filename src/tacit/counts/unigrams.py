"""Counts words across devices (paper 4, section 3.1): the server gets U = Σ_i w_i C_i and nothing else.

C_i are the counts of client i over a whitelist; a word outside it has no entry in C_i, so it cannot be sent. Each
client's counts are L1-clipped before they leave it:

    w_i = λ / max(λ, Σ C_i)          λ = 1: everybody weighs the same;  λ = ∞: the true counts

Counting is a kind of training: from w = 0, one step at rate 1 down the linear objective L(w) = −Σ_x C_i(x) w(x) ends
at w = C_i. So the clipping is the message of an `Aggregation`, and the program that trains models
(`federated.cohort_sums`) also counts. Its secure aggregation and its noise work for counts, too. Each λ is a row of the
same message.

A round's sum is computed in float32, in which whole numbers are exact below 2²⁴; a sum that reaches it is refused.
The server adds rounds in float64. A client that is sampled in several rounds sends the same counts again, because the
simulator's people, unlike those with phones, type nothing new.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.federated import trees
from tacit.federated.aggregation import Aggregation, ClientMessage
from tacit.federated.algorithm import round_key
from tacit.federated.client_config import ClientConfig
from tacit.federated.cohort_sums import cohort_sums
from tacit.federated.executors import Executor
from tacit.federated.local import Broadcast, Cohort, Sending
from tacit.federated.sampling import SamplingConfig, choose, chosen_cohort, cohort_size
from tacit.models.base import Params
from tacit.text.flat import cells
from tacit.text.packed import ClientText, Packed, bucket
from tacit.text.vocabulary import UNK

_EXACT = 2**24  # float32 holds every whole number below it


class Tally(NamedTuple):
    """Holds the whitelist words of a client, each once; padding has the count 0."""

    words: Any  # [..., entries] int32
    counts: Any  # [..., entries] float32


class Round(NamedTuple):
    """Holds what the server gets in a round."""

    counts: Floats  # [limits, V]: the sum of the clipped counts; ids 0 to 2 are not words and stay 0
    clients: int  # that reported
    dropped: int  # that were sampled and did not report


def clipped_counts(limits: Sequence[float]) -> Aggregation:
    """Returns the rule: a client sends its counts ([V], its update), clipped for each λ; the server adds them.

    >>> message = clipped_counts([1, 4, math.inf]).message(None, jnp.array([6.0, 2.0]), None)
    >>> message.tolist()
    [[0.75, 0.25], [3.0, 1.0], [6.0, 2.0]]
    """
    for limit in limits:
        if not limit > 0:
            raise TacitError(f"λ is {limit:g}; it must be above 0 (inf: counts are not clipped)")
    if not limits:
        raise TacitError("no λ was given; give one at least, for example 1000")

    def message(params: Params, update: Params, weight: Array) -> ClientMessage:
        del params, weight  # there is no model, and λ sets a client's weight
        most = jnp.asarray(limits, jnp.float32)
        # min(1, λ / ΣC) is λ / max(λ, ΣC), without ∞ / ∞
        return jnp.minimum(1.0, most / jnp.maximum(jnp.sum(update), 1.0))[:, None] * update  # [limits, V]

    return Aggregation(message, lambda params, message: trees.scale(-1.0, message))


def linear_loss(w: Params, batch: Tally, key: Array | None) -> tuple[Array, Array]:
    """Returns L(w) = −Σ C(x) w(x), whose gradient is −C, and the number of words counted."""
    del key
    return -jnp.sum(batch.counts * w[batch.words]), jnp.sum(batch.counts).astype(jnp.int32)


class Tallies(NamedTuple):
    """The counts of many clients; client c's entries are `starts[c]:starts[c + 1]`."""

    words: Ints  # [entries]
    counts: Ints  # [entries]
    starts: Ints  # [clients + 1]


def tally(text: Packed, vocabulary: int) -> Tallies:
    """Returns each client's counts, by word; `<s>`, `</s>` and words outside the vocabulary are not counted.

    >>> from tacit.text.packed import pack
    >>> text = pack([[np.array([0, 3, 2, 3, 1])], [np.array([0, 4, 1])]], ["a", "b"])
    >>> [column.tolist() for column in tally(text, vocabulary=5)]
    [[3, 4], [2, 1], [0, 1, 2]]
    """
    owner = np.repeat(np.arange(len(text)), np.diff(text.offsets[text.owners]))  # [tokens]
    is_word = text.tokens > UNK
    keys, counts = np.unique(owner[is_word] * vocabulary + text.tokens[is_word], return_counts=True)
    return Tallies(keys % vocabulary, counts, np.searchsorted(keys, np.arange(len(text) + 1) * vocabulary))


def counting(
    clients: ClientText,
    vocabulary: int,
    limits: Sequence[float],
    sampling: SamplingConfig,
    seed: int,
    executor: Executor = "auto",
) -> Callable[[int], Round]:
    """Returns a function that runs round t = 0, 1, …; the same seed and t give the same round.

    `clients` hold text over the whitelist as a `Vocabulary` of that many words.

    >>> from tacit.text.packed import pack
    >>> text = pack([[np.array([0, 3, 3, 4, 1])], [np.array([0, 4, 1])]], ["a", "b"])
    >>> count = counting(text, 5, [1, math.inf], SamplingConfig(clients=2), seed=0)
    >>> count(0).counts.round(4).tolist()
    [[0.0, 0.0, 0.0, 0.6667, 1.3333], [0.0, 0.0, 0.0, 2.0, 2.0]]
    """
    rule = clipped_counts(limits)
    if sampling.scheme != "uniform":
        raise TacitError(
            f"sampling.scheme = '{sampling.scheme}' sets client weights, but in counting λ does; set it to 'uniform'"
        )
    cohort_size(sampling, len(clients))  # refuses a cohort larger than the population
    everybody = tally(clients, vocabulary) if isinstance(clients, Packed) else None
    widest = int(np.diff(everybody.starts).max(initial=1)) if everybody else 1

    def cohort_of(t: int) -> Cohort:
        chosen = choose(sampling, clients.sizes, seed, t)
        if everybody is not None:
            held, rows = everybody, chosen.ids
        else:
            held, rows = tally(clients.gather(chosen.ids), vocabulary), np.arange(len(chosen.ids))
        batches = _stack(held, rows, widest)
        most = float(batches.counts.sum(axis=(1, 2), dtype=np.float64).max(initial=0))
        if most >= _EXACT:
            raise TacitError(
                f"one client has {most:,.0f} words, but counts are exact only below {_EXACT:,}; split its text"
            )
        return chosen_cohort(chosen, batches, np.ones(len(rows), np.int32))

    zeros = jnp.zeros(vocabulary, jnp.float32)
    sums = cohort_sums(linear_loss, ClientConfig(), Sending(rule), cohort_of, zeros, executor=executor)
    start = sums.place(zeros)

    def round_(t: int) -> Round:
        ready = sums.ready(t)
        asked, reported = len(ready.cohort.ids), int(np.sum(ready.cohort.present))
        if not reported:
            return Round(np.zeros((len(limits), vocabulary)), 0, asked)
        # nothing is drawn, but the program takes a key
        reply = sums.program(Broadcast(start), ready.laid, np.float32(1.0), round_key(seed, t))
        counts = -np.asarray(rule.combine(start, reply.message), np.float64)
        if counts.max(initial=0) >= _EXACT:
            word = f"word {int(counts.max(axis=0).argmax())} was counted {counts.max():,.0f} times in round {t + 1}"
            raise TacitError(
                f"{word}, but sums are exact only below {_EXACT:,}; give a smaller --cohort or --lambda"
            )
        return Round(counts, reported, asked - reported)

    return round_


def _stack(held: Tallies, rows: Ints, widest: int) -> Tally:
    """Stacks the entries of these clients, one step each, [clients, 1, entries], with room for `widest`."""
    sizes = held.starts[rows + 1] - held.starts[rows]
    wide = (len(rows), 1, bucket(int(sizes.max(initial=widest))))  # few shapes: the program is compiled once
    words, counts = np.zeros(wide, np.int32), np.zeros(wide, np.float32)
    row, place = np.repeat(np.arange(len(rows)), sizes), cells(np.zeros(len(rows), np.int64), sizes)
    entry = cells(held.starts[rows], sizes)
    words[row, 0, place], counts[row, 0, place] = held.words[entry], held.counts[entry]
    return Tally(words, counts)


def chosen_words(counts: Floats, capacity: int) -> Ints:
    """Returns ids of the `capacity` commonest words of counts [V], commonest first, ties by lower id; no unseen words.

    >>> chosen_words(np.array([0.0, 0, 0, 2, 7, 0, 7]), 3).tolist()
    [4, 6, 3]
    """
    by = np.argsort(-counts, kind="stable")
    return by[: min(capacity, int(np.count_nonzero(counts)))]


def whole_counts(counts: Floats) -> tuple[NDArray[np.int64], int]:
    """Returns counts as whole numbers, which sentencepiece needs, and the power of ten that they were multiplied by.

    True counts stay as they are; of clipped ones the rarest word becomes 10 or more, so that rounding is harmless.

    >>> whole_counts(np.array([3.0, 1.0])), whole_counts(np.array([0.25, 0.004]))
    ((array([3, 1]), 1), (array([2500,   40]), 10000))
    """
    seen = counts[counts > 0]
    if not len(seen) or bool((counts == np.round(counts)).all()):
        return counts.astype(np.int64), 1
    scale = 10 ** max(0, math.ceil(1 - math.log10(float(seen.min()))))
    return np.rint(counts * scale).astype(np.int64), scale
