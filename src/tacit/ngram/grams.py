"""Lists the n-grams of an automaton, from which the file formats are written.

An automaton has states and arcs; a file lists n-grams. In an n-gram automaton the arc w of the state h leads to the
state of the history "h w", so a walk from the empty history upwards, one order at a time, finds the words of every
state. The result is a trie with the arc and the state of each row; `from_trie` turns it back into the same automaton.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError
from tacit.ngram.automaton import NOWHERE, Topology
from tacit.ngram.trie import Trie
from tacit.text.vocabulary import BOS, EOS, Vocabulary


class Grams(NamedTuple):
    """The n-grams of an automaton. Item n of each tuple is for order n; item 0 is the empty history."""

    trie: Trie
    arcs: tuple[Ints, ...]  # [grams] the arc of each row; −1 for `<s>` and the empty history
    states: tuple[Ints, ...]  # [grams] the state whose history is the row; −1 where nothing follows it


def grams(shape: Topology, ids: Ints | None = None) -> Grams:
    """Returns the n-grams of a topology with one root; `ids` [V] renumbers words, but not `<s>` and `</s>`.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> listed = grams(from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4)))
    >>> listed.trie.keys[2].tolist(), listed.arcs[2].tolist(), listed.states[1].tolist()
    ([3, 13], [3, 4], [1, -1, -1, 2])
    """
    v, depth = shape.vocabulary, shape.depth
    ids = np.arange(v) if ids is None else ids
    roots = np.flatnonzero(shape.backoff < 0)
    if len(roots) != 1:
        raise TacitError(
            f"the automaton has {len(roots)} roots; only an n-gram model, which has one, can be written"
        )
    if depth[shape.initial] and (depth[shape.initial] > 1 or (shape.targets == shape.initial).any()):
        raise TacitError(
            f"state {shape.initial} starts sentences but is not the history <s>; this is not an n-gram model"
        )
    lacking = np.flatnonzero((shape.below < 0) & (shape.backoff[shape.owners] >= 0))
    if len(lacking):
        at = lacking[0]
        raise TacitError(
            f"{name(shape, int(shape.owners[at]))}: its arc for word {shape.labels[at]} is missing at its backoff "
            "state; complete the topology first"
        )
    row = np.full(len(shape), -1, np.int64)  # [states] row of the history at the level of its length
    row[roots] = 0
    place = np.zeros(len(shape.labels), np.int64)  # [arcs] row of the arc at its level
    empty = np.zeros(1, np.int64)
    keys, suffix, arcs, states = [empty], [empty], [empty - 1], [roots]
    reached = roots  # the state of each row, or of its longest suffix that is a state
    by_level = np.argsort(depth[shape.owners], kind="stable")
    ends = np.searchsorted(depth[shape.owners][by_level], np.arange(depth.max() + 2))
    for n in range(1, len(ends)):
        arc = by_level[ends[n - 1] : ends[n]]
        key = row[shape.owners[arc]] * v + ids[shape.labels[arc]]
        by = np.argsort(key)
        key, arc = key[by], arc[by]
        if n == 1:
            if not np.array_equal(key, np.arange(1, v)):
                raise TacitError(
                    f"the root lacks an arc for one of its {v - 1} words; every word needs a unigram"
                )
            key, arc = np.arange(v), np.concatenate([[-1], arc])
        place[arc[arc >= 0]] = np.flatnonzero(arc >= 0)
        target = np.where(arc >= 0, shape.targets[arc], shape.initial)
        state = np.where((target >= 0) & (depth[target] == n), target, -1)
        row[state[state >= 0]] = np.flatnonzero(state >= 0)
        below = np.zeros(v, np.int64) if n == 1 else place[shape.below[arc]]
        lower = reached[below]
        reached = np.where(state >= 0, state, lower)
        _check(shape, n, arc, state, row, reached, lower)
        keys.append(key)
        suffix.append(below)
        arcs.append(arc)
        states.append(state)
    top = n if len(keys[n]) else n - 1  # the longest histories may have no arcs
    return Grams(
        Trie(v, tuple(keys[: top + 1]), tuple(suffix[: top + 1])),
        tuple(arcs[: top + 1]),
        tuple(states[: top + 1]),
    )


def words(trie: Trie, n: int) -> Ints:
    """Returns the words of every row of level n, [grams, n].

    >>> from tacit.ngram.trie import of_words
    >>> words(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4), 2).tolist()
    [[0, 3], [3, 1]]
    """
    if n == 0:
        return np.zeros((1, 0), np.int64)
    history, word = np.divmod(trie.keys[n], trie.vocabulary)
    return np.column_stack([words(trie, n - 1)[history], word])


def history(shape: Topology, state: int) -> list[int]:
    """Returns the words that a state of any automaton remembers, oldest first, from the arcs that lead to it.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> history(from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4)), state=2)
    [3]
    """
    ids: list[int] = []
    for _ in range(int(shape.depth[state])):
        into = np.flatnonzero(shape.targets == state)
        if state == shape.initial or not len(into):
            return [BOS, *ids] if state == shape.initial else ids
        arc = into[np.argmin(shape.depth[shape.owners[into]])]  # from the shortest history
        ids.insert(0, int(shape.labels[arc]))
        state = int(shape.owners[arc])
    return ids


def name(shape: Topology, state: int, vocabulary: Vocabulary | None = None) -> str:
    """Describes a state for an error message: its number and its history, in words if the vocabulary is given."""
    ids = history(shape, state)
    if not ids:
        return f"state {state} (no history)"
    spelt = (vocabulary.words[i] if vocabulary else str(i) for i in ids)
    return f"state {state} (after '{' '.join(spelt)}')"


def _check(shape: Topology, n: int, arc: Ints, state: Ints, row: Ints, reached: Ints, lower: Ints) -> None:
    """Checks that arcs of level n lead to the longest known history, and that one arc leads to each new state."""
    complaint = "not an n-gram model, so it cannot be written as one"
    lost = np.flatnonzero((shape.depth == n) & (row < 0))
    if len(lost):
        raise TacitError(
            f"{name(shape, int(lost[0]))} is not reached by an arc of a state one word shorter: {complaint}"
        )
    twice = row[state] != np.arange(len(state))
    wrong = np.flatnonzero((state >= 0) & (twice | (shape.backoff[state] != lower)))
    if len(wrong):
        raise TacitError(
            f"{name(shape, int(state[wrong[0]]))} has two histories or the wrong backoff state: {complaint}"
        )
    expected = np.where(shape.labels[arc] == EOS, NOWHERE, reached)
    wrong = np.flatnonzero((arc >= 0) & (shape.targets[arc] != expected))
    if len(wrong):
        at = arc[wrong[0]]
        raise TacitError(
            f"{name(shape, int(shape.owners[at]))}: its arc for word {shape.labels[at]} does not lead to the longest "
            f"history that is a state: {complaint}"
        )
