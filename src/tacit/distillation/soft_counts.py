"""Computes the soft counts of SampleApprox in bulk (paper 4, section 4).

For a state q and a label x that it has an arc for, the paper counts

    C(x, q) = Σ_{q′ ∈ B(q)} Σ_{positions in q′} 1[q′[x] = q] · p(x | what precedes)

B(q) being the states that reach q by failure arcs and q′[x] the first state on that path that reads x. C(φ, q)
is the probability that leaves q by φ. Computed here as

    T(x, q) = Σ p(x) over positions whose failure path passes q            for every arc (q, x)
    C(x, q) = T(x, q) − Σ_{h: backoff(h) = q, x ∈ L[h]} T(x, h)            what was read before it came to q
    C(φ, q) = n(q) − Σ_x T(x, q)                                           n(q): positions through q

For T, the rows p of a block of positions are summed by state, deepest first: positions of one state are summed into a
row, and rows of states with the same backoff state into that state's row, until the roots are reached. States are
ordered (`ranks`) so that all states that back off to one state are neighbours, and each of these sums is over
neighbouring rows; then the arcs' columns are picked from each state's row. So the work is one pass over [rows, V] and
the arcs of the states that occur, and only picked sums leave a device. A device adds float32 numbers within a block (in
an order of its own: on a GPU the last digits may differ from run to run); blocks are added here, in float64.

Roots need not have all labels (an automaton over word-pieces reads at each root only pieces that can continue a word).
Labels that no state of the path can read are left out and the rest of p is renormalised: the counts are of the
distribution given that the automaton can continue. With `whole`, the mass of those labels is counted as φ instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import jax
import numpy as np
from jax import Array
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.base.progress import Progress
from tacit.distillation.sampling import ProbabilityBlock
from tacit.ngram.automaton import Topology
from tacit.text.packed import bucket

_IN_A_ROW = 16  # rows that are added one after another


class Counts(NamedTuple):
    """The result of the counting step, float64."""

    arcs: Floats  # [arcs] C(x, q)
    phi: Floats  # [states] C(φ, q); 0 at roots
    visits: Floats  # [states] n(q)


def added(which: Ints, weights: Floats, count: int) -> Floats:
    """Returns sums of the weights of each number, [count]: `numpy.bincount` with a type."""
    return np.bincount(which, weights, minlength=count).astype(np.float64, copy=False)


def paths(topology: Topology) -> Ints:
    """Returns the failure path of every state, root first, [states, depth + 1]; −1 beyond its end."""
    depth = topology.depth
    path = np.full((len(topology), int(depth.max(initial=0)) + 1), -1, np.int64)
    at, on = np.arange(len(topology)), np.arange(len(topology))
    while len(on):
        path[on, depth[at]] = at
        on, at = on[topology.backoff[at] >= 0], topology.backoff[at[topology.backoff[at] >= 0]]
    return path


def visits(topology: Topology, states: Ints) -> Floats:
    """Returns n(q): how many of these states' failure paths pass q, [states of the topology]; −1 is no state.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> pairs = from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4))  # states: empty, after 0, after 3
    >>> visits(pairs, np.array([1, 2, 2, 0, -1])).tolist()
    [4.0, 1.0, 2.0]
    """
    n = np.bincount(states[states >= 0], minlength=len(topology)).astype(np.float64)
    depth = topology.depth
    for d in range(int(depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(depth == d)
        n += added(topology.backoff[level], n[level], len(topology))
    return n


def grouped(tallies: list[SoftTally], context: Ints | None = None) -> Ints:
    """Returns groups for `SampledModel.blocks`: positions with equal states in all tallies, [total], by first rank.

    `context` distinguishes positions further. −1 where a tally has no state, which is at `<s>`.
    """
    keys = [tally.ranks[tally.states] for tally in tallies] + ([] if context is None else [context])
    by = np.lexsort(keys[::-1])
    new = np.zeros(len(by), np.bool_)
    for key in keys:
        new[1:] |= key[by[1:]] != key[by[:-1]]
    groups = np.empty(len(by), np.int64)
    groups[by] = np.cumsum(new)
    return np.where(tallies[0].states >= 0, groups, -1)


def reported(
    blocks: Iterable[ProbabilityBlock], groups: Ints, progress: Progress
) -> Iterator[ProbabilityBlock]:
    """Yields the blocks, and reports after each the share of groups that have been counted."""
    total, done = int(np.unique(groups[groups >= 0]).size), 0
    for block in blocks:
        yield block
        done += int(np.unique(groups[block.positions]).size)
        progress("counting n-grams", min(done, total) / max(1, total))


@dataclass
class SoftTally:
    """T(x, q) of one topology, to which blocks are added."""

    topology: Topology
    states: Ints  # [total] the state before each token, −1 at `<s>`: `topology.states_along`
    whole: bool = (
        False  # keep labels that no state of the path can read: they leave by φ, and vanish at roots
    )
    total: Floats = field(init=False)  # [arcs] T

    def __post_init__(self) -> None:
        self.total = np.zeros(len(self.topology.labels))

    @cached_property
    def paths(self) -> Ints:
        """Failure paths of the states, root first."""
        return paths(self.topology)

    @cached_property
    def ranks(self) -> Ints:
        """The order of states in which all that back off to a state, directly or not, directly follow it, [states]."""
        order = np.lexsort(self.paths.T[::-1])
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return ranks

    @cached_property
    def complete(self) -> bool:
        """Whether every root has an arc for every label but `<s>`."""
        sizes = np.diff(self.topology.starts)[self.topology.backoff < 0]
        return bool((sizes == self.topology.vocabulary - 1).all())

    def add(self, block: ProbabilityBlock) -> None:
        """Counts the probabilities of a block."""
        rows = _on_host(block.p)
        states = self.states[block.positions]
        rank = self.ranks[states]
        if (np.diff(rank) < 0).any():  # rows ordered for another topology
            by = np.argsort(rank, kind="stable")
            states, rows = states[by], _take(rows, by)
        path = self.paths[states]  # [rows, depth + 1]
        if not self.complete and not self.whole:
            rows = self._readable(rows, path[:, 0])
        for level in range(path.shape[1] - 1, -1, -1):
            new = np.ones(len(path), np.bool_)
            new[1:] = (path[1:, : level + 1] != path[:-1, : level + 1]).any(axis=1)
            rows = _summed(rows, new)
            path = path[new]
            here = np.flatnonzero(path[:, level] >= 0)  # the others are rows of shallower states
            row, arcs = self.topology.arcs_of(path[here, level])
            self.total[arcs] += _picked(rows, here[row], self.topology.labels[arcs])

    def counts(self) -> Counts:
        """Returns C(x, q), C(φ, q) and n(q) of what has been added."""
        shape, total = self.topology, self.total
        inner = shape.below >= 0
        above = added(shape.below[inner], total[inner], len(total))
        n = visits(shape, self.states)
        phi = n - added(shape.owners, total, len(shape))
        return Counts(
            arcs=np.maximum(total - above, 0.0),
            phi=np.where(shape.backoff >= 0, np.maximum(phi, 0.0), 0.0),
            visits=n,
        )

    def _readable(self, rows: Array | Floats, roots: Ints) -> Array | Floats:
        """Returns the rows over the labels that their roots have, each with the sum it had before."""
        which, place = np.unique(roots, return_inverse=True)
        row, arcs = self.topology.arcs_of(which)
        mask = np.zeros((len(which), self.topology.vocabulary), np.float32)
        mask[row, self.topology.labels[arcs]] = 1
        place = np.pad(place, (0, rows.shape[0] - len(place)))  # rows beyond are 0
        readable = rows * mask[place]
        mass = readable.sum(axis=1, keepdims=True)
        return readable * (rows.sum(axis=1, keepdims=True) / (mass + 1e-30))


def _on_host(rows: Array | Floats) -> Array | Floats:
    """Returns a numpy array if that costs no copy, because on a CPU numpy sums neighbouring rows faster than XLA."""
    return rows if isinstance(rows, np.ndarray) or jax.default_backend() != "cpu" else np.asarray(rows)


def _take(rows: Array | Floats, by: Ints) -> Array | Floats:
    """Reorders rows; rows of 0 beyond them stay, so that all blocks have one shape on a device."""
    return rows[np.concatenate([by, np.arange(len(by), rows.shape[0])])]


def _summed(rows: Array | Floats, new: NDArray[np.bool_]) -> Array | Floats:
    """Sums neighbouring rows, a sum starting wherever `new`; a device's array is padded with zeros."""
    if isinstance(rows, np.ndarray):
        if new.all():
            return rows[: len(new)]
        first = np.flatnonzero(new)
        sums, ends = rows[first], np.append(first[1:], len(new))
        # not numpy's reduceat, which goes column by column and takes ten times as long
        for i in np.flatnonzero(ends - first > 1).tolist():
            sums[i] = _together(rows[first[i] : ends[i]])
        return sums
    which = np.cumsum(new, dtype=np.int32) - 1
    count = int(which[-1]) + 1
    return _segments(rows, np.pad(which, (0, rows.shape[0] - len(which)), mode="edge"), bucket(count))


