"""Finds a probability above one in a backoff model, for the readers of n-gram files.

A backoff weight above one is legal: if the words with explicit n-grams have most of the shorter history's probability,
the others can get more than they had. So probabilities are checked, not weights. With q′ the backoff state of q, the
largest probability that q takes from q′ is w_q[φ] · r(q),

    r(q) = max( max_{x∈L[q′]∖L[q]} w_{q′}[x],  w_{q′}[φ] · r(q′) )       (0 at a root)

The first maximum is that of the |L[q]| + 1 likeliest arcs of q′, of which one at least is not in L[q]. Most states need
none of this: an upper bound, w_q[φ] times the largest probability at q′, is below one.
"""

from __future__ import annotations

import numpy as np

from tacit.base.arrays import Floats
from tacit.ngram.automaton import Automaton
from tacit.text.flat import cells

TOLERANCE = 1e-4  # of a log: files round logs to six digits; the page's validation.js has the same number


def above_one(model: Automaton) -> tuple[int, float] | None:
    """Returns the first state of a backoff-complete automaton where a log p is above 0 or no number, and that log p.

    >>> from tacit.ngram.automaton import from_kneser_ney
    >>> from tacit.ngram.kneser_ney import fit
    >>> good = from_kneser_ney(fit([0, 3, 1], [0, 3], vocabulary=4, order=2))
    >>> above_one(good), above_one(Automaton(good.topology, good.log_p, good.log_backoff + 300))[0]
    (None, 1)
    """
    listed = _highest(model)
    states = np.flatnonzero(~(listed <= TOLERANCE))
    if len(states):
        return int(states[0]), float(listed[states[0]])
    by_backoff = most_by_backoff(model, listed)
    states = np.flatnonzero(~(by_backoff <= TOLERANCE))
    return (int(states[0]), float(by_backoff[states[0]])) if len(states) else None


def most_by_backoff(model: Automaton, listed: Floats | None = None) -> Floats:
    """Returns log w_q[φ] r(q) where it may be above 0, [states]; −∞ elsewhere. `listed` is that of `_highest`."""
    suspects = _suspects(model, _highest(model) if listed is None else listed)
    if not suspects.any():
        return np.full(len(suspects), -np.inf)
    with np.errstate(invalid="ignore"):  # ∞ − ∞ is no number, and refused
        return np.where(suspects, model.log_backoff + _left(model, suspects), -np.inf)


def _highest(model: Automaton) -> Floats:
    """Returns the largest log p among the arcs of each state, [states]; −∞ without arcs."""
    highest = np.full(len(model.topology), -np.inf)
    with np.errstate(invalid="ignore"):  # NaN, which is refused
        np.maximum.at(highest, model.topology.owners, model.log_p)
    return highest


def _suspects(model: Automaton, listed: Floats) -> np.ndarray:
    """Returns a mask of the states whose backoff weight could give a probability above one, [states]."""
    shape, bound = model.topology, listed.copy()
    suspects = np.zeros(len(shape), np.bool_)
    for d in range(1, int(shape.depth.max(initial=0)) + 1):
        here = np.flatnonzero(shape.depth == d)
        taken = model.log_backoff[here] + bound[shape.backoff[here]]
        bound[here] = np.maximum(listed[here], taken)
        suspects[here] = ~(taken <= TOLERANCE)
    return suspects


def _left(model: Automaton, suspects: np.ndarray) -> Floats:
    """Returns log r(q) of the suspects, [states]; −∞ elsewhere."""
    shape, needed = model.topology, suspects.copy()
    sizes = np.diff(shape.starts)
    for d in range(int(shape.depth.max(initial=0)), 1, -1):
        needed[shape.backoff[needed & (shape.depth == d)]] = True
    likeliest_first = np.lexsort((-model.log_p, shape.owners))
    left = np.full(len(shape), -np.inf)
    for d in range(1, int(shape.depth.max(initial=0)) + 1):
        here = np.flatnonzero(needed & (shape.depth == d))
        back = shape.backoff[here]
        count = np.minimum(sizes[here] + 1, sizes[back])
        which = np.repeat(np.arange(len(here)), count)
        arcs = likeliest_first[cells(shape.starts[back], count)]
        free = shape.arc(here[which], shape.labels[arcs]) < 0
        rest = np.where(shape.backoff[back] >= 0, model.log_backoff[back] + left[back], -np.inf)
        np.maximum.at(rest, which[free], model.log_p[arcs[free]])
        left[here] = rest
    return left
