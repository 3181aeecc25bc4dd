"""Scores a network on text, spread over all devices; `tacit.scoring.scores` defines the measures.

Federated evaluation (paper 5, section 6.3.2) scores text where it is: each client sends the sums of its scores, and
the server adds them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import NamedSharding, PartitionSpec

from tacit.federated.devices import apart, devices, everywhere, local_slice, mesh
from tacit.models.base import LanguageModel, Params
from tacit.scoring import recall
from tacit.scoring.scores import Scores, Sums, added
from tacit.text.packed import Packed, Rows, batch_rows, bucket
from tacit.text.pieces import Spelling
from tacit.text.vocabulary import UNK

_TOGETHER = {"cpu": 32}  # sentences in one batch of the scoring program; an accelerator takes more


Scorer = Callable[[Params, Packed], Scores]


def scorer(model: LanguageModel, spelling: Spelling | None = None) -> Scorer:
    """Returns a function that scores every sentence of a text with a network, in one compiled program.

    A piece model needs its spelling.
    """

    together = _TOGETHER.get(jax.default_backend(), 256)

    def batch_scores(params: Params, rows: Rows, owner: Array) -> Array:
        """Returns the six sums of each sentence of a batch [rows, time]; [6, sentences]."""
        size = model.output(params)[0].shape[0]
        inputs, targets = rows.inputs % size, jnp.where(rows.targets < 0, -1, rows.targets % size)
        real, outside = targets >= 0, rows.targets >= size  # the mark of a word outside the vocabulary
        over = jnp.ones(size, bool) if spelling is None else jnp.asarray(spelling.pieces.ends)
        whole = over if spelling is None else jnp.asarray(spelling.pieces.whole)
        logits = model.apply(params, inputs)
        target_score = jnp.take_along_axis(logits, jnp.maximum(targets, 0)[..., None], axis=-1)
        nll = jnp.where(real, jax.nn.logsumexp(logits, axis=-1) - target_score[..., 0], 0)
        word = recall.is_word(targets) & over[targets]  # a word of several pieces counts at its last piece
        known = word & recall.is_known(targets) & whole[targets] & over[inputs]
        cells = recall.cells(nll, recall.rank(logits, target_score, targets, whole), word, outside, known)
        stacked = jnp.stack([c.astype(jnp.float32).ravel() for c in cells], axis=1)
        # empty cells fall into one extra segment, which is dropped
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
        local = jax.tree.map(lambda a: a[local_slice(batches)], (rows, owner))
        # [batches, 6, sentences of a batch], in every process
        sums = np.asarray(spread(everywhere(params), *apart(local, axis=0)), np.float64)
        flat = sums.swapaxes(0, 1).reshape(6, -1)
        placed = np.zeros((6, sentences))
        real = dealt.ravel() >= 0
        placed[:, dealt.ravel()[real]] = flat[:, real]
        return Scores(*placed)

    return score


def client_sums(score: Scorer, params: Params, text: Packed) -> Sums:
    """Returns what a client sends of its own text: the sums of its scores, [1]."""
    return score(params, text).sums(np.zeros(len(text.offsets) - 1, np.int64), 1)


def federated_sums(score: Scorer, params: Params, text: Packed) -> tuple[Sums, int]:
    """Returns the sum of what everybody sends, [1], and how many people that is; who has no text sends nothing."""
    reports = (client_sums(score, params, text.gather(np.array([k]))) for k in np.flatnonzero(text.sizes))
    return added(reports), int(np.count_nonzero(text.sizes))


def _over_devices(score: Callable[..., Array]) -> Callable[..., Array]:
    """Compiles a function with its batches, but not its parameters, spread over the devices of all processes.

    Every device gets the whole result.
    """
    if len(devices()) == 1:
        return jax.jit(score)
    whole, split = PartitionSpec(), PartitionSpec("devices")
    spread = jax.shard_map(
        score, mesh=mesh(), in_specs=(whole, split, split), out_specs=split, check_vma=False
    )
    return jax.jit(spread, out_shardings=NamedSharding(mesh(), whole))
