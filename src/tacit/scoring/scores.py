"""Metrics of a language model: perplexity, sentence log-likelihood (SLL), top-1 and top-3 recall.

The conventions are the same for every model in Tacit:
- Perplexity is over every held-out word and the end of each sentence; `<unk>` counts as a word.
- Top-1 and top-3 recall are over typed words, without the end of a sentence; suggestions are words, so `<s>`, `</s>`
  and `<unk>` are never suggested, and a word outside the vocabulary is a miss.
- sll is the mean log-likelihood (natural log) of a sentence including its end; sll_without_oov leaves out the terms
  of words outside the vocabulary (paper 4, section 7.1).
- A word-piece model is measured in words, too: perplexity is per word and end, a word is out of vocabulary if its
  `Spelling` does not list it, and suggestions are words of one piece, made where a word begins (a word of several
  pieces is a miss); `perplexity_per_piece` is reported in addition.
- A model is scored sentence by sentence; sums over a person's sentences give the person's figures, and leaving out
  one person at a time gives the interval (jackknife).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.scoring.jackknife import half_width
from tacit.text.packed import Packed
from tacit.text.pieces import Spelling


@dataclass(frozen=True)
class Scores:
    """Scores of each sentence, all [sentences] float64; every metric is computed from their sums."""

    nll: np.ndarray  # −log p of the sentence including its end
    nll_oov: np.ndarray  # the part of nll from words outside the vocabulary
    words: np.ndarray  # number of typed words
    oov: np.ndarray  # of these, outside the vocabulary
    top1: np.ndarray  # words that were the first suggestion
    top3: np.ndarray  # words among the first three suggestions

    def sums(self, groups: np.ndarray, count: int) -> Sums:
        """Returns sums over the sentences of each group, [groups]."""
        ones = np.ones(len(self.nll))
        values = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)} | {"sentences": ones}
        # of no sentence, bincount makes whole numbers
        return Sums(**{k: np.bincount(groups, v, count).astype(np.float64) for k, v in values.items()})


@dataclass(frozen=True)
class Sums:
    """Sums of scores over sentences, all [groups]."""

    nll: np.ndarray
    nll_oov: np.ndarray
    words: np.ndarray
    oov: np.ndarray
    top1: np.ndarray
    top3: np.ndarray
    sentences: np.ndarray

    def metrics(self) -> dict[str, np.ndarray]:
        """Returns every metric for each group, [groups]."""
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


def added(parts: Iterable[Sums]) -> Sums:
    """Returns the total of sums over the same groups, in the order given; without any it is 0 in one group.

    >>> one = Scores(*(np.ones(2) for _ in range(6))).sums(np.zeros(2, int), 1)
    >>> added([one, one]).sentences.tolist(), added([]).sentences.tolist()
    ([4.0], [0.0])
    """
    fields = [f.name for f in dataclasses.fields(Sums)]
    totals = {name: np.zeros(1) for name in fields}
    for part in parts:
        totals = {name: totals[name] + getattr(part, name) for name in fields}
    return Sums(**totals)


def overall(scores: Scores) -> dict[str, float]:
    """Returns the metrics of a whole text."""
    everything = np.zeros(len(scores.nll), np.int64)
    return {k: float(v[0]) for k, v in scores.sums(everything, 1).metrics().items()}


def by_person(scores: Scores, text: Packed) -> Sums:
    """Returns the sums for each person who has any text, [people]."""
    sums = scores.sums(np.repeat(np.arange(len(text)), text.sizes), len(text))
    has_text = sums.sentences > 0
    return Sums(**{f.name: getattr(sums, f.name)[has_text] for f in dataclasses.fields(sums)})


def intervals(
    people: Sums, names: tuple[str, ...] = ("perplexity", "top1", "top3", "sll")
) -> dict[str, float]:
    """Returns half-widths of 95 % intervals of the overall metrics, by leaving out one person at a time."""
    fields = [f.name for f in dataclasses.fields(people)]
    without = Sums(**{f: getattr(people, f).sum() - getattr(people, f) for f in fields}).metrics()
    return {name: half_width(without[name]) for name in names}


def distribution(
    people: Sums, names: tuple[str, ...] = ("perplexity", "top1", "top3")
) -> dict[str, dict[str, float]]:
    """Returns the 10th, 50th and 90th percentile over people of each metric."""
    metrics = people.metrics()
    return {name: {f"p{q}": float(np.percentile(metrics[name], q)) for q in (10, 50, 90)} for name in names}


def per_piece(scores: Scores, text: Packed, spelling: Spelling | None) -> dict[str, float]:
    """Returns the perplexity of a word-piece model over pieces and ends; an empty dict for a word model."""
    if spelling is None:
        return {}
    return {"perplexity_per_piece": float(np.exp(scores.nll.sum() / max(1, text.lengths.sum())))}


def summary(scores: Scores, text: Packed, spelling: Spelling | None = None) -> dict[str, Any]:
    """Returns the metrics of a text, with their intervals and percentiles over people."""
    people = by_person(scores, text)
    return {
        **overall(scores),
        **per_piece(scores, text, spelling),
        "people": len(people.sentences),
        "ci95": intervals(people),
        "by_person": distribution(people),
    }


def of_cells(cells: list[Any], text: Packed) -> Scores:
    """Sums the terms that `recall.cells` returns for every token of a text into the scores of its sentences."""
    count = len(text.offsets) - 1
    sentence = np.repeat(np.arange(count), np.diff(text.offsets))
    return Scores(*(np.bincount(sentence, np.asarray(cell, float), minlength=count) for cell in cells))
