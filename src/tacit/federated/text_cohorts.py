"""Builds cohorts of text: the clients of a round, with their sentences as batches of rows (`federated.batching`).

A batch is [rows, time]: several short sentences share a row. With a `Grid` all batches of a run have the same rows;
without one, a batch has `client.batch` sentences and as many rows as they need.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jax import Array

from tacit.federated.batching import Grid, Work, balanced_work, grid, order_of_work
from tacit.federated.executors import Executor
from tacit.federated.local import ClientConfig, Cohort
from tacit.federated.objective import Loss
from tacit.federated.rounds import Algorithm, Trainer, federation
from tacit.federated.sampling import choose, chosen_cohort, cohort_size
from tacit.models.base import Params
from tacit.text.packed import ClientText, Packed, Rows, batch_rows, bucket

_MEASURED = 64  # clients whose sentences set the rows of a batch


def text_federation(
    init: Callable[[Array], Params],
    loss: Loss,
    algorithm: Algorithm,
    clients: ClientText,
    seed: int,
    rounds: int,
    executor: Executor = "auto",
    lanes_mb: int = 0,
) -> Trainer:
    """Returns federated training of a language model on clients' text."""
    cohort_size(algorithm.sampling, len(clients))  # refuses a cohort larger than the population at once
    shape = text_grid(clients, algorithm.client)

    def cohort_of(t: int) -> Cohort:
        return text_cohort(clients, algorithm, seed, t, shape)

    return federation(init, loss, algorithm, cohort_of, seed, rounds, executor, lanes_mb)


def text_cohort(
    clients: ClientText, algorithm: Algorithm, seed: int, t: int, shape: Grid | None = None
) -> Cohort:
    """Returns the clients of round t with their batches, on the host."""
    most = algorithm.client.max_examples
    held = (
        np.minimum(clients.sizes, most) if most else clients.sizes
    )  # n_k: sentences that a client trains on
    chosen = choose(algorithm.sampling, held, seed, t)
    text = clients.gather(chosen.ids)
    sentences, steps = sentence_work(text, chosen.ids, algorithm.client, seed, t, shape)
    return chosen_cohort(chosen, sentence_rows(text, sentences, shape), steps)


def text_grid(clients: ClientText, client: ClientConfig) -> Grid | None:
    """Returns the rows of every batch of a run, from a few of its clients and the longest sequence there can be."""
    if client.batching == "sentences" or client.batch == 0:
        return None
    measured = clients.gather(np.arange(min(len(clients), _MEASURED)))
    batch = client.batch
    if isinstance(clients, Packed):
        # more rows than the largest client fills would stay empty; its words may be long
        batch = min(batch, 2 * int(clients.sizes.max(initial=1)))
    return grid(measured.lengths, batch, clients.longest)


def sentence_work(
    text: Packed, ids: np.ndarray, client: ClientConfig, seed: int, t: int, shape: Grid | None
) -> Work:
    """Returns everybody's batches in round t as numbers of sentences of `text`, whose clients are `ids`."""
    if shape:
        schedule, steps = balanced_work(text, ids, client, seed, t, shape)
    else:
        schedule, steps = order_of_work(text.sizes, ids, client, seed, t)
    return Work(np.where(schedule >= 0, schedule + text.owners[:-1, None, None], -1), steps)


def sentence_rows(text: Packed, sentences: np.ndarray, shape: Grid | None) -> Rows:
    """Returns sentences [clients, steps, width] as rows [clients, steps, rows, time], with empty steps at the end.

    The number of steps is rounded up to a few sizes, so that compiled programs are reused.
    """
    clients, steps, width = sentences.shape
    padded = np.full((clients, bucket(steps), width), -1, np.int64)
    padded[:, :steps] = sentences
    rows, _ = batch_rows(text, padded, *((shape.time, shape.rows) if shape else ()))
    return rows
