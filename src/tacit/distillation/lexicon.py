"""Builds the lexicon M, a transducer that reads pieces and writes words (paper 4, section 6, Figure 4 b).

A state is the beginning of a word, the pieces read of it so far; state 0 is the start. A word y is written on its
last piece x_y, which leads back to the start; all other pieces write nothing (ε). No word's pieces begin another's
(`tacit.text.pieces`), so every piece leads to one state only, and every word is written at one place only:

    for every word y one state q_y and one piece x_y with o_{q_y}[x_y] = y.

No two states write the same words later, so none can be merged: this tree, folded back to its root, is minimal among
the transducers that write a word with its last piece. `</s>` is read at the start and ends the sentence; `<unk>` is
both a piece and a word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tacit.base.arrays import Bools, Ints
from tacit.base.errors import TacitError
from tacit.text.flat import ends
from tacit.text.pieces import Pieces
from tacit.text.vocabulary import BOS, EOS, UNK, Vocabulary

NOTHING = -1  # no output (ε), or no arc


@dataclass(frozen=True)
class PieceLexicon:
    """States and arcs; the arcs of state q are `starts[q]:starts[q + 1]`, by ascending piece."""

    pieces: int  # labels are below it
    words: int  # outputs are below it
    starts: Ints  # [states + 1]
    labels: Ints  # [arcs] pieces
    targets: Ints  # [arcs] states; −1 after `</s>`
    outputs: Ints  # [arcs] words; −1: nothing
    path_starts: Ints  # [words + 1] the arcs that spell word y are paths[path_starts[y]:path_starts[y + 1]]
    paths: Ints  # arcs

    def __len__(self) -> int:
        """How many states there are."""
        return len(self.starts) - 1

    @cached_property
    def owners(self) -> Ints:
        """The state each arc leaves, [arcs]."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def keys(self) -> Ints:
        """state · P + piece of every arc, [arcs] ascending."""
        return self.owners * self.pieces + self.labels

    @cached_property
    def emits(self) -> Ints:
        """The arc on which each word is written, (q_y, x_y), [words]; −1 for a word that has no pieces."""
        arcs = np.full(self.words, NOTHING, np.int64)
        writes = self.outputs >= 0
        arcs[self.outputs[writes]] = np.flatnonzero(writes)
        return arcs

    def arc(self, states: Ints, pieces: Ints) -> Ints:
        """The arc of each piece at its state, −1 where there is none (or the state is −1)."""
        wanted = np.where(states >= 0, states * self.pieces + pieces, -1)
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return np.where(self.keys[at] == wanted, at, NOTHING)


def of_segments(segments: Sequence[Sequence[int]], pieces: int) -> PieceLexicon:
    """Returns the lexicon of words by their pieces: `segments[y]` spells word y; empty if it cannot be spelt.

    >>> m = of_segments([[], [], [], [3, 4], [3, 5]], pieces=6)  # ab and ac, of a, b, c
    >>> len(m), m.labels.tolist(), m.targets.tolist(), m.outputs.tolist()
    (2, [3, 4, 5], [1, 0, 0], [-1, 3, 4])
    """
    sizes = np.array([len(s) for s in segments], np.int64)
    path_starts = ends(sizes)
    flat = np.array([piece for s in segments for piece in s], np.int64)
    state = np.zeros(len(sizes), np.int64)  # [words] after the pieces read so far
    states, count = 1, 0
    rows: list[tuple[Ints, Ints, Ints]] = []  # per depth: keys, targets, outputs
    path_keys = np.zeros(len(flat), np.int64)
    for depth in range(int(sizes.max(initial=0))):
        on = np.flatnonzero(sizes > depth)
        key = state[on] * pieces + flat[path_starts[on] + depth]
        path_keys[path_starts[on] + depth] = key
        unique, arc = np.unique(key, return_inverse=True)
        last = sizes[on] == depth + 1
        output = np.full(len(unique), NOTHING, np.int64)
        output[arc[last]] = on[last]
        clash = output[arc] != np.where(last, on, NOTHING)
        if clash.any():
            one = int(on[np.argmax(clash)])
            raise TacitError(
                f"the pieces of word {one} are also those of another word, or its beginning; use an inventory with the "
                "marker at the end of words"
            )
        inner = output < 0
        target = np.where(inner, states + np.cumsum(inner) - 1, 0)
        rows.append((unique, np.where(output == EOS, NOTHING, target), output))
        state[on] = target[arc]
        states, count = states + int(inner.sum()), count + len(unique)
    if not rows:
        raise TacitError("a lexicon needs words and none can be spelt; use an inventory made for these words")
    # keys ascend: so do states
    keys, targets, outputs = (np.concatenate(column) for column in zip(*rows, strict=True))
    starts = np.searchsorted(keys, np.arange(states + 1) * pieces)
    paths = np.searchsorted(keys, path_keys)
    return PieceLexicon(pieces, len(sizes), starts, keys % pieces, targets, outputs, path_starts, paths)


def lexicon(pieces: Pieces, words: Vocabulary) -> PieceLexicon:
    """Returns the lexicon of a vocabulary of words over an inventory of pieces."""
    segments = pieces.segment(words.words[UNK + 1 :])
    spelt = [() if s == (UNK,) else s for s in segments]
    return of_segments([(), (EOS,), (UNK,), *spelt], len(pieces))


def read_words(m: PieceLexicon, tokens: Ints, offsets: Ints, last: Bools) -> tuple[Ints, Ints]:
    """Returns sentences of pieces `<s> … </s>` as sentences of words, tokens and offsets; others become `<unk>`.

    `last` [pieces] says after which pieces a word ends; one that `</s>` cuts off is `<unk>`, too.

    >>> m = of_segments([[], [1], [2], [3, 4], [3, 5]], pieces=6)  # ab and ac, of a, b, c
    >>> last = np.array([True, True, True, False, True, True])
    >>> words, offsets = read_words(m, np.array([0, 3, 4, 3, 5, 1, 0, 4, 3, 1]), np.array([0, 6, 10]), last)
    >>> words.tolist(), offsets.tolist()
    ([0, 3, 4, 1, 0, 2, 2, 1], [0, 4, 8])
    """
    written = np.full((len(tokens), 2), NOTHING, np.int64)  # a word cut off before `</s>`, and a word
    written[offsets[:-1], 1] = BOS
    lengths = np.diff(offsets)
    by = np.argsort(-lengths, kind="stable")
    now = np.zeros(len(lengths), np.int64)  # [sentences] state of M, −1 inside an unknown word
    for i in range(1, int(lengths.max(initial=1))):
        by = by[: np.searchsorted(-lengths[by], -i, side="left")]  # sentences that have an i-th token
        at = offsets[by] + i
        piece = np.asarray(tokens[at], np.int64)
        arc = m.arc(now[by], piece)
        said = np.where(arc >= 0, m.outputs[arc], np.where(last[piece], UNK, NOTHING))
        written[at, 1] = np.where(piece == EOS, EOS, said)
        written[at, 0] = np.where((piece == EOS) & (arc < 0), UNK, NOTHING)
        now[by] = np.where(last[piece], 0, np.where(arc >= 0, m.targets[arc], NOTHING))
    many = (written >= 0).sum(axis=1)
    return written[written >= 0], ends(np.add.reduceat(many, offsets[:-1]) if len(lengths) else lengths)
