"""Makes topologies, the n-grams of a model: from a corpus, from sentences drawn from a model, or from two models.

Algorithm 1 of paper 4 uses three:

- the supplemental corpus's: modified Kneser-Ney on it, pruned to a size;
- the neural model's own: the same on sentences drawn from it;
- both merged: interpolated on the union of their n-grams, p = λ p₁ + (1 − λ) p₂, pruned to the size again.

A keyboard's model has unigrams for the whole vocabulary and longer n-grams over its commonest words alone; ids go by
falling count, so these are the lowest ids. SampleApprox discards the weights and keeps the topology.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats
from tacit.base.errors import TacitError
from tacit.distillation.pruning import parents, prune, with_backoffs
from tacit.distillation.sampling import SampledModel, Sentences, draw
from tacit.distillation.soft_counts import visits
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import Automaton, from_kneser_ney, from_trie, log_probs
from tacit.ngram.grams import grams
from tacit.ngram.trie import Trie, find
from tacit.text.vocabulary import BOS, EOS

MAX_NGRAMS = 1_500_000  # paper 4, section 1.1: what a keyboard takes
COMMON_WORDS = 64_000  # words that n-grams of two and more words may contain


def from_corpus(
    text: Sentences,
    vocabulary: int,
    order: int = 3,
    max_ngrams: int = MAX_NGRAMS,
    common: int = COMMON_WORDS,
) -> Automaton:
    """Returns Kneser-Ney of a corpus, pruned to `max_ngrams`; longer n-grams hold only the `common` lowest ids.

    >>> text = Sentences(np.array([0, 3, 4, 1, 0, 3, 1]), np.array([0, 4, 7]))
    >>> [len(from_corpus(text, 5, order=2, max_ngrams=n).topology.labels) for n in (8, 6, 4)]
    [8, 6, 4]
    """
    if len(text.offsets) < 2:
        raise TacitError("the supplemental corpus has no sentences; give at least one")
    model = from_kneser_ney(kneser_ney.fit(text.tokens, text.offsets, vocabulary, order))
    shape = model.topology
    return prune(
        model,
        max_ngrams,
        visits(shape, shape.states_along(np.asarray(text.tokens, np.int64), text.offsets)),
        _of_common_words(model, common),
    )


def infer(
    source: SampledModel,
    sentences: int,
    seed: int = 0,
    order: int = 3,
    max_ngrams: int = MAX_NGRAMS,
    common: int = COMMON_WORDS,
) -> Automaton:
    """Returns `from_corpus` of sentences drawn from a model."""
    return from_corpus(draw(source, seed, sentences), source.vocabulary, order, max_ngrams, common)


def merge(
    first: Automaton,
    second: Automaton,
    weight: float = 0.5,
    max_ngrams: int = MAX_NGRAMS,
    text: Sentences | None = None,
) -> Automaton:
    """Merges two n-gram models: λ p₁ + (1 − λ) p₂ for each n-gram of either, λ the weight, pruned to the size.

    For pruning, a text gives how often histories occur; without one the model's own probabilities do.
    """
    for model in (first, second):
        if (model.topology.backoff < 0).sum() != 1:
            raise TacitError(
                "only n-gram models over one vocabulary can be merged; this automaton has several roots"
            )
    if first.topology.vocabulary != second.topology.vocabulary:
        raise TacitError(
            f"models over {first.topology.vocabulary} and {second.topology.vocabulary} labels cannot be merged; "
            "use the same vocabulary"
        )
    if not 0 <= weight <= 1:
        raise TacitError(f"the weight of the first model is {weight:g}; it must be from 0 to 1")
    trie = union([grams(model.topology).trie for model in (first, second)])
    shape = from_trie(trie)
    p = [np.exp(_log_probs(model, trie)) for model in (first, second)]
    both = with_backoffs(shape, np.log(weight * p[0] + (1 - weight) * p[1]))
    if text is None:
        return prune(both, max_ngrams)
    return prune(both, max_ngrams, visits(shape, shape.states_along(text.tokens, text.offsets)))


def union(tries: Sequence[Trie]) -> Trie:
    """Returns the n-grams of all these tries, over one vocabulary.

    >>> from tacit.ngram.trie import of_words
    >>> both = union([of_words([np.array([[0, 3]])], vocabulary=4), of_words([np.array([[3, 1]])], vocabulary=4)])
    >>> both.keys[2].tolist(), both.suffix[2].tolist()
    ([3, 13], [3, 1])
    """
    v = tries[0].vocabulary
    keys, suffix = [np.zeros(1, np.int64)], [np.zeros(1, np.int64)]
    rows = [np.zeros(1, np.int64)] * len(tries)  # of each trie's level, in the union's
    for n in range(1, 1 + max(trie.order for trie in tries)):
        long = [(trie, row) for trie, row in zip(tries, rows, strict=True) if trie.order >= n]
        wanted = [row[trie.keys[n] // v] * v + trie.keys[n] % v for trie, row in long]
        unique, first = np.unique(np.concatenate(wanted), return_index=True)
        keys.append(unique)
        suffix.append(np.concatenate([row[trie.suffix[n]] for trie, row in long])[first])
        rows = [find(unique, key) for key in wanted]
        tries = [trie for trie, _ in long]
    return Trie(v, tuple(keys), tuple(suffix))


def _log_probs(model: Automaton, trie: Trie) -> Floats:
    """Returns the model's log p of each n-gram of a trie, in the order of the arcs of `from_trie`."""
    shape, v = model.topology, trie.vocabulary
    root = int(np.argmin(shape.backoff))
    state = np.full(1, root)  # of each row one level below: its longest suffix that is a state of the model
    log_p = []
    for n in range(1, trie.order + 1):
        history, label = state[trie.keys[n] // v], trie.keys[n] % v
        state = np.full(len(label), shape.initial)  # right for `<s>`
        read = np.flatnonzero(label != BOS)
        log_p.append(log_probs(model, history[read], label[read]))
        state[read] = shape.targets[shape.reading(history[read], label[read])[1]]
        state[label == EOS] = root  # never a history
    return np.concatenate(log_p)


def _of_common_words(model: Automaton, common: int) -> NDArray[np.bool_]:
    """Returns which arcs have an n-gram of only the `common` lowest ids, [arcs]."""
    shape = model.topology
    arc, depth = parents(shape), shape.depth
    rare = np.zeros(len(shape), np.bool_)  # histories with another word
    for d in range(1, int(depth.max(initial=0)) + 1):
        level = np.flatnonzero((depth == d) & (arc >= 0))
        rare[level] = rare[shape.owners[arc[level]]] | (shape.labels[arc[level]] >= common)
    return ~rare[shape.owners] & (shape.labels < common)
