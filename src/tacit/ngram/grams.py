"""From the states of an n-gram automaton back to its n-grams: what files are written from.

An automaton knows states and arcs, a file lists n-grams. In an n-gram automaton the state of the history
"h w" is where the arc w of the state h leads, so a walk from the empty history upwards, one order at a time,
finds every state's words. The result is a trie whose rows know their arc and their state; `from_trie` of it is
the same automaton again.
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
    """Item n of each tuple is for order n; item 0 is the one empty history."""

    trie: Trie
    arcs: tuple[Ints, ...]  # [grams] the arc of each row; −1 for `<s>` and the empty history
    states: tuple[Ints, ...]  # [grams] the state whose history the row is; −1 where nothing follows it


def grams(shape: Topology, ids: Ints | None = None) -> Grams:
    """The n-grams of a topology with one root; `ids`, [V], gives words other ids, `<s>` and `</s>` keep theirs.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> found = grams(from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4)))
    >>> found.trie.keys[2].tolist(), found.arcs[2].tolist(), found.states[1].tolist()
    ([3, 13], [3, 4], [1, -1, -1, 2])
    """
    v, depth = shape.vocabulary, shape.depth
    ids = np.arange(v) if ids is None else ids
    roots = np.flatnonzero(shape.backoff < 0)
    if len(roots) != 1:
        raise TacitError(
            f"the automaton has {len(roots)} roots; only an n-gram model, with one, can be written"
        )
    if depth[shape.initial] and (depth[shape.initial] > 1 or (shape.targets == shape.initial).any()):
        raise TacitError(
            f"state {shape.initial} starts sentences but is not the history <s>: not an n-gram model"
        )
    lacking = np.flatnonzero((shape.below < 0) & (shape.backoff[shape.owners] >= 0))
    if len(lacking):
        at = lacking[0]
        raise TacitError(
            f"{name(shape, int(shape.owners[at]))}: its arc for word {shape.labels[at]} is missing at its backoff "
            "state; complete the topology first"
        )
    row = np.full(len(shape), -1, np.int64)  # [states] of its history, at the level of its length
    row[roots] = 0
    place = np.zeros(len(shape.labels), np.int64)  # [arcs] its row, at its level
    empty = np.zeros(1, np.int64)
    keys, suffix, arcs, states = [empty], [empty], [empty - 1], [roots]
    reached = roots  # the state of each row, or of its longest suffix that is one
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
        own = np.where((target >= 0) & (depth[target] == n), target, -1)
        row[own[own >= 0]] = np.flatnonzero(own >= 0)
        below = np.zeros(v, np.int64) if n == 1 else place[shape.below[arc]]
        lower = reached[below]
        reached = np.where(own >= 0, own, lower)
        _check(shape, n, arc, own, row, reached, lower)
        keys.append(key)
        suffix.append(below)
        arcs.append(arc)
        states.append(own)
    top = n if len(keys[n]) else n - 1  # the longest histories may all be without arcs
    return Grams(
        Trie(v, tuple(keys[: top + 1]), tuple(suffix[: top + 1])),
        tuple(arcs[: top + 1]),
        tuple(states[: top + 1]),
    )


def words(trie: Trie, n: int) -> Ints:
    """The words of every row of level n, [grams, n].

    >>> from tacit.ngram.trie import of_words
    >>> words(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4), 2).tolist()
    [[0, 3], [3, 1]]
    """
    if n == 0:
        return np.zeros((1, 0), np.int64)
    history, word = np.divmod(trie.keys[n], trie.vocabulary)
    return np.column_stack([words(trie, n - 1)[history], word])


def history(shape: Topology, state: int) -> list[int]:
    """The words that a state of any automaton remembers, oldest first, read off the arcs that lead to it.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.ngram.trie import of_words
    >>> history(from_trie(of_words([np.array([[0, 3], [3, 1]])], vocabulary=4)), state=2)
    [3]
    """
    found: list[int] = []
    for _ in range(int(shape.depth[state])):
        into = np.flatnonzero(shape.targets == state)
        if state == shape.initial or not len(into):
            return [BOS, *found] if state == shape.initial else found
        arc = into[np.argmin(shape.depth[shape.owners[into]])]  # the shortest way there
        found.insert(0, int(shape.labels[arc]))
        state = int(shape.owners[arc])
    return found


def name(shape: Topology, state: int, vocabulary: Vocabulary | None = None) -> str:
    """A state for people: its number and its history, in words where the vocabulary is given."""
    ids = history(shape, state)
    if not ids:
        return f"state {state} (no history)"
    spelt = (vocabulary.words[i] if vocabulary else str(i) for i in ids)
    return f"state {state} (after '{' '.join(spelt)}')"


def _check(shape: Topology, n: int, arc: Ints, own: Ints, row: Ints, reached: Ints, lower: Ints) -> None:
    """Arcs of level n must lead to the longest known history, and every state of that length must be met once."""
    complaint = "not an n-gram model, so it cannot be written as one"
    lost = np.flatnonzero((shape.depth == n) & (row < 0))
    if len(lost):
        raise TacitError(
            f"{name(shape, int(lost[0]))} is no n-gram of the state one word shorter: {complaint}"
        )
    wrong = np.flatnonzero((own >= 0) & ((row[own] != np.arange(len(own))) | (shape.backoff[own] != lower)))
    if len(wrong):
        raise TacitError(
            f"{name(shape, int(own[wrong[0]]))} is two histories, or backs off to another: {complaint}"
        )
    expected = np.where(shape.labels[arc] == EOS, NOWHERE, reached)
    wrong = np.flatnonzero((arc >= 0) & (shape.targets[arc] != expected))
    if len(wrong):
        at = arc[wrong[0]]
        raise TacitError(
            f"{name(shape, int(shape.owners[at]))}: its arc for word {shape.labels[at]} does not lead to the longest "
            f"history that is a state: {complaint}"
        )
