"""Prunes n-gram automata to a size by entropy.

Stolcke, "Entropy-based Pruning of Backoff Language Models" (1998). Removing the n-gram "h x" from a model leaves x
to the backoff state h′ and changes the weight of φ at h; nothing else changes. The relative entropy between the old
and the new model is

    D = −p(h) { p(x|h) [log p(x|h′) + log α′(h) − log p(x|h)] + (1 − Σ_{v ∈ L[h]} p(v|h)) [log α′(h) − log α(h)] }
    α′(h) = (1 − Σ_{v ∈ L[h] \\ x} p(v|h)) / (1 − Σ_{v ∈ L[h] \\ x} p(v|h′))

An n-gram that begins, or ends, one that stays must stay, too (else the topology would not be backoff-complete). So its
worth is the largest D of itself and of all n-grams that depend on it. Keeping the N n-grams of greatest worth, shorter
ones before longer, gives exactly N and always a valid topology; single words always stay.

p(h) is how often the history occurs: by the visits of a text, which is valid for any model, or, without a text, by
multiplying the model's own probabilities along h. Kneser-Ney's lower orders are not such probabilities, so a text is
better.
"""

from __future__ import annotations

import numpy as np

from tacit.base.arrays import Bools, Floats, Ints
from tacit.base.errors import TacitError
from tacit.distillation.minimise import EPSILON, closed, remainders
from tacit.distillation.soft_counts import added
from tacit.ngram.automaton import Automaton, Topology
from tacit.text.flat import ends
from tacit.text.vocabulary import EOS


def prune(
    model: Automaton, max_ngrams: int, visits: Floats | None = None, allowed: Bools | None = None
) -> Automaton:
    """Returns the model with at most `max_ngrams` arcs; those whose loss costs least are removed.

    `visits` [states] is how often each state occurs (`soft_counts.visits`). Arcs not `allowed` are always removed; all
    arcs that depend on them must be disallowed, too.

    >>> from tacit.ngram import automaton, kneser_ney
    >>> pairs = automaton.from_kneser_ney(kneser_ney.fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2))
    >>> len(pairs.topology.labels), prune(pairs, 6).topology.labels.tolist()
    (8, [1, 2, 3, 4, 3, 1])
    """
    shape = model.topology
    roots = shape.backoff[shape.owners] < 0  # [arcs]
    if max_ngrams < roots.sum():
        raise TacitError(
            f"a model of {max_ngrams} n-grams cannot hold {roots.sum()} words; allow more or use fewer words"
        )
    worth = np.where(roots, np.inf, losses(model, visits))
    if allowed is not None:
        worth = np.where(allowed | roots, worth, -np.inf)
    worth = _with_dependents(shape, worth)
    first = np.lexsort((shape.depth[shape.owners], -worth))[:max_ngrams]
    keep = np.zeros(len(worth), np.bool_)
    keep[first[worth[first] > -np.inf]] = True
    return restrict(model, keep)


def losses(model: Automaton, visits: Floats | None = None) -> Floats:
    """Returns D of each arc, [arcs]: the nats per word lost by removing it; 0 at roots."""
    shape = model.topology
    owner = shape.owners
    p = np.exp(model.log_p)
    inner = shape.below >= 0
    lower = np.where(inner, p[shape.below], 1.0)  # p(x|h′)
    occurs = _occurrences(model) if visits is None else visits
    occurs = occurs / occurs[shape.backoff < 0].sum()
    left, freed = _shares(shape, p)
    freed, left = np.maximum(freed, EPSILON), np.maximum(left, EPSILON)
    log_alpha = np.log(freed) - np.log(left)
    new = np.log(freed[owner] + p) - np.log(left[owner] + lower)
    loss = -occurs[owner] * (
        p * (np.log(lower) + new - model.log_p) + freed[owner] * (new - log_alpha[owner])
    )
    return np.where(inner, loss, 0.0)


def restrict(model: Automaton, keep: Bools) -> Automaton:
    """Returns the model with these arcs only and new weights of φ.

    A state without arcs is removed: arcs and backoffs to it lead to its backoff state instead. Roots stay.
    """
    shape = model.topology
    sizes = np.bincount(shape.owners[keep], minlength=len(shape))
    alive = (sizes > 0) | (shape.backoff < 0)
    instead = np.where(alive, np.arange(len(shape)), shape.backoff)
    while not alive[instead].all():
        instead = np.where(alive[instead], instead, shape.backoff[instead])
    number = np.cumsum(alive) - 1  # [states] among those that stay
    targets, backoff = shape.targets[keep], shape.backoff[alive]
    small = Topology(
        vocabulary=shape.vocabulary,
        starts=ends(sizes[alive]),
        labels=shape.labels[keep],
        targets=np.where(targets < 0, targets, number[instead[targets]]),
        backoff=np.where(backoff < 0, backoff, number[instead[backoff]]),
        initial=int(number[instead[shape.initial]]),
    )
    return with_backoffs(small, model.log_p[keep])


def with_backoffs(topology: Topology, log_p: Floats) -> Automaton:
    """Returns the automaton of these arc weights, with the weights of φ that make every state sum to one."""
    left, freed = _shares(topology, np.exp(log_p))
    backing = ~closed(topology)
    log_backoff = np.zeros(len(topology))
    log_backoff[backing] = np.log(np.maximum(freed[backing], EPSILON)) - np.log(
        np.maximum(left[backing], EPSILON)
    )
    return Automaton(topology, log_p, log_backoff)


def parents(topology: Topology) -> Ints:
    """Returns the arc that leads to each state from the history without its last word, [states].

    −1 where there is none: at roots and at the history `<s>`.
    """
    depth = topology.depth
    longer = (topology.targets >= 0) & (depth[topology.targets] == depth[topology.owners] + 1)
    arcs = np.full(len(topology), -1, np.int64)
    arcs[topology.targets[longer]] = np.flatnonzero(longer)
    return arcs


def _shares(shape: Topology, p: Floats) -> tuple[Floats, Floats]:
    """Returns the mass of labels that a state does not have: at its backoff state, and at the state, [states] each."""
    freed = 1.0 - added(shape.owners, p, len(shape))
    return remainders(shape, p, np.maximum(freed, 0.0)), freed


def _occurrences(model: Automaton) -> Floats:
    """Returns p(h) by the model's probabilities along h; `<s>` occurs as often as `</s>`."""
    shape = model.topology
    arc, depth = parents(shape), shape.depth
    p = np.ones(len(shape))  # roots
    for d in range(1, int(depth.max(initial=0)) + 1):
        level = np.flatnonzero((depth == d) & (arc >= 0))
        p[level] = p[shape.owners[arc[level]]] * np.exp(model.log_p[arc[level]])
        opening = np.flatnonzero((depth == d) & (arc < 0))
        p[opening] = np.exp(model.log_p[(shape.labels == EOS) & (shape.backoff[shape.owners] < 0)]).sum()
    return p


def _with_dependents(shape: Topology, worth: Floats) -> Floats:
    """Returns the largest worth of each arc and of all longer n-grams that begin or end with it."""
    worth, arc, depth = worth.copy(), parents(shape), shape.depth[shape.owners]
    for d in range(int(depth.max(initial=0)), 0, -1):
        level = np.flatnonzero(depth == d)
        before = arc[shape.owners[level]]
        longer = before >= 0
        np.maximum.at(worth, before[longer], worth[level[longer]])
        np.maximum.at(worth, shape.below[level], worth[level])
    return worth
