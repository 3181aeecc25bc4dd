"""A backoff n-gram model as a weighted automaton in flat arrays.

A state is the part of the context that the model remembers; in an n-gram model, a history. Its arcs are the words
with an explicit weight, in ascending order of their ids. The end of a sentence (`</s>`, 1) is an arc like the others,
but has no target (−1). For every other word the state uses its backoff state (the failure arc φ), which forgets the
oldest word:

    p(x | q) = w_q[x]                          if q has an arc for x
             = w_q[φ] · p(x | backoff(q))      otherwise

A state without backoff (−1) is a root. An n-gram model has one root, the empty history; an automaton over word-pieces
has one for each possible beginning of a word. `<s>` (0) labels no arc: a sentence starts in the state `initial`.

A topology is an automaton without weights. It is backoff-complete if every label of a state is also a label of its
backoff state; all functions here require that. Weights are natural logarithms in float64.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.ngram.kneser_ney import KneserNey
from tacit.ngram.trie import Trie
from tacit.text.flat import cells, ends
from tacit.text.vocabulary import BOS, EOS

NOWHERE = -1


@dataclass(frozen=True)
class Topology:
    """States and arcs. The arcs of state q are `starts[q]:starts[q + 1]`, by ascending label."""

    vocabulary: int  # V; labels are below V
    starts: Ints  # [states + 1]
    labels: Ints  # [arcs]
    targets: Ints  # [arcs] the state an arc leads to; −1 at the end of a sentence
    backoff: Ints  # [states] −1 at a root
    initial: int  # the state where a sentence starts

    def __len__(self) -> int:
        """Returns the number of states."""
        return len(self.backoff)

    @cached_property
    def owners(self) -> Ints:
        """Returns the state that each arc leaves, [arcs]."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def keys(self) -> Ints:
        """Returns state · V + label of every arc, [arcs] ascending: one binary search finds an arc."""
        return self.owners * self.vocabulary + self.labels

    @cached_property
    def below(self) -> Ints:
        """Returns the arc with the same label at the backoff state, [arcs]; −1 at roots, or where it is missing."""
        back = self.backoff[self.owners]
        return np.where(back >= 0, self.arc(np.maximum(back, 0), self.labels), -1)

    @cached_property
    def depth(self) -> Ints:
        """Returns the number of failure arcs between each state and its root, [states]."""
        depth, at = np.zeros(len(self), np.int64), self.backoff
        while (at >= 0).any():
            depth += at >= 0
            at = np.where(at >= 0, self.backoff[np.maximum(at, 0)], -1)
        return depth

    def arc(self, states: Ints, labels: Ints) -> Ints:
        """Returns the arc of each label at its state, −1 where there is none."""
        wanted = states * self.vocabulary + labels
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, at, -1)

    def arcs_of(self, states: Ints) -> tuple[Ints, Ints]:
        """Returns the arcs of these states, one state after another: the index into `states`, and the arc."""
        first = self.starts[states]
        sizes = self.starts[states + 1] - first
        return np.repeat(np.arange(len(states)), sizes), cells(first, sizes)

    def reading(self, states: Ints, labels: Ints) -> tuple[Ints, Ints]:
        """Returns q[x] for each label: the first state on the backoff path that has it, and the arc.

        Both are −1 where no state on the path has it.
        """
        states = np.array(states, np.int64)
        arcs = self.arc(states, labels)
        todo = np.flatnonzero(arcs < 0)
        while len(todo):
            states[todo] = self.backoff[states[todo]]
            todo = todo[states[todo] >= 0]
            arcs[todo] = self.arc(states[todo], labels[todo])
            todo = todo[arcs[todo] < 0]
        return np.where(arcs >= 0, states, -1), arcs

    def states_along(self, tokens: Ints, offsets: Ints) -> Ints:
        """Returns the state before each token of concatenated sentences `<s> … </s>`, [tokens]; −1 at `<s>`."""
        states = np.full(len(tokens), -1, np.int64)
        lengths = np.diff(offsets)
        by = np.argsort(-lengths, kind="stable")
        now = np.full(len(lengths), self.initial, np.int64)
        for i in range(1, int(lengths.max(initial=1))):
            by = by[: np.searchsorted(-lengths[by], -i, side="left")]  # sentences that have an i-th token
            at = offsets[by] + i
            states[at] = now[by]
            arcs = self.reading(now[by], tokens[at])[1]
            if (arcs < 0).any():
                raise TacitError(
                    f"word {tokens[at[np.argmin(arcs)]]} has no arc at any root of this automaton"
                )
            now[by] = np.maximum(self.targets[arcs], 0)
        return states


@dataclass(frozen=True)
class Automaton:
    """A topology with weights."""

    topology: Topology
    log_p: Floats  # [arcs] log w_q[x]
    log_backoff: Floats  # [states] log w_q[φ]; 0 at roots


