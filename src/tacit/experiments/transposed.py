"""Computes the transposed score, which papers 1 and 2 print as perplexity.

The authors' program arranged a batch of sentences by position instead of by sentence, and truncated it to the shortest
sentence. Row t holds the t-th words of all sentences of the batch, and the model reads along the row. So it predicts
word t of sentence b + 1 from word t of sentences 1 to b, for as many positions as the shortest sentence has. The first
row consists of start symbols only, so its targets are trivial.

The authors trained on this layout in batches of 10. They scored it in batches of 128 random sentences, whose shortest
is shorter still: on PTB a quarter of the targets are trivial. Tacit keeps the score under its own name to explain the
published numbers; it is not the perplexity of a language model.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tacit.models import LanguageModel
from tacit.models.base import Params
from tacit.text.packed import Packed, Rows, bucket

_TOGETHER = 64  # rows that are scored in one call


def transpose(text: Packed, sentences: np.ndarray, rows: int = 0) -> Rows:
    """Arranges batches of sentences by position, [..., rows, batch − 1].

    sentences [..., batch] are sentence numbers, padding (−1) last. Row t predicts the t-th word of each sentence from
    the t-th words of the sentences before it. A batch has as many rows as its shortest sentence has words, including
    start and end. With `rows` = 0 the number of rows is the most that any batch has, rounded up.

    >>> from tacit.text.packed import pack
    >>> text = pack([[np.array([0, 5, 6, 1]), np.array([0, 7, 1]), np.array([0, 8, 9, 4, 1])]], ["a"])
    >>> transpose(text, np.array([0, 1, 2]), rows=4).targets.tolist()  # cut at the shortest, three positions
    [[0, 0], [7, 8], [1, 9], [-1, -1]]
    """
    there = sentences >= 0
    spans = np.where(there, (text.lengths + 1)[sentences], np.iinfo(np.int64).max)
    shortest = np.where(there.any(-1), spans.min(-1), 0)  # [...]
    longest = int(shortest.max(initial=1))
    position = np.arange(rows or bucket(longest))[:, None]  # [rows, 1]
    real = there[..., None, :] & (position < shortest[..., None, None])  # [..., rows, batch]
    cell = np.where(real, text.offsets[sentences][..., None, :] + position, 0)
    words = np.where(real, text.tokens[cell], -1).astype(np.int32)
    return Rows(np.maximum(words[..., :-1], 0), words[..., 1:])


def batches(text: Packed, batch: int, seed: int | None = None) -> np.ndarray:
    """Returns sentence numbers [batches, batch], in order or, with a seed, shuffled; −1 pads the last batch."""
    count = len(text.offsets) - 1
    numbers = np.full(-(-count // batch) * batch, -1, np.int64)
    numbers[:count] = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
    return numbers.reshape(-1, batch)


def scorer(model: LanguageModel) -> Callable[[Params, Rows], tuple[float, int]]:
    """Returns a function that scores rows: Σ −log p of their targets, and the number of targets."""

    @jax.jit
    def sums(params: Params, inputs: Array, targets: Array) -> Array:
        def one(at: tuple[Array, Array]) -> Array:
            logits = model.apply(params, at[0])
            wanted = jnp.take_along_axis(logits, jnp.maximum(at[1], 0)[..., None], axis=-1)[..., 0]
            return jnp.where(at[1] >= 0, jax.nn.logsumexp(logits, axis=-1) - wanted, 0).sum()

        return jax.lax.map(one, (inputs, targets))

    def score(params: Params, rows: Rows) -> tuple[float, int]:
        time = rows.inputs.shape[-1]
        inputs, targets = rows.inputs.reshape(-1, time), rows.targets.reshape(-1, time)
        nonempty = (targets >= 0).any(1)
        count = int((targets >= 0).sum())
        chunks = bucket(-(-int(nonempty.sum()) // _TOGETHER))
        full = (
            np.zeros((chunks * _TOGETHER, time), np.int32),
            np.full((chunks * _TOGETHER, time), -1, np.int32),
        )
        used = nonempty.sum()
        full[0][:used], full[1][:used] = inputs[nonempty], targets[nonempty]
        first = jax.local_devices()[0]
        put = jax.device_put((params, *(a.reshape(chunks, _TOGETHER, time) for a in full)), first)
        return float(np.asarray(sums(*put), np.float64).sum()), count

    return score


def transposed_score(
    model: LanguageModel, params: Params, text: Packed, batch: int, seed: int | None = None
) -> float:
    """Returns what the authors' program would print as perplexity, for batches of this size."""
    loss, count = scorer(model)(params, transpose(text, batches(text, batch, seed)))
    with np.errstate(over="ignore"):
        return float(np.exp(loss / max(1, count)))
