"""Is an automaton a language model? What every topology and every weighted automaton here must hold.

- Arcs lie by state, in ascending order of their labels; labels, targets and backoff states exist; `</s>` leads
  nowhere and no other label does; failure arcs end at a root.
- It is backoff-complete: every label of a state is one of its backoff state's too.
- Every state can be reached from where a sentence starts.
- With weights: the probabilities of all words sum to one at every state. With q′ the backoff state of q,

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

_CLOSE = 1e-3  # a difference of sums that is this small beside them is summed directly instead
_CHUNK = 1 << 22  # arcs looked at together, to bound memory


class Problem(NamedTuple):
    """What does not hold, and where: at how many states, and the first of them (−1: nowhere in particular)."""

    what: str
    state: int
    states: int


class Facts(NamedTuple):
    """What `check` found. It is valid if there is no problem."""

    states: int
    arcs: int
    off: float  # the largest |Σ p − 1| of a state; 0 for a topology
    problems: tuple[Problem, ...]


def check(model: Automaton | Topology, tolerance: float = 1e-9) -> Facts:
    """What is wrong with an automaton or a topology, in the order in which it should be put right.

    >>> from tacit.ngram.automaton import from_kneser_ney
    >>> from tacit.ngram.kneser_ney import fit
    >>> facts = check(from_kneser_ney(fit([0, 3, 1], [0, 3], vocabulary=4, order=2)))
    >>> facts.states, facts.arcs, facts.problems
    (3, 5, ())
    """
    shape = model.topology if isinstance(model, Automaton) else model
    states, arcs = len(shape.backoff), len(shape.labels)
    problems = _layout(shape)
    if not problems:  # the rest cannot be asked of arrays that do not fit together
        problems = [_at("not reachable", ~_reachable(shape))]
        missing = (shape.below < 0) & (shape.backoff[shape.owners] >= 0)
        problems.append(_at("not backoff-complete", _states(shape, missing)))
    problems = [p for p in problems if p.states]
    off = 0.0
    if isinstance(model, Automaton) and not [p for p in problems if p.what != "not reachable"]:
        if len(model.log_p) != arcs or len(model.log_backoff) != states:
            problems.append(Problem("not as many weights as arcs and states", -1, 1))
        else:
            wrong = np.abs(sums(model) - 1)
            off = float(wrong.max())
            problems.append(_at("probabilities do not sum to one", ~(wrong <= tolerance)))
    return Facts(states, arcs, off, tuple(p for p in problems if p.states))


def require(
    model: Automaton | Topology, vocabulary: Vocabulary | None = None, tolerance: float = 1e-9
) -> Facts:
    """`check`, and an error that names the state if anything is wrong.

    >>> uniform = Topology(3, np.array([0, 2]), np.array([1, 2]), np.array([-1, 0]), np.array([-1]), initial=0)
    >>> require(Automaton(uniform, np.log([0.5, 0.6]), np.zeros(1)))
    Traceback (most recent call last):
        ...
    tacit.base.errors.TacitError: the automaton is no language model: state 0 (no history): probabilities do not sum \
