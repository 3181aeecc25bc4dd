"""Checks that an automaton is a language model.

Every topology and every weighted automaton must satisfy:
- Arcs are sorted by state and label; labels, targets and backoff states exist; `</s>` and no other label has no
  target; failure arcs end at a root.
- It is backoff-complete: every label of a state is also a label of its backoff state.
- Every state can be reached from the start of a sentence.
- With weights, the probabilities of all words sum to one at every state. With q′ the backoff state of q,

      Σ_x p(x | q) = Σ_{x∈L[q]} w_q[x] + w_q[φ] · r(q),
      r(q) = Σ_{x∈L[q′]∖L[q]} w_{q′}[x] + w_{q′}[φ] · r(q′)       (0 at a root)

`complete` repairs an n-gram topology that is not backoff-complete.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.ngram.automaton import NOWHERE, Automaton, Topology
from tacit.ngram.grams import name
from tacit.text.vocabulary import BOS, EOS, Vocabulary

_CLOSE = 1e-3  # a difference of sums below this share of them is summed term by term instead
_CHUNK = 1 << 22  # arcs processed together, to bound memory


class Problem(NamedTuple):
    """A condition that fails: the first state where it does (−1: no particular state), and the number of states."""

    what: str
    state: int
    states: int


class Facts(NamedTuple):
    """The result of `check`. The automaton is valid if there are no problems."""

    states: int
    arcs: int
    off: float  # the largest |Σ p − 1| over states; 0 for a topology
    problems: tuple[Problem, ...]


def check(model: Automaton | Topology, tolerance: float = 1e-9) -> Facts:
    """Returns the problems of an automaton or a topology, in the order in which to fix them.

    >>> from tacit.ngram.automaton import from_kneser_ney
    >>> from tacit.ngram.kneser_ney import fit
    >>> facts = check(from_kneser_ney(fit([0, 3, 1], [0, 3], vocabulary=4, order=2)))
    >>> facts.states, facts.arcs, facts.problems
    (3, 5, ())
    """
    shape = model.topology if isinstance(model, Automaton) else model
    states, arcs = len(shape.backoff), len(shape.labels)
    problems = _layout(shape)
    if not problems:  # the other checks need consistent arrays
        problems = [_at("not reachable", ~_reachable(shape))]
        missing = (shape.below < 0) & (shape.backoff[shape.owners] >= 0)
        problems.append(_at("not backoff-complete", _states(shape, missing)))
    problems = [p for p in problems if p.states]
    off = 0.0
    if isinstance(model, Automaton) and not [p for p in problems if p.what != "not reachable"]:
        if len(model.log_p) != arcs or len(model.log_backoff) != states:
            problems.append(Problem("the number of weights does not match arcs and states", -1, 1))
        else:
            wrong = np.abs(sums(model) - 1)
            off = float(wrong.max())
            problems.append(_at("probabilities do not sum to one", ~(wrong <= tolerance)))
    return Facts(states, arcs, off, tuple(p for p in problems if p.states))


def require(
    model: Automaton | Topology, vocabulary: Vocabulary | None = None, tolerance: float = 1e-9
) -> Facts:
    """Runs `check` and raises a TacitError that names the state if there is a problem.

    >>> uniform = Topology(3, np.array([0, 2]), np.array([1, 2]), np.array([-1, 0]), np.array([-1]), initial=0)
    >>> require(Automaton(uniform, np.log([0.5, 0.6]), np.zeros(1)))
    Traceback (most recent call last):
        ...
    tacit.base.errors.TacitError: the automaton is not a language model: state 0 (no history): probabilities do not \
