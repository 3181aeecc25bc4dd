"""Batches: which examples a client trains on, in which batches and in which order.

Two ways to split a client's text into batches (`client.batching`):

`sentences`  B sentences each, the last one short, as in the papers. If sentences and people differ in length, the
             fullest batch sets the shape of all, and most cells stay empty.
`words`      about the same number of words each, B sentences on average. The rows of a batch (`Grid`) are fixed
             beforehand; sentences are dealt to batches by length, one of each size; a client takes as many batches
             as it needs. Nine in ten cells hold a word.

Every epoch is dealt anew. All draws depend only on the seed, the round and the client's number, so a client on its own
device gets the batches that the simulator gives it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.randomness import stream, uniform
from tacit.federated.client_config import ClientConfig
from tacit.text.packed import Packed, bucket, place

_SHUFFLE, _DEAL, _STRAGGLE = stream("local shuffle"), stream("deal to batches"), stream("stragglers")
_FULL = 0.9  # expected share of cells filled by sentences of mixed lengths


class Grid(NamedTuple):
    """The rows of every batch."""

    rows: int
    time: int


def grid(lengths: np.ndarray, batch: int, longest: int = 0) -> Grid:
    """Returns rows for about `batch` sentences of these lengths; the longest must fit into one row.

    >>> grid(np.full(100, 8), batch=10)
    Grid(rows=11, time=8)
    """
    time = bucket(max(longest, int(lengths.max(initial=1))))
    mean = float(lengths.mean()) if len(lengths) else 1.0
    return Grid(max(1, round(batch * mean / (_FULL * time))), time)


class Work(NamedTuple):
    """Batches of examples, by number; −1 where a batch is short."""

    schedule: np.ndarray  # [clients, steps, width] int64
    steps: np.ndarray  # [clients] int32: how many of the steps are real


def used_examples(sizes: np.ndarray, client: ClientConfig) -> np.ndarray:
    """Returns how many of its examples each client uses in a round, [clients]."""
    return np.minimum(sizes, client.max_examples) if client.max_examples else sizes


def order_of_work(sizes: np.ndarray, ids: np.ndarray, client: ClientConfig, seed: int, round_: int) -> Work:
    """Returns batches of `client.batch` examples (0: all in one).

    With `max_examples` a round uses that many, drawn anew each round. FedProx's stragglers stop after a
    random share of their steps.
    """
    sizes, ids = np.asarray(sizes, np.int64), np.asarray(ids, np.int64)
    used = used_examples(sizes, client)  # [clients]
    batch = client.batch or max(1, int(used.max(initial=1)))
    per_epoch = -(-used // batch)  # [clients] steps of an epoch
    column = np.arange(int(sizes.max(initial=1)))
    schedule = np.full((len(ids), client.epochs * int(per_epoch.max(initial=1)), batch), -1, np.int64)
    usable = _usable(sizes, ids, client, seed, round_)
    real = column[None] < used[:, None]
    who = np.broadcast_to(np.arange(len(ids))[:, None], real.shape)
    within = np.broadcast_to(column % batch, real.shape)
    for epoch in range(client.epochs):
        draws = uniform(seed, _SHUFFLE, round_, epoch, ids[:, None], column[None])  # [clients, widest]
        visit = np.argsort(np.where(usable, draws, 2.0), axis=1, kind="stable")  # the others sort last
        step = epoch * per_epoch[:, None] + column[None] // batch
        schedule[who[real], step[real], within[real]] = visit[real]
    return Work(schedule, _straggle(client.epochs * per_epoch, ids, client, seed, round_))


def balanced_work(
    text: Packed, ids: np.ndarray, client: ClientConfig, seed: int, round_: int, shape: Grid
) -> Work:
    """Returns batches of about the same number of words, each of which fits the grid.

    Sentences are ranked by length and split into strata with one sentence for each batch; each batch gets one sentence
    of every stratum. If a batch does not fit, the client takes one more batch and deals again.
    """
    ids = np.asarray(ids, np.int64)
    sizes = text.sizes
    column = np.arange(int(sizes.max(initial=1)))
    usable = _usable(sizes, ids, client, seed, round_)
    lengths = np.zeros(usable.shape, np.int64)  # [clients, widest], 0 where absent or not used
    lengths[column[None] < sizes[:, None]] = text.lengths
    lengths[~usable] = 0
    epochs = [_deal(lengths, ids, seed, round_, epoch, shape) for epoch in range(client.epochs)]
    steps = sum(e.steps for e in epochs)
    width = max(e.schedule.shape[2] for e in epochs)
    schedule = np.full((len(ids), max(1, int(np.max(steps, initial=1))), width), -1, np.int64)
    begun = np.zeros(len(ids), np.int64)
    for e in epochs:
        real = np.arange(e.schedule.shape[1])[None] < e.steps[:, None]  # [clients, steps]
        client_of, step_of = np.nonzero(real)
        schedule[client_of, begun[client_of] + step_of, : e.schedule.shape[2]] = e.schedule[real]
        begun += e.steps
    return Work(schedule, _straggle(begun, ids, client, seed, round_))


def _usable(sizes: np.ndarray, ids: np.ndarray, client: ClientConfig, seed: int, round_: int) -> np.ndarray:
    """Returns which examples a client uses in this round, [clients, widest] bool."""
    column = np.arange(int(sizes.max(initial=1)))
    usable = column[None] < sizes[:, None]
    if not client.max_examples:
        return usable
    draws = uniform(seed, _SHUFFLE, round_, client.epochs, ids[:, None], column[None])
    order = np.argsort(np.where(usable, draws, 2.0), axis=1, kind="stable")
    return usable & (np.argsort(order, axis=1) < client.max_examples)


def _straggle(steps: np.ndarray, ids: np.ndarray, client: ClientConfig, seed: int, round_: int) -> np.ndarray:
    if client.stragglers:
        straggles = uniform(seed, _STRAGGLE, round_, 0, ids) < client.stragglers
        share = uniform(seed, _STRAGGLE, round_, 1, ids)
        steps = np.where(straggles, np.ceil(share * steps), steps)
    return steps.astype(np.int32)


def _deal(lengths: np.ndarray, ids: np.ndarray, seed: int, round_: int, epoch: int, shape: Grid) -> Work:
    """Deals one epoch: every used sentence in exactly one batch, no batch larger than the grid."""
    column = np.arange(lengths.shape[1])
    draws = uniform(seed, _SHUFFLE, round_, epoch, ids[:, None], column[None])
    again = uniform(seed, _DEAL, round_, epoch, ids[:, None], column[None])
    rank = _rank(draws, -lengths)  # longest first, ties in random order
    batches = np.ceil(lengths.sum(1) / (_FULL * shape.rows * shape.time)).astype(np.int64)  # [clients]
    batches = np.minimum(batches, (lengths > 0).sum(1))  # one sentence each always fits
    schedules = np.full((len(ids), 1, 1), -1, np.int64)
    todo = np.flatnonzero(batches)
    while len(todo):
        dealt = _dealt(lengths[todo], rank[todo], again[todo], batches[todo])  # [todo, batches, width]
        dealt_lengths = np.where(
            dealt >= 0, np.take_along_axis(lengths[todo][:, None], np.maximum(dealt, 0), axis=2), 0
        )
        needed = (
            place(dealt_lengths.reshape(-1, dealt_lengths.shape[2]), shape.time)[2]
            .reshape(dealt_lengths.shape[:2])
            .max(axis=1)
        )
        fits = needed <= shape.rows
        schedules = _widened(schedules, dealt.shape)
        schedules[todo[fits], : dealt.shape[1], : dealt.shape[2]] = dealt[fits]
        todo = todo[~fits]
        batches[todo] += 1
    return Work(schedules, batches.astype(np.int32))


def _rank(draws: np.ndarray, by: np.ndarray) -> np.ndarray:
    """Returns the place of each entry when a row is sorted by `by`, ties by the draws."""
    order = np.lexsort((draws, by), axis=1)
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(order.shape[1]), order.shape), axis=1)
    return rank


def _dealt(lengths: np.ndarray, rank: np.ndarray, draws: np.ndarray, batches: np.ndarray) -> np.ndarray:
    """Returns sentences by batch, [clients, batches, width]: the r-th stratum gives each batch its r-th sentence."""
    stratum = rank // batches[:, None]
    real = lengths > 0
    # which batch, within its stratum; absent sentences sort last, so their number does not matter
    place_of = _rank(draws, np.where(real, stratum, lengths.shape[1])) - stratum * batches[:, None]
    width = int(stratum[real].max(initial=0)) + 1
    dealt = np.full((len(lengths), int(batches.max(initial=1)), width), -1, np.int64)
    who, which = np.nonzero(real)
    dealt[who, place_of[real], stratum[real]] = which
    return dealt


def _widened(schedules: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Returns the schedules with room for more batches, or wider ones."""
    larger = (len(schedules), max(schedules.shape[1], shape[1]), max(schedules.shape[2], shape[2]))
    if larger == schedules.shape:
        return schedules
    grown = np.full(larger, -1, np.int64)
    grown[:, : schedules.shape[1], : schedules.shape[2]] = schedules
    return grown
