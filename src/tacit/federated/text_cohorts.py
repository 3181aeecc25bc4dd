"""Builds cohorts of text: the clients of a round, with their sentences as batches of rows (`federated.batching`).

A batch is [rows, time]: several short sentences share a row. With a `Grid` all batches of a run have the same rows;
without one, a batch has `client.batch` sentences and as many rows as they need.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jax import Array

from tacit.base.errors import TacitError
from tacit.federated.algorithm import Algorithm, Trainer
from tacit.federated.availability import Choice, check, choices, devices
from tacit.federated.batching import Grid, Work, balanced_work, grid, order_of_work, used_examples
from tacit.federated.client_config import ClientConfig
from tacit.federated.executors import Executor
from tacit.federated.local import Cohort
from tacit.federated.objective import Loss
from tacit.federated.private_setup import secret_sampling
from tacit.federated.rounds import check_cohort, federation
from tacit.federated.sampling import Chosen, choose, chosen_cohort, cohort_size
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
    attack: Callable[[Cohort], Cohort] = lambda cohort: cohort,
    shape: Grid | None = None,
) -> Trainer:
    """Returns federated training of a language model on clients' text; `attack` is of `attacks`.

    `shape` is the rows of a batch. By default they are measured on clients, as a private run must not do: one client's
    text would decide how the others' is batched, which no bound on its own message covers (`public_grid`).
    """
    size = cohort_size(
        algorithm.sampling, len(clients)
    )  # refuses a cohort larger than the population at once
    check_cohort(algorithm, size, jax.eval_shape(init, jax.random.key(0)))
    shape = shape or text_grid(clients, algorithm.client)
    choice = choosing(clients, algorithm, secret_sampling(algorithm.privacy, algorithm.sampling, seed))

    def cohort_of(t: int) -> Cohort:
        return attack(text_cohort(clients, algorithm, seed, t, shape, choice))

    trainer = federation(
        init, loss, algorithm, cohort_of, seed, rounds, executor, lanes_mb, population=len(clients)
    )
    return _with_figures(trainer, choice) if algorithm.availability.model != "always" else trainer


def _with_figures(trainer: Trainer, choice: Callable[[int], Choice]) -> Trainer:
    """Returns a trainer whose rounds also tell how many clients were available and asked, unless they are private."""

    def round_(state: Any, t: int) -> tuple[Any, dict[str, Any]]:
        state, facts = trainer.round(state, t)
        if "clients" in facts:
            made = choice(t)
            facts |= {"available": made.available, "asked": len(made.chosen.ids)}
        return state, facts

    return Trainer(trainer.init, round_)


def choosing(clients: ClientText, algorithm: Algorithm, seed: int | bytes) -> Callable[[int], Choice]:
    """Returns the function that chooses the clients of round t = 0, 1, …; a seed of bytes is a secret key."""
    sampling, config, separation = algorithm.sampling, algorithm.availability, algorithm.privacy.separation
    sizes = used_examples(clients.sizes, algorithm.client)  # n_k: sentences that a client trains on
    check(config, sampling, separation, algorithm.privacy.private)
    if config.model == "always":
        return lambda t: Choice(choose(sampling, sizes, seed, t, separation), len(sizes))
    assert isinstance(seed, int)  # `check` refuses Poisson samples
    return choices(
        config, sampling, sizes, devices(config, sampling, _ranked_by(clients, config.by), seed), seed
    )


def _ranked_by(clients: ClientText, by: str) -> np.ndarray:
    """Returns what clients are ranked by, [clients]."""
    if by != "length":
        return clients.sizes
    if not isinstance(clients, Packed):
        raise TacitError(
            "availability.by = 'length' needs all text in one place; lower typists.users, or use 'examples'"
        )
    cells = np.add.reduceat(np.append(clients.lengths, 0), clients.owners[:-1]) * (clients.sizes > 0)
    return np.asarray(cells / np.maximum(1, clients.sizes))


def text_cohort(
    clients: ClientText,
    algorithm: Algorithm,
    seed: int,
    t: int,
    shape: Grid | None = None,
    choice: Callable[[int], Choice] | None = None,
) -> Cohort:
    """Returns the clients of round t with their batches, on the host; `choice` is of `choosing`."""
    chosen = (choice or choosing(clients, algorithm, seed))(t).chosen
    return cohort_with_batches(clients, algorithm, chosen, seed, t, shape)


def cohort_with_batches(
    clients: ClientText, algorithm: Algorithm, chosen: Chosen, seed: int, t: int, shape: Grid | None
) -> Cohort:
    """Returns chosen clients with their batches of round t."""
    text = clients.gather(chosen.ids)
    sentences, steps = sentence_work(text, chosen.ids, algorithm.client, seed, t, shape)
    rows = sentence_rows(text, sentences, shape)
    if algorithm.sampling.weight == "words":  # with the ends of sentences, which are predicted, too
        words = (rows.targets >= 0).sum(axis=(1, 2, 3)) / algorithm.client.epochs
        chosen = chosen._replace(weight=words.astype(np.float32))
    return chosen_cohort(chosen, rows, steps)


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


def public_grid(others: Packed, client: ClientConfig, longest: int) -> Grid | None:
    """Returns the rows of every batch of a private run, from people who are not clients and a public bound.

    No sequence of a client has more than `longest` cells; 0: there is no such bound.
    """
    if client.batching == "sentences" or client.batch == 0:
        return None
    if not longest:
        raise TacitError(
            "client.batching = 'words' fits batches to the longest sequence of all clients, which no noise would hide; "
            "set client.batching = 'sentences', or text.max_words above 0 and text.pieces = 0"
        )
    measured = others.gather(np.arange(min(len(others), _MEASURED)))
    return grid(np.minimum(measured.lengths, longest), client.batch, longest)


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
