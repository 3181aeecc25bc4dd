"""Mixes the personal model with the global one and a cache of a person's words (Kuhn and De Mori 1990).

    P(w) = (1 − α − β) P_global(w) + α P_personal(w) + β P_cache(w | v)          v the word before
    P_cache(w | v) = λ_v c(v, w)/c(v) + (1 − λ_v) c(w)/c,     λ_v = c(v) / (c(v) + κ)

Probabilities are mixed, not weights. A mixture costs a second pass of the model, but it bounds the harm of fine-tuning:
−log P rises by at most −log(1 − α − β) where the global model has a share. The counts c fade with age: a word typed h
words ago counts half. The cache holds the text that was tuned on and does not change during evaluation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.models.base import LanguageModel, Params
from tacit.personal.tuning import Reading
from tacit.text.flat import cells, ends
from tacit.text.packed import Packed, bucket

KAPPA = 4.0
HALF_LIFE = 2000.0  # words
MOST = 5000  # of a person's latest words


class Mix(NamedTuple):
    """Holds the shares of the personal model and of the cache; the global model has the rest."""

    personal: float = 1.0  # α
    cache: float = 0.0  # β


ALONE = Mix()
MIXES = (Mix(0.5), Mix(0.75), Mix(0.0, 0.3), Mix(0.9, 0.1), Mix(0.8, 0.2), Mix(0.6, 0.2))


class Memory(NamedTuple):
    """Holds the words of a person's cache, each with the word before it."""

    before: Any  # [users, words] int32, −1 where absent
    word: Any  # [users, words] int32
    weight: Any  # [users, words] float32: 2^(−age / half-life), 0 where absent


def remember(text: Packed, half_life: float = HALF_LIFE) -> Memory:
    """Returns everybody's cache from the text they tune on (oldest first); ends of messages count as words.

    >>> from tacit.text.packed import pack
    >>> m = remember(pack([[np.array([0, 5, 1]), np.array([0, 7, 1])]], ["ana"]), half_life=1)
    >>> m.before.tolist(), m.word.tolist(), m.weight.tolist()
    ([[0, 5, 0, 7]], [[5, 1, 7, 1]], [[0.125, 0.25, 0.5, 1.0]])
    """
    spans = text.lengths
    source = cells(text.offsets[:-1], spans)  # positions of the previous words, in time order
    begin = ends(spans)[text.owners]  # [users + 1]
    count = np.minimum(np.diff(begin), MOST)  # [users]
    size = bucket(int(count.max(initial=1)))
    age = count[:, None] - 1 - np.arange(size)  # [users, words]: 0 for the latest
    real = age >= 0
    place = source[np.where(real, begin[1:, None] - 1 - np.maximum(age, 0), 0)]
    return Memory(
        np.where(real, text.tokens[place], -1).astype(np.int32),
        np.where(real, text.tokens[place + 1], 0).astype(np.int32),
        np.where(real, 2.0 ** (-np.maximum(age, 0) / half_life), 0).astype(np.float32),
    )


def cache_probabilities(memory: Memory, inputs: Array, words: int) -> Array:
    """Returns P_cache of every word after each of `inputs` [cells], from one person's memory; [cells, words]."""
    total = jnp.zeros(words).at[memory.word].add(memory.weight)
    usual = total / jnp.maximum(memory.weight.sum(), 1e-30)
    match = (inputs[:, None] == memory.before) * memory.weight  # [cells, words of the cache]
    seen = match.sum(axis=1, keepdims=True)
    after = jnp.zeros((len(inputs), words)).at[:, memory.word].add(match) / jnp.maximum(seen, 1e-30)
    trust = seen / (seen + KAPPA)
    return trust * after + (1 - trust) * usual


@lru_cache(maxsize=64)  # the same function for the same mixtures, so that compiled programs are reused
def mixture(model: LanguageModel, mixes: tuple[Mix, ...]) -> Reading:
    """Returns a reading that scores under each of the mixtures, [mixes, rows, time, words]; it needs a `Memory`."""

    def read(params: Params, tuned: Params, memory: Memory, inputs: Array) -> Array:
        personal = jax.nn.softmax(model.apply(tuned, inputs))  # [rows, time, words]
        shared = jax.nn.softmax(model.apply(params, inputs))
        cached = cache_probabilities(memory, inputs.ravel(), personal.shape[-1]).reshape(personal.shape)
        mixed = [
            (1 - mix.personal - mix.cache) * shared + mix.personal * personal + mix.cache * cached
            for mix in mixes
        ]
        return jnp.log(jnp.maximum(jnp.stack(mixed), 1e-30))

    return read
