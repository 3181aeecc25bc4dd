"""The lexicon that the decoders search: a trie of the words that the keys can type.

Words are sorted by their spelling, so words with a common prefix are neighbours and the sorted list implies the trie:
word i adds one node for each letter after the prefix that it shares with word i − 1. Level d of the trie holds the
prefixes of d letters in that order; a node's children are a range of the next level. If all words consist of lower-case
letters of the layout, the order is that of the ids.

Words of more than 256 letters are left out: nobody taps or glides them, and the table here is as wide as the longest.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.keyboard import spelling
from tacit.keyboard.layout import APOSTROPHE, QWERTY, Layout, spell

LONGEST = 256  # letters of a word


class Prefixes(NamedTuple):
    """One level of the trie: the prefixes of one length."""

    letters: Ints  # [nodes] the key of the last letter
    children: Ints  # [nodes + 1] node n's are children[n] … children[n + 1] − 1 of the next level
    ends: Ints  # [words of this length] the node where each ends, ascending
    words: Ints  # [words of this length] their positions in the lexicon


@dataclass(frozen=True)
class Lexicon:
    """Words that can be typed, by spelling."""

    layout: Layout
    ids: Ints  # [words] in the model's vocabulary
    spellings: tuple[str, ...]  # [words] ascending
    levels: tuple[Prefixes, ...]  # item d for prefixes of d letters; item 0 is the root

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def letters(self) -> spelling.Letters:
        """The counts of letters in these words; made on first use."""
        return spelling.count(self.spellings, self.layout.letters)

    def places(self, keys: str) -> range:
        """Returns the positions of the words with a spelling."""
        first = last = bisect_left(self.spellings, keys)
        while last < len(self) and self.spellings[last] == keys:
            last += 1
        return range(first, last)


def build(words: Sequence[str], ids: Sequence[int], layout: Layout = QWERTY) -> Lexicon:
    """Builds the lexicon of a model's words; words that cannot be typed with the layout are left out.

    >>> lexicon = build(["to", "7:30", "too", "don't"], [3, 4, 5, 6])
    >>> lexicon.spellings, lexicon.ids.tolist()
    (("don't", 'to', 'too'), [6, 3, 5])
    """
    number = {letter: i for i, letter in enumerate(layout.letters)}
    spelt = [(spell(word, layout), i) for word, i in zip(words, ids, strict=True)]
    entries = sorted((keys, i) for keys, i in spelt if keys and len(keys) <= LONGEST)
    longest = max((len(keys) for keys, _ in entries), default=0)
    table = np.full((len(entries), longest), -1, np.int8)  # [words, letters]
    for row, (keys, _) in enumerate(entries):
        table[row, : len(keys)] = [number[c] for c in keys]
    lengths = (table >= 0).sum(axis=1)
    differs = np.ones_like(table, np.bool_)
    differs[1:] = table[1:] != table[:-1]
    new = np.logical_or.accumulate(differs, axis=1)  # [words, letters] a prefix not seen before
    first = [np.zeros(1, np.int64)]  # per level: the word that adds each node
    first += [np.flatnonzero(new[:, d] & (table[:, d] >= 0)) for d in range(longest)]
    levels = []
    for d, nodes in enumerate(first):
        below = first[d + 1] if d < longest else np.zeros(0, np.int64)
        parent = np.searchsorted(nodes, below, side="right") - 1
        ending = np.flatnonzero(lengths == d) if d else np.zeros(0, np.int64)
        levels.append(
            Prefixes(
                letters=table[nodes, d - 1].astype(np.int64) if d else np.full(1, -1),
                children=np.searchsorted(parent, np.arange(len(nodes) + 1)),
                ends=np.searchsorted(nodes, ending, side="right") - 1,
                words=ending,
            )
        )
    order = np.array([i for _, i in entries], np.int64)
    return Lexicon(layout, order, tuple(keys for keys, _ in entries), tuple(levels))


def polyline(keys: str, apostrophe: bool) -> str:
    """Returns the keys on the path of a glide: doubled letters once, with or without apostrophes.

    >>> polyline("don't", False), polyline("hello", True)
    ('dont', 'helo')
    """
    kept = keys if apostrophe else keys.replace(APOSTROPHE, "")
    return "".join(c for i, c in enumerate(kept) if i == 0 or kept[i - 1] != c)
