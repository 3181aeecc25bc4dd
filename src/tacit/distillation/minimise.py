"""Finds weights from soft counts: the KL minimisation step of SampleApprox.

Suresh, Roark, Riley, Schogol, "Approximating Probabilistic Models as Weighted Finite Automata" (Computational
Linguistics 47(2), 2021). Let y_q be a distribution over L[q] ∪ {φ}, and

    d(h, q) = 1 − Σ_{x ∈ L[h]} y_q[x]          for q = backoff(h): q's mass of labels that h lacks
    w_q[x] = y_q[x],    w_h[φ] = y_h[φ] / d(h, q)

so that every state sums to one. The automaton nearest to the source is found state by state: y_q maximises

    Σ_{x ∈ L[q] ∪ φ} C(x, q) log y[x]  −  Σ_{h: backoff(h) = q} C(φ, h) log d(h, q)

A sum of concave and convex functions, climbed by replacing the convex part with its tangent (each step is at
least as high as the last): with f(x) = Σ_{h: x ∈ L[h]} C(φ, h) / d(h, q) and f(φ) = 0,

    y[x] ← C(x, q) / (λ − f(x)),     λ such that Σ y = 1.

All states are solved at once. λ is found by Newton's method on 1/Σ y, a concave function of λ (a weighted harmonic
mean of lines), which approaches the solution from the left without overshooting. A state that nothing backs off to
has f = 0 and is solved by y = C / Σ C. With φ `fixed` that is done for all states, which is cheaper and a
little farther from the source.

Every y is at least ε = e⁻³⁵. At a state that no sample reached, any weights are as good for the
objective: it repeats its backoff state (w[φ] = 1).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.distillation.soft_counts import Counts, added
from tacit.ngram.automaton import Automaton, Topology

EPSILON = float(np.exp(-35.0))
_CANCELS = 1e-4  # if d is below it, 1 − Σ has lost digits: the rest is summed instead
_STABLE = 1e-10  # a state is solved when a step gains less than this, in nats per visit


class Fit(NamedTuple):
    """An automaton, and the objective at each iteration."""

    model: Automaton
    objective: list[float]  # per iteration, from the start; each at least the one before


def minimise(topology: Topology, counts: Counts, fixed: bool = False, iterations: int = 1000) -> Fit:
    """Returns the weights on this topology that are nearest to the source that was counted.

    >>> from tacit.ngram.automaton import distribution, from_trie
    >>> from tacit.ngram.trie import of_words
    >>> pairs = from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4))  # states: empty, after 0, after 3
    >>> counts = Counts(np.array([0.5, 1.25, 0.25, 3.0, 2.0]), np.array([0.0, 1.0, 1.0]), np.array([9.0, 4.0, 3.0]))
    >>> nearest = minimise(pairs, counts).model
    >>> distribution(nearest, 1).round(3).tolist(), distribution(nearest, 2).round(3).tolist()
    ([0.0, 0.125, 0.125, 0.75], [0.0, 0.667, 0.25, 0.083])
    """
    if len(counts.arcs) != len(topology.labels) or len(counts.phi) != len(topology):
        raise TacitError(
            f"counts of {len(counts.arcs)} arcs and {len(counts.phi)} states do not belong to a topology of "
            f"{len(topology.labels)} and {len(topology)}; count on the same topology"
        )
    _check_complete(topology)
    owners = topology.owners
    shut = closed(topology)
    phi = np.where(shut, 0.0, counts.phi)
    total = added(owners, counts.arcs, len(topology)) + phi
    seen = total > 0
    y = counts.arcs / np.where(seen, total, 1.0)[owners]
    y = np.maximum(y, EPSILON)
    y_phi = np.where(shut, 0.0, np.maximum(phi / np.where(seen, total, 1.0), EPSILON))
    y, y_phi = _unit(topology, y, y_phi)
    objective = [_objective(topology, counts.arcs, phi, y, y_phi)]
    if not fixed:
        asked = np.zeros(len(topology), np.bool_)  # states that others back off to with something
        asked[topology.backoff[(topology.backoff >= 0) & (phi > 0)]] = True
        solved = asked & seen & (np.diff(topology.starts) > 0)
        y, y_phi, gains = _climb(topology, counts.arcs, phi, total, y, y_phi, solved, iterations)
        objective += (objective[0] + np.cumsum(gains)).tolist()
    return Fit(_weights(topology, y, y_phi, seen, shut), objective)


def remainders(topology: Topology, y: Floats, y_phi: Floats) -> Floats:
    """Returns d(q, backoff(q)): the backoff state's mass for labels that q does not have, [states]; 1 at roots."""
    inner = topology.below >= 0
    d = 1.0 - added(topology.owners[inner], y[topology.below[inner]], len(topology))
    few = np.flatnonzero((topology.backoff >= 0) & (d < _CANCELS))
    if len(few):
        d[few] = _rest(topology, few, y, y_phi)
    return d


