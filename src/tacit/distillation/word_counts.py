"""Counts words from a network over pieces (paper 4, section 6), on B = M ∘ A.

The paper maps counts back by the last piece, C(y, q) = C(x_y, (q_y, q)). They are soft in the last piece only: a word
of several pieces has the count 0 after q if its first pieces were never drawn there, however likely it is. If q was
visited and has an arc for the word, that arc has almost no weight. So every piece is counted softly here. With
s_j = (x_1 … x_{j−1}, q) the states of B that read the pieces x_1 … x_k of y,

    C(y, q) = n(s_1) Π_j T(x_j, s_j) / n(s_j)        n: positions through s_j, T: the sum of p(x_j) at them,

over the positions that read y at q: those whose history leads to q by φ and through no state that has an arc for y
before (they are subtracted from n and T). T(x_j, s_j) is the expected number of positions at s_{j+1}, and n(s_{j+1})
how many were drawn, so the product is what the paper's count becomes with ever more sentences. Where no such position
was drawn, the ratio is that of all positions through s_j, or else of the backoff state of s_j; a beginning of a word
that was never drawn at all is continued uniformly.

What is left of the visits of q, R(q) = n(q) − Σ_y n(s_1) Π_j T(x_j, s_j) / n(s_j) over all positions and all words of
q but `<unk>`, leaves by φ. If q has an arc for `<unk>`, R(q) is divided as the drawn positions say, by the probability
that a word ended there as one that q lacks, and that it became one that A lacks. The latter is the count of `<unk>`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jax import Array

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.distillation.compose import Composed
from tacit.distillation.soft_counts import Counts, added
from tacit.ngram.automaton import Topology
from tacit.text.vocabulary import UNK


class PieceSums(NamedTuple):
    """What was summed over the positions of drawn sentences, float64."""

    arcs: Floats  # [arcs of B] T(x, s): p(x), over positions whose failure path passes s
    visits: Floats  # [states of B] n(s)
    known: Floats  # [states of A] probability of pieces that end a word of A, by the history before that word
    unknown: Floats  # [states of A] the same of `<unk>`, and of pieces that no word of A continues with


def endings(composed: Composed, states: Ints, p: Array | Floats) -> tuple[Floats, Floats]:
    """Returns the probability that a word of A ends with the next piece, and that it becomes none, [rows] each.

    `states` [rows] are states of B, p is [rows or more, pieces].
    """
    shape = composed.topology
    writes = np.full(len(shape.labels), -1, np.int64)  # [arcs of B] the word, −1: none yet
    spelt = composed.emits >= 0
    writes[composed.emits[spelt]] = composed.words.labels[spelt]
    root = states.copy()
    while (on := shape.backoff[root] >= 0).any():
        root = np.where(on, shape.backoff[root], root)
    which, place = np.unique(root, return_inverse=True)
    row, arcs = shape.arcs_of(which)
    known = np.zeros((len(which), shape.vocabulary), np.bool_)
    known[row, shape.labels[arcs]] = (writes[arcs] >= 0) & (writes[arcs] != UNK)
    unknown = np.ones_like(known)
    unknown[row, shape.labels[arcs]] = writes[arcs] == UNK
    p = p[: len(states)]
    ends, lost = ((p * mask[place]).sum(axis=1) for mask in (known, unknown))
    return np.asarray(ends, np.float64), np.asarray(lost, np.float64)


def to_words(composed: Composed, sums: PieceSums) -> Counts:
    """Returns the counts on A."""
    a, b, starts = composed.words, composed.topology, composed.path_starts
    arc = np.repeat(
        np.arange(len(a.labels)), np.diff(starts)
    )  # [cells] the arc of A of each piece of its word
    visits, mass = sums.visits[b.owners[composed.paths]], sums.arcs[composed.paths]
    # what was read before it came to q: the cell of the same piece of the same word, one failure arc up
    upper = np.flatnonzero(a.below[arc] >= 0)
    lower = starts[a.below[arc[upper]]] + upper - starts[arc[upper]]
    n = visits - added(lower, visits[upper], len(arc))
    t = np.maximum(mass - added(lower, mass[upper], len(arc)), 0.0)
    overall = ratios(b, sums)[composed.paths]
    word = a.labels != UNK
    at_start = sums.visits[composed.start]  # [states of A] n(q)
    inner = a.below >= 0
    reached = at_start[a.owners]
    reached = reached - added(a.below[inner], reached[inner], len(reached))
    ratio = np.where(n > 0, t / np.maximum(n, 1.0), overall)
    arcs = np.where(word, reached * _products(ratio, starts), 0.0)
    whole = np.where(word, at_start[a.owners] * _products(overall, starts), 0.0)
    rest = np.maximum(at_start - added(a.owners, whole, len(a)), 0.0)  # R(q)

    state, to_unknown = a.reading(np.arange(len(a)), np.full(len(a), UNK))
    if (to_unknown[sums.unknown > 0] < 0).any():
        raise TacitError("the automaton has no arc for <unk>, which words outside it are read as")
    arcs += added(np.maximum(to_unknown, 0), np.where(to_unknown >= 0, sums.unknown, 0.0), len(arcs))
    ended = np.where(word & (composed.emits >= 0), sums.arcs[composed.emits], 0.0)
    lacking = np.maximum(_through(a, sums.known) - added(a.owners, ended, len(a)), 0.0)
    unknown = np.where(state == np.arange(len(a)), _through(a, sums.unknown), 0.0)
    share = np.where(unknown > 0, lacking / np.where(unknown > 0, lacking + unknown, 1.0), 1.0)
    phi = np.where(a.backoff >= 0, share * rest, 0.0)
    return Counts(arcs, phi, added(a.owners, arcs, len(a)) + phi)


def ratios(shape: Topology, sums: PieceSums) -> Floats:
    """Returns T(x, s) / n(s), [arcs of B]; that of the backoff state where n(s) = 0; uniform where that is a root.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> pairs = from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4))  # states: empty, after 0, after 3
    >>> sums = PieceSums(np.array([1.0, 0.5, 2.5, 0, 0.5]), np.array([4.0, 0, 2]), np.zeros(0), np.zeros(0))
    >>> ratios(pairs, sums).tolist()
    [0.25, 0.125, 0.625, 0.625, 0.25]
    """
    n, depth = sums.visits[shape.owners], shape.depth[shape.owners]
    ratio = sums.arcs / np.where(n > 0, n, 1.0)
    blank = (n == 0) & (depth == 0)
    ratio[blank] = 1.0 / np.diff(shape.starts)[shape.owners[blank]]
    for d in range(1, int(depth.max(initial=0)) + 1):
        arcs = np.flatnonzero((n == 0) & (depth == d))
        ratio[arcs] = ratio[shape.below[arcs]]
    return ratio


def _products(values: Floats, starts: Ints) -> Floats:
    """Returns the product of each run of values, [runs]; 0 where a run is empty."""
    some = starts[1:] > starts[:-1]
    products = np.zeros(len(some))
    products[some] = np.multiply.reduceat(values, starts[:-1][some])
    return products


def _through(shape: Topology, amounts: Floats) -> Floats:
    """Returns sums of amounts at states over all states that lead to each by failure arcs, itself included."""
    sums, depth = amounts.copy(), shape.depth
    for d in range(int(depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(depth == d)
        sums += added(shape.backoff[level], sums[level], len(shape))
    return sums
