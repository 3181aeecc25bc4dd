"""Composes a topology over words with a lexicon, B = M ∘ A (paper 4, section 6), and reads pieces with it.

A state of B is a pair (q1, q2): the beginning of a word (a state of the lexicon M) after a history (a state of A).
With R[q1] the words that can still be written from q1, a piece x of M at q1 is an arc of (q1, q2)
1. to (d_{q1}[x], d_{q2}[y]) if it writes a word y that q2 has an arc for;
2. to (d_{q1}[x], q2) if it writes nothing and R[d_{q1}[x]] ∩ L[q2] ≠ ∅: some word of q2 continues that way;
and (q1, q2) backs off to (q1, q2′) where q2 backs off to q2′. (The paper has "φ ∈ L[q1]" there, but M has no φ.)

In other words, the arcs of B are the pieces of the words of A's arcs, shared by words with a common prefix after the
same history; they are computed that way here, by a few sorts instead of a search. B is deterministic, and
backoff-complete if A is. It has a root for every state of M at every root of A.

A network over pieces also writes words outside A. Such a word is read as `<unk>`: from the first piece that no word
has, a position has no state (−1) until the word ends. `tacit.distillation.word_counts` maps counts on B to A.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.base.arrays import Bools, Ints
from tacit.base.errors import TacitError
from tacit.distillation.lexicon import PieceLexicon
from tacit.ngram.automaton import NOWHERE, Topology
from tacit.text.flat import cells, ends
from tacit.text.vocabulary import UNK


@dataclass(frozen=True)
class Composed:
    """B, and how its states and arcs map to those of A."""

    topology: Topology  # over pieces
    words: Topology  # A
    first: Ints  # [states of B] q1, the state of M
    second: Ints  # [states of B] q2, the state of A
    start: Ints  # [states of A] the state (0, q) of B
    path_starts: (
        Ints  # [arcs of A + 1] the word of arc i is spelt by paths[path_starts[i]:path_starts[i + 1]]
    )
    paths: Ints  # arcs of B; a word without pieces has none

    @cached_property
    def emits(self) -> Ints:
        """The arc of B that writes the word of each arc of A, [arcs of A]; −1 for a word without pieces."""
        spelt = np.diff(self.path_starts) > 0
        arcs = np.full(len(spelt), NOWHERE, np.int64)
        arcs[spelt] = self.paths[self.path_starts[1:][spelt] - 1]
        return arcs


@dataclass(frozen=True)
class Walk:
    """Sentences of pieces on their way through B."""

    states: Ints  # [tokens] the state before each; −1 at `<s>` and inside a word that A does not have
    history: Ints  # [tokens] the state of A before the word that the token belongs to


def compose(lexicon: PieceLexicon, words: Topology) -> Composed:
    """Composes B = M ∘ A.

    >>> from tacit.ngram.automaton import from_trie
    >>> from tacit.distillation.lexicon import of_segments
    >>> from tacit.ngram.trie import of_words
    >>> a = from_trie(of_words([np.array([[0, 3], [3, 4]])], vocabulary=5))  # after `<s>` ab; after ab ac
    >>> m = of_segments([[], [1], [2], [3, 4], [3, 5]], pieces=6)
    >>> b = compose(m, a)
    >>> list(zip(b.first.tolist(), b.second.tolist()))
    [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2)]
    >>> b.topology.labels.tolist()
    [1, 2, 3, 4, 5, 3, 4, 3, 5]
    """
    if lexicon.words != words.vocabulary:
        raise TacitError(
            f"the lexicon has {lexicon.words} words and the topology {words.vocabulary}; make both from one vocabulary"
        )
    many = np.diff(lexicon.path_starts)[words.labels]  # [arcs of A] pieces of its word
    arc = np.repeat(np.arange(len(words.labels)), many)  # [pieces] the arc of A
    step = lexicon.paths[cells(lexicon.path_starts[words.labels], many)]  # [pieces] the arc of M
    width = len(lexicon)
    source = words.owners[arc] * width + lexicon.owners[step]
    pairs = np.union1d(np.arange(len(words)) * width, source)  # q2-major: states (0, q) before (…, q)
    keys, one, inverse = np.unique(
        np.searchsorted(pairs, source) * lexicon.pieces + lexicon.labels[step],
        return_index=True,
        return_inverse=True,
    )
    arc, step = arc[one], step[one]  # [arcs of B] an arc of A and one of M that made it
    writes = lexicon.outputs[step] >= 0
    after = np.where(writes, words.targets[arc], words.owners[arc])
    target = np.searchsorted(pairs, after * width + np.where(writes, 0, lexicon.targets[step]))
    first, second = pairs % width, pairs // width
    back = words.backoff[second]
    backoff = np.searchsorted(pairs, np.maximum(back, 0) * width + first)
    missing = (back >= 0) & (pairs[np.minimum(backoff, len(pairs) - 1)] != back * width + first)
    if missing.any():
        state = int(second[np.argmax(missing)])
        raise TacitError(
            f"state {state} has a word that its backoff state {words.backoff[state]} lacks; "
            "a topology must be backoff-complete"
        )
    start = np.searchsorted(pairs, np.arange(len(words)) * width)
    topology = Topology(
        vocabulary=lexicon.pieces,
        starts=np.searchsorted(keys, np.arange(len(pairs) + 1) * lexicon.pieces),
        labels=keys % lexicon.pieces,
        targets=np.where(after < 0, NOWHERE, target),
        backoff=np.where(back < 0, NOWHERE, backoff),
        initial=int(start[words.initial]),
    )
    return Composed(topology, words, first, second, start, ends(many), inverse)


def walk(composed: Composed, tokens: Ints, offsets: Ints, last: Bools) -> Walk:
    """Reads sentences of pieces `<s> … </s>`; `last` [pieces] says after which pieces a word ends.

    All sentences go at once, one piece at a time.
    """
    b, a = composed.topology, composed.words
    states, before = np.full(len(tokens), -1, np.int64), np.full(len(tokens), -1, np.int64)
    lengths = np.diff(offsets)
    by = np.argsort(-lengths, kind="stable")
    now = np.full(len(lengths), b.initial, np.int64)  # [sentences] state of B, −1 inside an unknown word
    history = np.full(len(lengths), a.initial, np.int64)  # [sentences] state of A before the word
    for i in range(1, int(lengths.max(initial=1))):
        by = by[: np.searchsorted(-lengths[by], -i, side="left")]  # sentences that have an i-th token
        at = offsets[by] + i
        piece = np.asarray(tokens[at], np.int64)
        states[at], before[at] = now[by], history[by]
        arc = np.full(len(by), -1, np.int64)
        on = now[by] >= 0
        arc[on] = b.reading(now[by][on], piece[on])[1]
        now[by] = np.where(arc >= 0, b.targets[arc], -1)
        lost = by[(arc < 0) & last[piece]]  # an unknown word is over
        read = a.reading(history[lost], np.full(len(lost), UNK))[1]
        if (read < 0).any():
            raise TacitError("the automaton has no arc for <unk>, which words outside it are read as")
        now[lost] = composed.start[a.targets[read]]
        over = by[last[piece] & (now[by] >= 0)]
        history[over] = composed.second[now[over]]
    return Walk(states, before)
