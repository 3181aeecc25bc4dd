"""Splits each person's text in time: to tune on, for the gate, to measure on.

Paper 3 (section 3.3) splits 80/20; the gate needs three parts, 64/16/20. One pair of cuts serves both: the first two
parts together are the 80 %. A whole message goes to the part in which its middle word falls, so nothing later is ever
in an earlier part. Shares are of words, not of messages.

People with too little text are left out and counted by reason.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.base.randomness import stream, uniform
from tacit.text.flat import cells, ends
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, EOS, UNK

CUTS = (64, 80)  # per cent of a person's words before the second part, and before the third
LEAST_MESSAGES, LEAST_WORDS = 10, 100  # of all a person typed
REASONS = ("fewer than 10 messages", "fewer than 100 words", "a part without a known word", "not drawn")

_DRAW = stream("personal: who is asked")


@dataclass(frozen=True)
class Users:
    """People with enough text, each split in three parts."""

    text: Packed  # all they typed, oldest first
    ids: np.ndarray  # [users] int64, each person's number, which keys random draws
    cuts: np.ndarray  # [users, 4] int64: where the three parts begin, and the end
    left_out: dict[str, int]  # number of people left out, by reason

    def __len__(self) -> int:
        return len(self.ids)


def split(text: Packed, most: int = 0, seed: int = 0) -> Users:
    """Splits everybody's text; with `most`, at most that many people with enough text are drawn at random.

    >>> from tacit.text.packed import pack
    >>> talker = [np.array([0, *range(3, 13), 1])] * 20
    >>> users = split(pack([talker, talker[:3]], ["ana", "bo"]))
    >>> users.text.names, users.cuts.tolist(), {k: n for k, n in users.left_out.items() if n}
    (('ana',), [[0, 13, 16, 20]], {'fewer than 10 messages': 1})
    """
    words = text.lengths - 1  # [messages], without the end
    known = np.add.reduceat(
        np.append((text.tokens != BOS) & (text.tokens != EOS) & (text.tokens != UNK), False).astype(np.int64),
        text.offsets[:-1],
    )  # [messages]; every message has at least `<s>`
    cuts = _cuts(words, text.owners)  # [people, 4]
    before = ends(known)
    has_known = np.all(before[cuts[:, 1:]] > before[cuts[:, :-1]], axis=1)
    typed = np.diff(ends(words)[text.owners])  # [people]
    reason = np.select(
        [text.sizes < LEAST_MESSAGES, typed < LEAST_WORDS, ~has_known], [0, 1, 2], len(REASONS)
    )
    able = np.flatnonzero(reason == len(REASONS))
    if most and most < len(able):
        ranked = able[np.argsort(uniform(seed, _DRAW, able), kind="stable")]
        reason[ranked[most:]] = 3
        able = np.sort(ranked[:most])
    chosen = text.gather(able)
    moved = cuts[able] - text.owners[able][:, None] + chosen.owners[:-1, None]
    left_out = {name: int((reason == i).sum()) for i, name in enumerate(REASONS)}
    return Users(chosen, able.astype(np.int64), moved, left_out)


def _cuts(words: np.ndarray, owners: np.ndarray) -> np.ndarray:
    """Returns where parts begin, [people, 4], from the words of all messages, in whole numbers without rounding."""
    total = ends(words)
    sizes = np.diff(owners)
    begin, whole = total[owners[:-1]], np.diff(total[owners])  # [people]
    twice = (
        total[:-1] + total[1:] - 2 * np.repeat(begin, sizes)
    )  # [messages] twice the position of the middle
    person = np.repeat(np.arange(len(sizes)), sizes)
    inner = [
        owners[:-1]
        + np.bincount(person, 100 * twice < 2 * share * whole[person], len(sizes)).astype(np.int64)
        for share in CUTS
    ]
    return np.stack([owners[:-1], *inner, owners[1:]], axis=1)


def text_of_parts(users: Users, first: int, last: int) -> Packed:
    """Returns parts first … last − 1 of everybody: 0 to 2 are the earlier 80 %, 2 to 3 the later 20 %."""
    begin = users.cuts[:, first]
    sizes = users.cuts[:, last] - begin
    return users.text.take(cells(begin, sizes), ends(sizes), users.text.names)


def subset(users: Users, which: np.ndarray) -> Users:
    """Returns the users at the places `which`, in that order."""
    text = users.text.gather(which)
    moved = users.cuts[which] - users.text.owners[which][:, None] + text.owners[:-1, None]
    return Users(text, users.ids[which], moved, users.left_out)


def shortened(text: Packed, limit: int) -> Packed:
    """Returns the text with long messages split into sequences of at most `limit` words (0: whole), as in training.

    >>> from tacit.text.packed import pack
    >>> shortened(pack([[np.array([0, 5, 6, 7, 1])]], ["ana"]), 2).tokens.tolist()
    [0, 5, 6, 1, 0, 7, 1]
    """
    words = text.lengths - 1
    if not limit or words.max(initial=0) <= limit:
        return text
    pieces = np.maximum(1, -(-words // limit))  # [messages]
    before = cells(np.zeros(len(words), np.int64), pieces) * limit  # [sequences]
    spans = np.minimum(limit, np.repeat(words, pieces) - before)
    offsets = ends(spans + 2)
    tokens = np.empty(int(offsets[-1]), np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = BOS, EOS
    source = np.repeat(text.offsets[:-1], pieces) + 1 + before
    tokens[cells(offsets[:-1] + 1, spans)] = text.tokens[cells(source, spans)]
    return Packed(tokens, offsets, ends(pieces)[text.owners], text.names)
