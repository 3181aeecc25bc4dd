"""Words from one update: what a server could read if it saw a single client's message.

The output bias of a word rises only if a client typed the word, and falls if it did not. So an attacker sorts the words
by the change of their bias and takes the first n, where n is how many different words the client typed. The share of
them that the client really typed is the recovery. The yardstick is an attacker who sees no update and guesses the n
words that people type most.

The update comes from the run's own client training, at the model that clients receive in round 1, where it says most.
It is read alone and in a sum over a cohort, with each protection of the run and without.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from tacit.federated.algorithm import Algorithm
from tacit.federated.client_optimisers import first_moments
from tacit.federated.local import Broadcast, local_training
from tacit.federated.objective import Loss
from tacit.federated.text_cohorts import text_cohort, text_grid
from tacit.models.base import Params
from tacit.text.packed import ClientText
from tacit.text.vocabulary import UNK

Biases = NDArray[np.float64]


class Typist(NamedTuple):
    """A client whose words the attacker wants."""

    typed: NDArray[np.int64]  # the different words of its text, as ids
    change: Biases  # of the output bias, [vocabulary]
    norm: float  # of its whole update


def typists(
    loss: Loss, params: Params, algorithm: Algorithm, clients: ClientText, people: int, seed: int
) -> list[Typist]:
    """Trains the first cohorts of a federation, one client at a time, and returns what each would send."""
    grid = text_grid(clients, algorithm.client)
    begin, step = local_training(loss, algorithm.client)
    step = jax.jit(step)
    trained: dict[int, Typist] = {}
    sent = Broadcast(params, first_moments(algorithm.client, params))
    round_ = 0
    while len(trained) < min(people, len(clients)) and round_ < 10 * people:
        cohort = text_cohort(clients, algorithm, seed, round_, grid)
        for c, who in enumerate(cohort.ids.tolist()):
            if who in trained or len(trained) == people or not cohort.steps[c]:
                continue
            state = begin(sent)
            for i in range(int(cohort.steps[c])):
                batch = jax.tree.map(lambda a, c=c, i=i: jnp.asarray(a[c][i]), cohort.batches)
                key = jax.random.fold_in(jax.random.key(seed), i)
                state = step(sent, state, batch, cohort.scale[c], np.float32(algorithm.client.lr), key)
            update = jax.tree.map(lambda a, b: np.asarray(a, np.float64) - np.asarray(b), state.w, params)
            targets = np.asarray(jax.tree.leaves(cohort.batches)[1][c])
            typed = np.unique(targets[targets > UNK])
            norm = float(np.sqrt(sum(np.sum(leaf**2) for leaf in jax.tree.leaves(update))))
            trained[who] = Typist(typed, update["output_bias"], norm)
        round_ += 1
    return list(trained.values())


def recovered(change: Biases, typed: NDArray[np.int64]) -> float:
    """Returns the share of the n words with the greatest change that were typed, n as many as were typed.

    >>> recovered(np.array([0.0, 0, 0, 5, -1, 3]), np.array([3, 5]))
    1.0
    """
    words = np.argsort(-change[UNK + 1 :], kind="stable")[: len(typed)] + UNK + 1
    return float(np.isin(words, typed).mean()) if len(typed) else 0.0


def without_an_update(frequency: Biases, people: list[Typist]) -> float:
    """Returns the mean recovery of an attacker who guesses the words that people type most."""
    return float(np.mean([recovered(frequency, person.typed) for person in people]))


def alone(people: list[Typist], protect: Callable[[Typist], Biases]) -> float:
    """Returns the mean recovery from single updates, each with a protection."""
    return float(np.mean([recovered(protect(person), person.typed) for person in people]))


def in_a_sum(people: list[Typist], protect: Callable[[Typist], Biases], noise: Biases) -> float:
    """Returns the mean recovery of each person's words from the sum over all of them, with noise on the sum."""
    total = np.sum([protect(person) for person in people], axis=0) + noise
    return float(np.mean([recovered(total, person.typed) for person in people]))


def clipped(person: Typist, clip: float) -> Biases:
    """Returns the change of the bias in an update that was clipped to a norm."""
    return person.change * min(1.0, clip / max(person.norm, 1e-12))