def _together(rows: Floats) -> Floats:
    """Sums rows by halves: adding thousands of float32 one after another would lose digits.

    >>> _together(np.full((100_000, 1), 0.1, np.float32)).tolist()
    [10000.0]
    """
    if len(rows) <= _IN_A_ROW:
        return np.add.reduce(rows, axis=0)
    half = len(rows) // 2
    return _together(rows[:half]) + _together(rows[half:])


@partial(jax.jit, static_argnums=2)
def _segments(rows: Array, which: Array, count: int) -> Array:
    if count == 1:
        return rows.sum(axis=0, keepdims=True)
    # without indices_are_sorted: XLA's program for that takes minutes to compile and gigabytes to run
    return jax.ops.segment_sum(rows, which, count)


def _picked(rows: Array | Floats, row: Ints, label: Ints) -> Floats:
    """Returns rows[row, label], float64 on the host."""
    if isinstance(rows, np.ndarray):
        return rows[row, label].astype(np.float64)
    room = (0, bucket(len(row)) - len(row))
    picked = _pick(rows, np.pad(row, room).astype(np.int32), np.pad(label, room).astype(np.int32))
    return np.asarray(picked, np.float64)[: len(row)]


@jax.jit
def _pick(rows: Array, row: Array, label: Array) -> Array:
    return rows[row, label]