to one (off by 1.0e-01 at most); build it again
    """
    facts = check(model, tolerance)
    for what, state, count in facts.problems:
        shape = model.topology if isinstance(model, Automaton) else model
        broken = state < 0 or bool(_layout(shape))
        where = ("" if state < 0 else f"state {state}: ") if broken else f"{name(shape, state, vocabulary)}: "
        more = f", and at {count - 1:,} more" if count > 1 else ""
        amount = f" (off by {facts.off:.1e} at most)" if facts.off > tolerance else ""
        raise TacitError(f"the automaton is no language model: {where}{what}{amount}{more}; build it again")
    return facts


def sums(model: Automaton) -> Floats:
    """Σ_x p(x | q) of every state, [states], of a backoff-complete automaton."""
    shape = model.topology
    own, rest = shares(model)
    phi = np.where(shape.backoff < 0, 0.0, np.exp(model.log_backoff))
    for d in range(2, int(shape.depth.max(initial=0)) + 1):  # until it is r(q)
        here = np.flatnonzero(shape.depth == d)
        back = shape.backoff[here]
        rest[here] += phi[back] * rest[back]
    return own + phi * rest


def shares(model: Automaton) -> tuple[Floats, Floats]:
    """Of every state: Σ_{x∈L[q]} w_q[x], and Σ_{x∈L[q′]∖L[q]} w_{q′}[x], 0 at a root; both [states]."""
    shape, w = model.topology, np.exp(model.log_p)
    own = _add(shape, w)
    at_root = shape.backoff < 0
    taken = _add(shape, np.where(shape.below >= 0, w[shape.below], 0.0))
    left = np.where(at_root, 0.0, own[shape.backoff] - taken)
    for some in _chunks(shape, np.flatnonzero(~at_root & (left < _CLOSE * own[shape.backoff]))):
        left[some] = _directly(shape, w, some)
    return own, left


def complete(shape: Topology) -> Topology:
    """An n-gram topology with the arcs that its backoff states lack, from the longest histories downwards.

    A new arc leads where the one that needs it leads, less the words its own state does not remember.

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
        mine = np.flatnonzero(depth[keys // v] == d)
        wanted, first = np.unique(back[keys[mine] // v] * v + keys[mine] % v, return_index=True)
        new = np.isin(wanted, keys, invert=True, assume_unique=True)
        target = targets[mine[first[new]]]
        while (far := (target >= 0) & (depth[target] > d)).any():
            target = np.where(far, back[target], target)
        merged = np.concatenate([keys, wanted[new]])
        by = np.argsort(merged, kind="stable")
        keys, targets = merged[by], np.concatenate([targets, target])[by]
    starts = np.searchsorted(keys, np.arange(len(shape) + 1) * v)
    return Topology(v, starts, keys % v, targets, back, shape.initial)


def _layout(shape: Topology) -> list[Problem]:
    """Problems of the arrays themselves; while there are any, nothing else can be asked."""
    states, arcs, back = len(shape.backoff), len(shape.labels), shape.backoff
    lengths = np.diff(shape.starts)
    if len(lengths) != states or not states or len(shape.targets) != arcs:
        return [Problem("arrays do not have one length for states and one for arcs", -1, 1)]
    if shape.starts[0] != 0 or shape.starts[-1] != arcs or (lengths < 0).any():
        return [Problem("arcs do not lie one state after the other", -1, 1)]
    found = []
    if not 0 <= shape.initial < states:
        found.append(Problem("sentences start at a state that does not exist", shape.initial, 1))
    labels, targets = shape.labels, shape.targets
    found.append(_at("backoff state does not exist", (back < NOWHERE) | (back >= states)))
    found.append(
        _at(
            "label outside the vocabulary, or <s>",
            _states(shape, (labels <= BOS) | (labels >= shape.vocabulary)),
        )
    )
    unsorted = np.zeros(arcs, np.bool_)
    unsorted[1:] = (np.diff(labels) <= 0) & (np.diff(shape.owners) == 0)
    found.append(_at("arcs not in ascending order of their labels", _states(shape, unsorted)))
    found.append(
        _at("arc to a state that does not exist", _states(shape, (targets < NOWHERE) | (targets >= states)))
    )
    ends = (labels == EOS) != (targets == NOWHERE)
    found.append(
        _at("an arc leads nowhere without being </s>, or </s> leads somewhere", _states(shape, ends))
    )
    found = [p for p in found if p.states]
    if not found:
        above = back  # after i doublings: 2^i failure arcs on
        for _ in range(states.bit_length()):
            above = np.where(above >= 0, above[above], -1)
        found = [p for p in [_at("failure arcs run in a circle", above >= 0)] if p.states]
    return found


def _at(what: str, bad: np.ndarray) -> Problem:
    """A problem from a mask of states, [states]."""
    count = int(bad.sum())
    return Problem(what, int(np.argmax(bad)) if count else -1, count)


def _states(shape: Topology, arcs: np.ndarray) -> np.ndarray:
    """The states that have an arc of this mask, [states]."""
    bad = np.zeros(len(shape), np.bool_)
    bad[shape.owners[arcs]] = True
    return bad


def _add(shape: Topology, values: Floats) -> Floats:
    """Sums over the arcs of each state, [states]."""
    return np.asarray(np.bincount(shape.owners, values, minlength=len(shape)), np.float64)


def _reachable(shape: Topology) -> np.ndarray:
    """Which states a sentence can come to, failure arcs included, [states]."""
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
    """These states, cut so that their backoff states' arcs are not too many together."""
    sizes = np.cumsum(np.diff(shape.starts)[shape.backoff[states]])
    return (
        np.split(states, np.searchsorted(sizes, np.arange(_CHUNK, sizes[-1], _CHUNK))) if len(states) else []
    )


def _directly(shape: Topology, w: Floats, states: Ints) -> Floats:
    """Σ_{x∈L[q′]∖L[q]} w_{q′}[x], term by term: exact where almost all of q′ is taken."""
    which, arcs = shape.arcs_of(shape.backoff[states])
    free = shape.arc(states[which], shape.labels[arcs]) < 0
    return np.asarray(np.bincount(which[free], w[arcs[free]], minlength=len(states)), np.float64)
