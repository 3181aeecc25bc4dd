"""A start from counts: the output bias of a new model from how often clients type each word.

Every client counts the words and sentence ends of its own text and sends its counts, which are added. Before round 1
the server sets the output bias to log((n + 1) / Σ(n + 1)), so rounds need not be spent on learning how frequent words
are. The sum is a release, beside those of the rounds.
"""

from __future__ import annotations

from collections.abc import Callable

import jax.numpy as jnp
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tacit.models.base import Params
from tacit.text.packed import ClientText
from tacit.text.vocabulary import BOS

_CLIENTS = 1024  # counted at once


def word_counts(clients: ClientText, vocabulary: int) -> NDArray[np.int64]:
    """Returns Σ over clients of how often each word or sentence end is predicted in their text, [vocabulary].

    >>> from tacit.text.packed import pack
    >>> word_counts(pack([[np.array([0, 2, 3, 1])], [np.array([0, 3, 1])]], ["a", "b"]), 5).tolist()
    [0, 2, 1, 2, 0]
    """
    counts = np.zeros(vocabulary, np.int64)
    for first in range(0, len(clients), _CLIENTS):
        some = clients.gather(np.arange(first, min(first + _CLIENTS, len(clients))))
        counts += np.bincount(some.tokens, minlength=vocabulary)
    counts[BOS] = 0  # begins every sentence and is never predicted
    return counts


def log_frequencies(counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """Returns log((n + 1) / Σ(n + 1)): a word that nobody typed has a small probability, not 0."""
    smooth = counts.astype(np.float64) + 1
    return np.log(smooth / smooth.sum()).astype(np.float32)


def with_bias(init: Callable[[Array], Params], bias: NDArray[np.float32]) -> Callable[[Array], Params]:
    """Returns `init` with this output bias."""
    return lambda key: {**init(key), "output_bias": jnp.asarray(bias)}
