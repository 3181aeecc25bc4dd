"""How good a model is: perplexity, sentence log-likelihood, and how often a suggestion is the word typed.

Conventions, the same for every model in Tacit:
- perplexity is over every held-out word and the end of each sentence (`<unk>` is a word like any other);
- top-1 and top-3 recall are over words typed, the end of a sentence not counted; suggestions are words, so
  `<s>`, `</s>` and `<unk>` are never suggested, and a word outside the vocabulary is a miss;
- sll is the mean log-likelihood (natural log) of a sentence with its end; sll_without_oov leaves out the
  terms of words outside the vocabulary (paper 4, section 7.1);
- a model over word-pieces is measured in words, too: perplexity is per word and end, a word is outside the
  vocabulary if it is outside the words of its `Spelling`, and suggestions are words of one piece, made where a
  word begins (a word of several pieces is a miss); `perplexity_per_piece` is extra;
- a model is scored sentence by sentence; sums over a person's sentences give the person's figures, and
  leaving out one person at a time gives the interval (jackknife).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.sharding import NamedSharding, PartitionSpec

from tacit.federated.executors import apart, devices, everywhere, mesh, mine
from tacit.jackknife import half_width
from tacit.models.base import LanguageModel, Params
from tacit.text.packed import Packed, Rows, batch_rows, bucket
from tacit.text.pieces import Spelling
from tacit.text.vocabulary import EOS, UNK

_TOGETHER = {"cpu": 32}  # sentences in one batch of the scoring program; an accelerator takes more


@dataclass(frozen=True)
class Scores:
    """What was measured of each sentence, all [sentences] float64; sums of them make every metric."""

    nll: np.ndarray  # −log p of the sentence with its end
    nll_oov: np.ndarray  # the part of it that belongs to words outside the vocabulary
    words: np.ndarray  # words typed
    oov: np.ndarray  # of these, outside the vocabulary
    top1: np.ndarray  # words that were the first suggestion
    top3: np.ndarray  # words among the first three

    def sums(self, groups: np.ndarray, count: int) -> Sums:
        """Sums over the sentences of each group, [groups]."""
        ones = np.ones(len(self.nll))
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | {"sentences": ones}
        return Sums(**{k: np.bincount(groups, v, minlength=count) for k, v in values.items()})


@dataclass(frozen=True)
class Sums:
    """Sums of scores over sentences; arrays hold one entry for each group."""

    nll: np.ndarray
    nll_oov: np.ndarray
    words: np.ndarray
    oov: np.ndarray
    top1: np.ndarray
    top3: np.ndarray
    sentences: np.ndarray

    def metrics(self) -> dict[str, np.ndarray]:
        """Every metric, for each group."""
        tokens = self.words + self.sentences
        words, sentences = np.maximum(self.words, 1), np.maximum(self.sentences, 1)
        return {
            "perplexity": np.exp(self.nll / np.maximum(tokens, 1)),
            "top1": self.top1 / words,
            "top3": self.top3 / words,
            "tokens": tokens,
            "words": self.words,
            "sentences": self.sentences,
            "oov": self.oov / words,
            "sll": -self.nll / sentences,
            "sll_without_oov": -(self.nll - self.nll_oov) / sentences,
        }


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


def overall(scores: Scores) -> dict[str, float]:
    """The metrics of a whole text."""
    everything = np.zeros(len(scores.nll), np.int64)
    return {k: float(v[0]) for k, v in scores.sums(everything, 1).metrics().items()}


def by_person(scores: Scores, text: Packed) -> Sums:
    """Sums for each person who has any text."""
    sums = scores.sums(np.repeat(np.arange(len(text)), text.sizes), len(text))
    some = sums.sentences > 0
    return Sums(**{f.name: getattr(sums, f.name)[some] for f in dataclasses.fields(sums)})


def intervals(
    people: Sums, names: tuple[str, ...] = ("perplexity", "top1", "top3", "sll")
) -> dict[str, float]:
    """Half-widths of 95 % intervals of the overall metrics, by leaving out one person at a time."""
    fields = [f.name for f in dataclasses.fields(people)]
    without = Sums(**{f: getattr(people, f).sum() - getattr(people, f) for f in fields}).metrics()
    return {name: half_width(without[name]) for name in names}


def distribution(
    people: Sums, names: tuple[str, ...] = ("perplexity", "top1", "top3")
) -> dict[str, dict[str, float]]:
    """How a metric is spread over people: the 10th, 50th and 90th percentile of each."""
    metrics = people.metrics()
    return {name: {f"p{q}": float(np.percentile(metrics[name], q)) for q in (10, 50, 90)} for name in names}


def per_piece(scores: Scores, text: Packed, spelling: Spelling | None) -> dict[str, float]:
    """The perplexity of a piece model over pieces and ends; nothing for a model over words."""
    if spelling is None:
        return {}
    return {"perplexity_per_piece": float(np.exp(scores.nll.sum() / max(1, text.lengths.sum())))}


def summary(scores: Scores, text: Packed, spelling: Spelling | None = None) -> dict[str, Any]:
    """Metrics of a text with their intervals over people and their spread over people."""
    people = by_person(scores, text)
    return {
        **overall(scores),
        **per_piece(scores, text, spelling),
        "people": len(people.sentences),
        "ci95": intervals(people),
        "by_person": distribution(people),
    }


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