sum to one (off by at most 1.0e-01); build it again
    """
    facts = check(model, tolerance)
    for what, state, count in facts.problems:
        shape = model.topology if isinstance(model, Automaton) else model
        broken = state < 0 or bool(_layout(shape))
        where = ("" if state < 0 else f"state {state}: ") if broken else f"{name(shape, state, vocabulary)}: "
        more = f", and at {count - 1:,} more" if count > 1 else ""
        amount = f" (off by at most {facts.off:.1e})" if facts.off > tolerance else ""
        raise TacitError(
            f"the automaton is not a language model: {where}{what}{amount}{more}; build it again"
        )
    return facts


def sums(model: Automaton) -> Floats:
    """Returns Σ_x p(x | q) for every state of a backoff-complete automaton, [states]."""
    shape = model.topology
    own, rest = shares(model)
    phi = np.where(shape.backoff < 0, 0.0, np.exp(model.log_backoff))
    for d in range(2, int(shape.depth.max(initial=0)) + 1):  # `rest` becomes r(q)
        here = np.flatnonzero(shape.depth == d)
        back = shape.backoff[here]
        rest[here] += phi[back] * rest[back]
    return own + phi * rest


def shares(model: Automaton) -> tuple[Floats, Floats]:
    """Returns for every state Σ_{x∈L[q]} w_q[x], and Σ_{x∈L[q′]∖L[q]} w_{q′}[x] (0 at a root), both [states]."""
    shape, w = model.topology, np.exp(model.log_p)
    own = _add(shape, w)
    at_root = shape.backoff < 0
    taken = _add(shape, np.where(shape.below >= 0, w[shape.below], 0.0))
    left = np.where(at_root, 0.0, own[shape.backoff] - taken)
    for chunk in _chunks(shape, np.flatnonzero(~at_root & (left < _CLOSE * own[shape.backoff]))):
        left[chunk] = _directly(shape, w, chunk)
    return own, left


def complete(shape: Topology) -> Topology:
    """Adds the arcs that backoff states of an n-gram topology lack, from the longest histories downwards.

    A new arc leads to the target of the arc that needs it, without the words that its own state does not remember.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> good = from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4))
    >>> bad = Topology(4, np.array([0, 2, 3, 4]), good.labels[1:], good.targets[1:], good.backoff, good.initial)
    >>> [p.what for p in check(bad).problems], complete(bad).labels.tolist()
    (['not backoff-complete'], [1, 2, 3, 3, 1])
    """
    if problems := [p for p in _layout(shape) if p.states]:
        raise TacitError(f"the topology cannot be completed: state {problems[0].state}: {problems[0].what}")
    if (shape.backoff < 0).sum() != 1:
        raise TacitError("only a topology with one root, that of an n-gram model, can be completed")
    v, depth, back = shape.vocabulary, shape.depth, shape.backoff
    keys, targets = shape.keys, shape.targets
    for d in range(int(depth.max(initial=0)), 0, -1):
        arcs = np.flatnonzero(depth[keys // v] == d)
        wanted, first = np.unique(back[keys[arcs] // v] * v + keys[arcs] % v, return_index=True)
        new = np.isin(wanted, keys, invert=True, assume_unique=True)
        target = targets[arcs[first[new]]]
        while (far := (target >= 0) & (depth[target] > d)).any():
            target = np.where(far, back[target], target)
        merged = np.concatenate([keys, wanted[new]])
        by = np.argsort(merged, kind="stable")
        keys, targets = merged[by], np.concatenate([targets, target])[by]
    starts = np.searchsorted(keys, np.arange(len(shape) + 1) * v)
    return Topology(v, starts, keys % v, targets, back, shape.initial)


def _layout(shape: Topology) -> list[Problem]:
    """Returns problems of the arrays themselves, which prevent all other checks."""
    states, arcs, back = len(shape.backoff), len(shape.labels), shape.backoff
    lengths = np.diff(shape.starts)
    if len(lengths) != states or not states or len(shape.targets) != arcs:
        return [Problem("arrays of states or arcs differ in length", -1, 1)]
    if shape.starts[0] != 0 or shape.starts[-1] != arcs or (lengths < 0).any():
        return [Problem("arcs are not sorted by state", -1, 1)]
    problems = []
    if not 0 <= shape.initial < states:
        problems.append(Problem("sentences start at a state that does not exist", shape.initial, 1))
    labels, targets = shape.labels, shape.targets
    problems.append(_at("backoff state does not exist", (back < NOWHERE) | (back >= states)))
    problems.append(
        _at(
            "label outside the vocabulary, or <s>",
            _states(shape, (labels <= BOS) | (labels >= shape.vocabulary)),
        )
    )
    unsorted = np.zeros(arcs, np.bool_)
    unsorted[1:] = (np.diff(labels) <= 0) & (np.diff(shape.owners) == 0)
    problems.append(_at("arcs not in ascending order of their labels", _states(shape, unsorted)))
    problems.append(
        _at("arc to a state that does not exist", _states(shape, (targets < NOWHERE) | (targets >= states)))
    )
    ends = (labels == EOS) != (targets == NOWHERE)
    problems.append(_at("an arc other than </s> has no target, or </s> has one", _states(shape, ends)))
    problems = [p for p in problems if p.states]
    if not problems:
        above = back  # after i doublings: the state 2^i failure arcs further
        for _ in range(states.bit_length()):
            above = np.where(above >= 0, above[above], -1)
        problems = [p for p in [_at("failure arcs form a cycle", above >= 0)] if p.states]
    return problems


def _at(what: str, bad: np.ndarray) -> Problem:
    """Makes a problem from a mask of states, [states]."""
    count = int(bad.sum())
    return Problem(what, int(np.argmax(bad)) if count else -1, count)


def _states(shape: Topology, arcs: np.ndarray) -> np.ndarray:
    """Returns a mask of the states that have a marked arc, [states]."""
    bad = np.zeros(len(shape), np.bool_)
    bad[shape.owners[arcs]] = True
    return bad


def _add(shape: Topology, values: Floats) -> Floats:
    """Returns sums over the arcs of each state, [states]."""
    return np.asarray(np.bincount(shape.owners, values, minlength=len(shape)), np.float64)


def _reachable(shape: Topology) -> np.ndarray:
    """Returns a mask of the states that a sentence can reach, including over failure arcs, [states]."""
    seen = np.zeros(len(shape), np.bool_)
    edge = np.array([shape.initial])
    while len(edge):
        seen[edge] = True
        near = np.concatenate([shape.targets[shape.arcs_of(edge)[1]], shape.backoff[edge]])
        new = np.zeros(len(shape), np.bool_)
        new[near[near >= 0]] = True
        edge = np.flatnonzero(new & ~seen)
    return seen


def _chunks(shape: Topology, states: Ints) -> list[Ints]:
    """Splits states into chunks whose backoff states have a bounded number of arcs."""
    sizes = np.cumsum(np.diff(shape.starts)[shape.backoff[states]])
    return (
        np.split(states, np.searchsorted(sizes, np.arange(_CHUNK, sizes[-1], _CHUNK))) if len(states) else []
    )


def _directly(shape: Topology, w: Floats, states: Ints) -> Floats:
    """Returns Σ_{x∈L[q′]∖L[q]} w_{q′}[x], summed term by term: accurate where q covers almost all of q′."""
    which, arcs = shape.arcs_of(shape.backoff[states])
    free = shape.arc(states[which], shape.labels[arcs]) < 0
    return np.asarray(np.bincount(which[free], w[arcs[free]], minlength=len(states)), np.float64)
