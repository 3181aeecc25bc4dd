"""Scores a network on text, spread over all devices; `tacit.scoring.scores` says what is measured."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import NamedSharding, PartitionSpec

from tacit.federated.devices import apart, devices, everywhere, mesh, mine
from tacit.models.base import LanguageModel, Params
from tacit.scoring.scores import Scores
from tacit.text.packed import Packed, Rows, batch_rows, bucket
from tacit.text.pieces import Spelling
from tacit.text.vocabulary import EOS, UNK

_TOGETHER = {"cpu": 32}  # sentences in one batch of the scoring program; an accelerator takes more


Scorer = Callable[[Params, Packed], Scores]


def scorer(model: LanguageModel, spelling: Spelling | None = None) -> Scorer:
    """A function that scores every sentence of a text with a neural model; one compiled program.

    A piece model needs its spelling.
    """

    together = _TOGETHER.get(jax.default_backend(), 256)

    def batch_scores(params: Params, rows: Rows, owner: Array) -> Array:
        """One batch, [rows, time]: the six sums of each of its sentences, [6, sentences]."""
        size = model.output(params)[0].shape[0]
        inputs, targets = rows.inputs % size, jnp.where(rows.targets < 0, -1, rows.targets % size)
        real, oov = targets >= 0, rows.targets >= size  # a word outside the vocabulary is marked so
        over = jnp.ones(size, bool) if spelling is None else jnp.asarray(spelling.pieces.ends)
        whole = over if spelling is None else jnp.asarray(spelling.pieces.whole)
        logits = model.apply(params, inputs)
        wanted = jnp.take_along_axis(logits, jnp.maximum(targets, 0)[..., None], axis=-1)
        nll = jnp.where(real, jax.nn.logsumexp(logits, axis=-1) - wanted[..., 0], 0)
        number = jnp.arange(logits.shape[-1])
        ahead = (logits > wanted) | ((logits == wanted) & (number < targets[..., None]))
        rank = jnp.sum(ahead & (number > UNK) & whole, axis=-1)  # words the model would rather suggest
        word = real & (targets != EOS) & over[targets]  # counted at its end
        known = word & (targets != UNK) & whole[targets] & over[inputs]
        cells = [nll, nll * oov, word, word & oov, known & (rank < 1), known & (rank < 3)]
        stacked = jnp.stack([c.astype(jnp.float32).ravel() for c in cells], axis=1)
        # cells of no sentence fall into one segment more, which is dropped
        return jax.ops.segment_sum(stacked, jnp.where(owner < 0, together, owner).ravel(), together + 1)[
            :-1
        ].T

    def all_scores(params: Params, rows: Rows, owner: Array) -> Array:
        return jax.lax.map(lambda at: batch_scores(params, *at), (rows, owner))

    spread = _over_devices(all_scores)

    def score(params: Params, text: Packed) -> Scores:
        sentences = len(text.offsets) - 1
        if sentences == 0:
            return Scores(*np.zeros((6, 0)))
        count = len(devices())
        batches = count * bucket(-(-sentences // (together * count)))
        numbers = np.full(batches * together, -1, np.int64)
        numbers[:sentences] = np.argsort(text.lengths, kind="stable")
        dealt = numbers.reshape(together, batches).T  # like cards: every batch fills about as many rows
        outside = text.tokens == UNK if spelling is None else spelling.outside(text.tokens)
        size = model.output(params)[0].shape[0]
        marked = dataclasses.replace(text, tokens=text.tokens + np.int32(size) * outside)
        rows, owner = batch_rows(marked, dealt)
        own = jax.tree.map(lambda a: a[mine(batches)], (rows, owner))
        # [batches, 6, sentences of a batch], in every process
        found = np.asarray(spread(everywhere(params), *apart(own, axis=0)), np.float64)
        flat = found.swapaxes(0, 1).reshape(6, -1)
        placed = np.zeros((6, sentences))
        real = dealt.ravel() >= 0
        placed[:, dealt.ravel()[real]] = flat[:, real]
        return Scores(*placed)

    return score


def _over_devices(score: Callable[..., Array]) -> Callable[..., Array]:
    """The same function, compiled, with its batches (but not its parameters) spread over all devices, those of
    other processes too; every device ends with all of the answer."""
    if len(devices()) == 1:
        return jax.jit(score)
    whole, split = PartitionSpec(), PartitionSpec("devices")
    spread = jax.shard_map(
        score, mesh=mesh(), in_specs=(whole, split, split), out_specs=split, check_vma=False
    )
    return jax.jit(spread, out_shardings=NamedSharding(mesh(), whole))


@partial(jax.jit, static_argnums=0)
def _logits_at(model: LanguageModel, params: Params, tokens: Array, place: Array) -> Array:
    """Scores of the next word after position `place` of one row; compiled once for each length of row."""
    return model.logits(params, model.features(params, tokens, None)[0, place])


def suggest(
    model: LanguageModel, params: Params, context: np.ndarray, k: int, allowed: np.ndarray | None = None
) -> list[tuple[int, float]]:
    """The k likeliest next words after a context of ids (`<s>` first), with their probabilities.

    Of a piece model `allowed` [pieces] are those that are words (`Pieces.whole`); others are not suggested.
    """
    time = bucket(len(context))
    padded = np.zeros((1, time), np.int32)
    padded[0, : len(context)] = context
    logits = np.asarray(_logits_at(model, params, padded, len(context) - 1), np.float64)
    odds = np.exp(logits - logits.max())
    odds /= odds.sum()
    order = np.argsort(-odds[UNK + 1 :], kind="stable") + UNK + 1
    order = (order if allowed is None else order[allowed[order]])[:k]
    return [(int(i), float(odds[i])) for i in order]