def log_probs(model: Automaton, states: Ints, labels: Ints) -> Floats:
    """Returns log p(x | q) for each pair; −inf where no state on the backoff path has the label."""
    shape = model.topology
    states, log_p = np.array(states, np.int64), np.zeros(len(states))
    arcs = shape.arc(states, labels)
    todo = np.flatnonzero(arcs < 0)
    while len(todo):
        log_p[todo] += model.log_backoff[states[todo]]
        states[todo] = shape.backoff[states[todo]]
        log_p[todo[states[todo] < 0]] = -np.inf
        todo = todo[states[todo] >= 0]
        arcs[todo] = shape.arc(states[todo], labels[todo])
        todo = todo[arcs[todo] < 0]
    return np.where(arcs >= 0, log_p + model.log_p[arcs], log_p)


def distribution(model: Automaton, state: int) -> Floats:
    """Returns p(x | state) for every label, [V], arc by arc: a slow reference for the other functions."""
    p, factor, shape = np.zeros(model.topology.vocabulary), 1.0, model.topology
    seen = np.zeros(len(p), np.bool_)
    while state >= 0:
        arcs = slice(shape.starts[state], shape.starts[state + 1])
        label = shape.labels[arcs]
        new = ~seen[label]
        p[label[new]] = factor * np.exp(model.log_p[arcs][new])
        seen[label] = True
        factor *= np.exp(model.log_backoff[state])
        state = int(shape.backoff[state])
    return p


def distributions(model: Automaton, states: Ints) -> Floats:
    """Returns p(x | q) for every label of each of these states, [states, V]: a vectorised `distribution`."""
    shape, n = model.topology, len(states)
    # The backoff paths, padded with their roots.
    chain, factors = [np.asarray(states, np.int64)], [np.ones(n)]
    while (on := shape.backoff[chain[-1]] >= 0).any():
        factors.append(np.where(on, factors[-1] * np.exp(model.log_backoff[chain[-1]]), factors[-1]))
        chain.append(np.where(on, shape.backoff[chain[-1]], chain[-1]))

    roots, which = np.unique(chain[-1], return_inverse=True)
    row, arcs = shape.arcs_of(roots)
    dense = np.zeros((len(roots), shape.vocabulary))
    dense[row, shape.labels[arcs]] = np.exp(model.log_p[arcs])
    p = factors[-1][:, None] * (dense if len(roots) == 1 else dense[which])  # [states, V]
    for at, factor in zip(chain[-2::-1], factors[-2::-1], strict=True):  # longer histories come last
        inner = np.flatnonzero(shape.backoff[at] >= 0)
        row, arcs = shape.arcs_of(at[inner])
        p[inner[row], shape.labels[arcs]] = factor[inner[row]] * np.exp(model.log_p[arcs])
    return p


def from_trie(trie: Trie) -> Topology:
    """Returns the topology of a set of n-grams: its states are the histories with a next word, by length, then row.

    Its arcs are the trie's rows in their order, without `<s>`: arc weights are the levels' weights, concatenated.

    >>> from tacit.ngram.trie import of_words
    >>> pairs = from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4))
    >>> len(pairs), pairs.initial, pairs.backoff.tolist(), pairs.labels.tolist(), pairs.targets.tolist()
    (3, 1, [-1, 0, 0], [1, 2, 3, 3, 1], [-1, 0, 2, 2, -1])
    """
    v = trie.vocabulary
    # Per level: the state of each row, or of its longest suffix that is a state.
    state_of = [np.zeros(1, np.int64)]
    backoff, counts, labels, targets = [np.full(1, NOWHERE)], [np.array([v - 1])], [], []
    for n in range(1, trie.order + 1):
        follow = np.diff(trie.starts(n))
        lower = state_of[n - 1][trie.suffix[n]]
        is_state = follow > 0
        here = np.where(is_state, sum(map(len, backoff)) + np.cumsum(is_state) - 1, lower)
        state_of.append(here)
        backoff.append(lower[is_state])
        counts.append(follow[is_state])
        read = slice(1, None) if n == 1 else slice(None)  # `<s>` is never read
        labels.append(trie.keys[n][read] % v)
        targets.append(np.where(labels[-1] == EOS, NOWHERE, here[read]))
    return Topology(
        vocabulary=v,
        starts=ends(np.concatenate(counts)),
        labels=np.concatenate(labels),
        targets=np.concatenate(targets),
        backoff=np.concatenate(backoff),
        initial=int(state_of[1][BOS]),
    )


def from_kneser_ney(model: KneserNey) -> Automaton:
    """Returns a Kneser-Ney model as an automaton with the same probabilities."""
    trie = Trie(
        model.vocabulary,
        tuple(level.keys for level in model.levels),
        tuple(level.suffix for level in model.levels),
    )
    p = [level.probability for level in model.levels[1:]]
    states = [level.backoff[np.diff(level.starts) > 0] for level in model.levels[1:-1]]
    return Automaton(
        from_trie(trie),
        np.log(np.concatenate([p[0][1:], *p[1:]])),
        np.log(np.concatenate([[1.0], *states])),
    )