def _rest(topology: Topology, states: Ints, y: Floats, y_phi: Floats) -> Floats:
    """Returns `remainders` of these states, summed instead of subtracted."""
    back = topology.backoff[states]
    rest = y_phi[back].copy()
    sizes = np.diff(topology.starts)[back]
    step = max(1, int((1 << 22) // max(1, sizes.max())))
    for i in range(0, len(states), step):  # a few at a time: a root has as many arcs as there are words
        part = slice(i, i + step)
        which, arcs = topology.arcs_of(back[part])
        which += i
        other = topology.arc(states[which], topology.labels[arcs]) < 0
        rest += added(which[other], y[arcs[other]], len(states))
    return rest


def closed(topology: Topology) -> NDArray[np.bool_]:
    """Returns states with no label left behind φ: roots, and those with all labels of a closed backoff state."""
    sizes, depth = np.diff(topology.starts), topology.depth
    shut = topology.backoff < 0
    for d in range(1, int(depth.max(initial=0)) + 1):
        level = np.flatnonzero(depth == d)
        back = topology.backoff[level]
        shut[level] = shut[back] & (sizes[level] == sizes[back])
    return shut


def _check_complete(topology: Topology) -> None:
    missing = (topology.below < 0) & (topology.backoff[topology.owners] >= 0)
    if missing.any():
        at = int(np.argmax(missing))
        raise TacitError(
            f"state {topology.owners[at]} has an arc for label {topology.labels[at]}, its backoff state "
            f"{topology.backoff[topology.owners[at]]} has none; make the topology backoff-complete"
        )


def _unit(topology: Topology, y: Floats, y_phi: Floats) -> tuple[Floats, Floats]:
    sums = added(topology.owners, y, len(topology)) + y_phi
    return y / sums[topology.owners], y_phi / sums


def _objective(topology: Topology, c: Floats, phi: Floats, y: Floats, y_phi: Floats) -> float:
    d = remainders(topology, y, y_phi)
    open_ = phi > 0
    return float(
        np.dot(c, np.log(y)) + np.dot(phi[open_], np.log(y_phi[open_])) - np.dot(phi[open_], np.log(d[open_]))
    )


class _Unsolved(NamedTuple):
    """The arcs of the states that are still being solved, renumbered, and the arcs above them."""

    states: Ints  # [S]
    arcs: Ints  # [A] of these states, state by state
    starts: Ints  # [S]
    owner: Ints  # [A] place in `states`
    above: Ints  # [H] states that back off to one of `states` with something behind φ
    over: Ints  # [K] place in `above` of the owner of an arc of theirs,
    under: Ints  # [K] and the place in `arcs` of the same label one failure arc down


def _part(topology: Topology, phi: Floats, states: Ints) -> _Unsolved:
    is_unsolved = np.zeros(len(topology), np.bool_)
    is_unsolved[states] = True
    sizes = np.diff(topology.starts)[states]
    owner, arcs = topology.arcs_of(states)
    place = np.zeros(len(topology.labels), np.int64)
    place[arcs] = np.arange(len(arcs))
    above = np.flatnonzero((topology.backoff >= 0) & is_unsolved[np.maximum(topology.backoff, 0)] & (phi > 0))
    over, upper = topology.arcs_of(above)
    return _Unsolved(
        states,
        arcs,
        np.cumsum(sizes) - sizes,
        owner,
        above,
        over,
        place[topology.below[upper]],
    )


def _climb(
    topology: Topology,
    c: Floats,
    phi: Floats,
    total: Floats,
    y: Floats,
    y_phi: Floats,
    solved: NDArray[np.bool_],
    iterations: int,
) -> tuple[Floats, Floats, list[float]]:
    """Climbs for the states that others back off to; returns y, y[φ] and each step's gain over all states."""
    gains: list[float] = []
    part = _part(topology, phi, np.flatnonzero(solved))
    for _ in range(iterations):
        if not len(part.states):
            break
        before, d = _heights(topology, part, c, phi, y, y_phi)
        slope = added(part.under, (phi[part.above] / d)[part.over], len(part.arcs))  # f
        new, new_phi = _tangent(part, c[part.arcs], phi[part.states], total[part.states], slope)
        old, old_phi = y[part.arcs], y_phi[part.states]
        new_phi = np.where(old_phi > 0, np.maximum(new_phi, EPSILON), 0.0)
        new = np.maximum(new, EPSILON)
        sums = np.add.reduceat(new, part.starts) + new_phi
        y[part.arcs], y_phi[part.states] = new / sums[part.owner], new_phi / sums
        after, _ = _heights(topology, part, c, phi, y, y_phi)
        worse = after < before  # by rounding, at the maximum: stay
        if worse.any():
            y[part.arcs] = np.where(worse[part.owner], old, y[part.arcs])
            y_phi[part.states] = np.where(worse, old_phi, y_phi[part.states])
        gain = np.where(worse, 0.0, after - before)
        gains.append(float(gain.sum()))
        on = gain > _STABLE * total[part.states]
        if not on.all():
            part = _part(topology, phi, part.states[on])
    return y, y_phi, gains


def _heights(
    topology: Topology, part: _Unsolved, c: Floats, phi: Floats, y: Floats, y_phi: Floats
) -> tuple[Floats, Floats]:
    """Returns the objective of each state of the part, [S], and d of those above them, [H]."""
    y_part = y[part.arcs]
    d = 1.0 - added(part.over, y_part[part.under], len(part.above))
    few = np.flatnonzero(d < _CANCELS)
    if len(few):
        d[few] = _rest(topology, part.above[few], y, y_phi)
    height = np.add.reduceat(c[part.arcs] * np.log(y_part), part.starts)
    phi_here = phi[part.states]
    height += phi_here * np.log(np.where(phi_here > 0, y_phi[part.states], 1.0))
    place = np.searchsorted(part.states, topology.backoff[part.above])
    return height - added(place, phi[part.above] * np.log(d), len(part.states)), d


def _tangent(part: _Unsolved, c: Floats, phi: Floats, total: Floats, f: Floats) -> tuple[Floats, Floats]:
    """Solves y = C / (λ − f) with Σ y = 1 for every state of the part: its arcs and φ.

    In s = λ − max f, which keeps its digits where λ is near a pole.
    """
    top = np.maximum(np.maximum.reduceat(f, part.starts), 0.0)  # f(φ) = 0
    gap, s = top[part.owner] - f, np.maximum(np.maximum.reduceat(c + f, part.starts), phi) - top
    s = np.maximum(s, EPSILON * total)
    for _ in range(60):
        over = 1.0 / (s[part.owner] + gap)
        y, y_phi = c * over, phi / (s + top)
        sums = np.add.reduceat(y, part.starts) + y_phi  # ≥ 1 to the left of the solution
        if (np.abs(sums - 1.0) < 1e-11).all():
            break
        fall = np.add.reduceat(y * over, part.starts) + y_phi / (s + top)  # −dΣ/ds
        s = np.maximum(s + (sums - 1.0) * sums / fall, 0.5 * s)
    return y, y_phi


def _weights(
    topology: Topology, y: Floats, y_phi: Floats, seen: NDArray[np.bool_], shut: NDArray[np.bool_]
) -> Automaton:
    """Returns the automaton; states that no sample reached repeat their backoff state, shallow ones first."""
    depth, owners = topology.depth, topology.owners
    roots = ~seen & (topology.backoff < 0)
    y[roots[owners]] = 1.0 / np.diff(topology.starts)[owners[roots[owners]]]
    blank = ~seen & (topology.backoff >= 0)
    for d in range(1, int(depth[blank].max(initial=0)) + 1):
        arcs = np.flatnonzero((blank & (depth == d))[owners])
        y[arcs] = y[topology.below[arcs]]
    rest = np.maximum(1.0 - added(owners, y, len(topology)), 0.0)
    rest_mass = remainders(topology, y, np.where(blank, rest, y_phi))
    log_backoff = np.zeros(len(topology))
    backing = seen & ~shut
    log_backoff[backing] = np.log(y_phi[backing]) - np.log(rest_mass[backing])
    return Automaton(topology, np.log(y), log_backoff)
