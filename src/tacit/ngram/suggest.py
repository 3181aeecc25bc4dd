"""Finds the likeliest next words of a backoff automaton.

Labels are nested along the failure path, L[q] ⊆ L[b] for b = backoff(q). So the words that q can read are its own
arcs, the arcs of b whose label q lacks, those of b's backoff state whose label b lacks, and so on. The k best of each
group depend only on one state and its backoff state, so they are shared between requests; the answer is the k best of
all groups. Unlike in a Kneser-Ney model, an arc may be less likely than the one it hides, so no group can be skipped.
"""

from __future__ import annotations

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.ngram.automaton import Automaton
from tacit.text.vocabulary import UNK


def top_k(model: Automaton, states: Ints, k: int = 3) -> Ints:
    """Returns the k likeliest words at each state, [states, k], ties by lower id; −1 where there are no more.

    `</s>` and `<unk>` are never suggested.

    >>> from tacit.ngram import automaton, kneser_ney
    >>> pairs = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2))
    >>> top_k(pairs, np.array([0, 1]), k=2).tolist()
    [[3, 4], [3, 4]]
    """
    shape = model.topology
    asked, place = np.unique(states, return_inverse=True)
    by = np.lexsort((shape.labels, -model.log_p, shape.owners))  # arcs of each state, likeliest first
    by = by[shape.labels[by] > UNK]
    ends = np.searchsorted(shape.owners[by], np.arange(len(shape) + 1))  # by[ends[q] : ends[q + 1]]

    words, scores = _first(model, by, ends, asked, None, k)
    factor, q = np.zeros(len(asked)), asked.copy()
    while (on := np.flatnonzero(shape.backoff[q] >= 0)).size:
        factor[on] += model.log_backoff[q[on]]
        more, score = np.full((len(asked), k), -1, np.int64), np.full((len(asked), k), -np.inf)
        hiding, back = np.unique(q[on], return_inverse=True)
        labels, log_p = _first(model, by, ends, shape.backoff[hiding], hiding, k)
        more[on], score[on] = labels[back], log_p[back] + factor[on, None]
        words, scores = np.hstack([words, more]), np.hstack([scores, score])  # [asked, 2k]
        best = np.lexsort((words, -scores), axis=1)[:, :k]
        words, scores = np.take_along_axis(words, best, 1), np.take_along_axis(scores, best, 1)
        q[on] = shape.backoff[q[on]]
    return np.where(np.isfinite(scores), words, -1)[place]


def _first(
    model: Automaton, by: Ints, ends: Ints, states: Ints, hiding: Ints | None, k: int
) -> tuple[Ints, Floats]:
    """Returns the k best arcs of each state whose label its hiding state lacks: labels and log weights, [states, k]."""
    words, scores = np.full((len(states), k), -1, np.int64), np.full((len(states), k), -np.inf)
    at, got = ends[states].copy(), np.zeros(len(states), np.int64)
    todo = np.flatnonzero(at < ends[states + 1])
    while len(todo):  # each state in `todo` tries its next arc
        arc = by[at[todo]]
        label = model.topology.labels[arc]
        free = np.ones(len(todo), np.bool_) if hiding is None else model.topology.arc(hiding[todo], label) < 0
        hit = todo[free]
        words[hit, got[hit]], scores[hit, got[hit]] = label[free], model.log_p[arc[free]]
        got[hit] += 1
        at[todo] += 1
        todo = todo[(at[todo] < ends[states[todo] + 1]) & (got[todo] < k)]
    return words, scores
