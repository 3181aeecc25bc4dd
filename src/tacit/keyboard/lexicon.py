"""The words that can be typed with the keys, as a trie: what the decoders search.

Words are sorted by their spelling. In a sorted list words that begin alike are neighbours, so the list is a trie
without being stored as one: word i adds one node for each letter after those it shares with word i − 1. Level d of the
trie holds the prefixes of d letters in that order; a node's children are a range of the next level. Where all words are
small letters of the layout, the order is that of the ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.keyboard.layout import APOSTROPHE, QWERTY, Layout, spell


class Level(NamedTuple):
    """The prefixes of one length."""

    letters: Ints  # [nodes] the key of the last letter
    children: Ints  # [nodes + 1] node n's are children[n] … children[n + 1] − 1 of the next level
    ends: Ints  # [words of this length] the node where each ends, ascending
    words: Ints  # [words of this length] their places in the lexicon


@dataclass(frozen=True)
class Lexicon:
    """Words that can be typed, by spelling."""

    layout: Layout
    ids: Ints  # [words] of the model
    spellings: tuple[str, ...]  # [words] ascending
    levels: tuple[Level, ...]  # item d for prefixes of d letters; item 0 is the root

    def __len__(self) -> int:
        return len(self.ids)


def build(words: Sequence[str], ids: Sequence[int], layout: Layout = QWERTY) -> Lexicon:
    """The lexicon of these words of a model; those that cannot be typed with the layout are left out.

    >>> found = build(["to", "7:30", "too", "don't"], [3, 4, 5, 6])
    >>> found.spellings, found.ids.tolist()
    (("don't", 'to', 'too'), [6, 3, 5])
    """
    number = {letter: i for i, letter in enumerate(layout.letters)}
    spelt = [(spell(word, layout.letters), i) for word, i in zip(words, ids, strict=True)]
    entries = sorted((keys, i) for keys, i in spelt if keys)
    longest = max((len(keys) for keys, _ in entries), default=0)
    table = np.full((len(entries), longest), -1, np.int64)  # [words, letters]
    for row, (keys, _) in enumerate(entries):
        table[row, : len(keys)] = [number[c] for c in keys]
    lengths = (table >= 0).sum(axis=1)
    differs = np.ones_like(table, np.bool_)
    differs[1:] = table[1:] != table[:-1]
    new = np.logical_or.accumulate(differs, axis=1)  # [words, letters] this prefix is not the word before's
    first = [np.zeros(1, np.int64)]  # per level: the word that adds each node
    first += [np.flatnonzero(new[:, d] & (table[:, d] >= 0)) for d in range(longest)]
    levels = []
    for d, mine in enumerate(first):
        below = first[d + 1] if d < longest else np.zeros(0, np.int64)
        parent = np.searchsorted(mine, below, side="right") - 1
        over = np.flatnonzero(lengths == d) if d else np.zeros(0, np.int64)
        levels.append(
            Level(
                letters=table[mine, d - 1] if d else np.full(1, -1),
                children=np.searchsorted(parent, np.arange(len(mine) + 1)),
                ends=np.searchsorted(mine, over, side="right") - 1,
                words=over,
            )
        )
    order = np.array([i for _, i in entries], np.int64)
    return Lexicon(layout, order, tuple(keys for keys, _ in entries), tuple(levels))


def polyline(keys: str, apostrophe: bool) -> str:
    """The keys that a glide of this word passes: doubled letters once, apostrophes passed or left out.

    >>> polyline("don't", False), polyline("hello", True)
    ('dont', 'helo')
    """
    kept = keys if apostrophe else keys.replace(APOSTROPHE, "")
    return "".join(c for i, c in enumerate(kept) if i == 0 or kept[i - 1] != c)
