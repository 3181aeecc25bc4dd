"""The order-2 model nearest to a backoff model: what a file that knows one word of context should say.

The weight of "v w" in a model of order 3 is for contexts that no longer n-gram covers. A reader that has only pairs
asks for p(w | v) over all contexts that end in v:

    p₂(w | v) = Σ_q n(q) p(w | q) / Σ_q n(q)        over the states q whose last word is v

n(q) is how often the model itself comes to q. Of all p₂, this one has the smallest relative entropy to the model.

It is found without drawing a sentence. The mass at a state leaves by its arcs and by φ. F(q) is the mass that passes
q, whether it came by an arc or by φ from a longer history h with F(h), which gives φ the share α(h). A word that h
lists was read there, so the arc a = (q, x) carries

    f(a) = w_q[x] · (F(q) − Σ_{h: backoff(h) = q, x ∈ L[h]} α(h) F(h))

One word further, f(a) is at the state that a leads to. Sentences end, so the mass dies out; the sums over all steps
are n, F and f. All arcs that leave histories ending in v and read w together carry the mass of "v w".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.ngram.automaton import Automaton, Topology
from tacit.text.vocabulary import BOS

_STEPS = 1000  # words of a sentence that are followed
_LEFT = 1e-9  # share of sentences that may be longer still
NO_WORD = -1


class Pairs(NamedTuple):
    """An order-2 backoff model in flat arrays; `<s>` is a first word like others."""

    words: Floats  # [V] p(w), of the empty history
    first: Ints  # [pairs] ascending
    second: Ints  # [pairs] ascending for each first word
    p: Floats  # [pairs] p₂(second | first)
    rest: Floats  # [V] the factor of p(w) for the words that have no pair with this first word; 1 without any pair


def order_2(model: Automaton) -> Pairs:
    """Returns the order-2 model nearest to an n-gram model with one root.

    >>> from tacit.ngram import automaton, kneser_ney
    >>> fitted = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2))
    >>> pairs = order_2(fitted)
    >>> pairs.first.tolist(), pairs.second.tolist(), pairs.p.round(3).tolist()
    ([0, 3, 3, 4], [3, 1, 4, 1], [0.625, 0.438, 0.375, 0.688])
    """
    shape, v = model.topology, model.topology.vocabulary
    root = int(np.argmin(shape.backoff))
    last = last_words(shape)
    through, read = _flows(model)
    alpha = np.exp(model.log_backoff)

    words = np.zeros(v)
    at_root = slice(shape.starts[root], shape.starts[root + 1])
    words[shape.labels[at_root]] = np.exp(model.log_p[at_root])

    owner = last[shape.owners]  # [arcs] the word before
    inner = np.flatnonzero(owner != NO_WORD)
    keys, which = np.unique(owner[inner] * v + shape.labels[inner], return_inverse=True)
    first, second = np.divmod(keys, v)
    carried = _added(which, read[inner], len(keys))
    forgets = np.flatnonzero((shape.depth == 1) & (last != NO_WORD))  # the states that remember one word
    left = _added(last[forgets], (alpha * through)[forgets], v)  # mass that goes on to the empty history
    listed = _added(first, words[second], v)  # p(w) of the words that have a pair
    left *= np.maximum(1.0 - listed, 0.0)
    whole = _added(first, carried, v) + left
    reached = whole > 0
    rest = np.ones(v)
    rest[reached] = left[reached] / whole[reached] / np.maximum(1.0 - listed[reached], 1e-12)
    kept = reached[first]  # a word that the model never comes to has no pairs
    first, second = first[kept], second[kept]
    return Pairs(words, first, second, carried[kept] / whole[first], rest)


def last_words(shape: Topology) -> Ints:
    """Returns the word that each state remembers last, [states]; where sentences start `<s>`, else −1 without any."""
    last = np.full(len(shape), NO_WORD, np.int64)
    inner = shape.targets >= 0
    last[shape.targets[inner]] = shape.labels[inner]
    last[shape.initial] = BOS
    last[shape.backoff < 0] = NO_WORD
    return last


def _flows(model: Automaton) -> tuple[Floats, Floats]:
    """Returns F [states] and f [arcs], added over all words of a sentence."""
    shape = model.topology
    weight, alpha, owners, below = np.exp(model.log_p), np.exp(model.log_backoff), shape.owners, shape.below
    levels = [np.flatnonzero(shape.depth == d) for d in range(int(shape.depth.max(initial=0)), 0, -1)]
    upper, ends = np.flatnonzero(below >= 0), shape.targets < 0
    through, read = np.zeros(len(shape)), np.zeros(len(owners))
    now = np.zeros(len(shape))
    now[shape.initial] = 1.0
    for _ in range(_STEPS):
        if now.sum() < _LEFT:
            break
        for level in levels:
            now += _added(shape.backoff[level], (alpha * now)[level], len(now))
        taken = _added(below[upper], (alpha * now)[owners[upper]], len(owners))
        step = weight * np.maximum(now[owners] - taken, 0.0)
        through += now
        read += step
        now = _added(shape.targets[~ends], step[~ends], len(now))
    return through, read


def _added(which: Ints, weights: Floats, count: int) -> Floats:
    """Returns sums of the weights of each number, [count]; of none they are 0.0, where bincount makes whole numbers."""
    return np.bincount(which, weights, count).astype(np.float64, copy=False)
