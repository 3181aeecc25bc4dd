"""The score that papers 1 and 2 print as perplexity: batches of sentences transposed and cut short.

The authors' program laid a batch of sentences out by position instead of by sentence and cut it at the shortest
one: row t holds the t-th words of all sentences of the batch, and the model reads along the row. So it is asked for
word t of sentence b + 1 when it has read word t of sentences 1 to b, on as many positions as the shortest sentence
has, and the first row is start symbols only, which are no question at all. The same layout was trained on, in
batches of 10; the score was taken in batches of 128 sentences drawn at random, whose shortest is shorter still, so
that on PTB a quarter of the questions are no question. It is kept here under its own name so that published numbers
can be understood; it measures no language model.
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

_TOGETHER = 64  # rows that are scored at once


def transpose(text: Packed, sentences: np.ndarray, rows: int = 0) -> Rows:
    """Batches of sentences by position, [..., rows, batch − 1].

    sentences [..., batch] are sentence numbers, absent ones (−1) last. Row t predicts the t-th word of each next
    sentence from those before it; there are as many rows as the shortest sentence of the batch has words, its
    start and end counted. `rows` of 0 is chosen: the most any batch has, rounded up.

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
    """All sentences, so many to a batch, [batches, batch], in their order or shuffled; −1 fills the last batch."""
    count = len(text.offsets) - 1
    numbers = np.full(-(-count // batch) * batch, -1, np.int64)
    numbers[:count] = np.arange(count) if seed is None else np.random.default_rng(seed).permutation(count)
    return numbers.reshape(-1, batch)


def scorer(model: LanguageModel) -> Callable[[Params, Rows], tuple[float, int]]:
    """A function that scores rows as they are: Σ −log p of their targets, and how many there are."""

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
        some = (targets >= 0).any(1)
        count = int((targets >= 0).sum())
        chunks = bucket(-(-int(some.sum()) // _TOGETHER))
        full = (
            np.zeros((chunks * _TOGETHER, time), np.int32),
            np.full((chunks * _TOGETHER, time), -1, np.int32),
        )
        full[0][: some.sum()], full[1][: some.sum()] = inputs[some], targets[some]
        first = jax.local_devices()[0]
        put = jax.device_put((params, *(a.reshape(chunks, _TOGETHER, time) for a in full)), first)
        return float(np.asarray(sums(*put), np.float64).sum()), count

    return score


def transposed_score(
    model: LanguageModel, params: Params, text: Packed, batch: int, seed: int | None = None
) -> float:
    """What the authors' program would print as perplexity for this model on this text, in batches of that size."""
    loss, count = scorer(model)(params, transpose(text, batches(text, batch, seed)))
    with np.errstate(over="ignore"):
        return float(np.exp(loss / max(1, count)))
