"""Splits each person's text in time into three parts: to tune on, for the gate, and to measure on.

Paper 3 (section 3.3) splits 80/20. The gate needs three parts, by default 64/16/20, of which the first two are the
80 %. A whole message goes to the part that contains its middle word, so no part has text later than the next part's.
Shares are of words, not of messages. Text in word-pieces is split and counted in words, too (`ends` marks the pieces
that end a word).

People with too little text are left out and counted by reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.randomness import stream, uniform
from tacit.text.flat import cells
from tacit.text.flat import ends as sums_before
from tacit.text.packed import Packed
from tacit.text.vocabulary import BOS, EOS, UNK

SHARES = (64, 16, 20)  # per cent of a person's words: to tune on, for the gate, to measure on
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


def check_shares(shares: Sequence[int]) -> tuple[int, int, int]:
    """Returns the three shares; refuses others than three whole per cents that add up to 100."""
    if len(shares) != 3 or min(shares) < 1 or sum(shares) != 100:
        given = "/".join(map(str, shares))
        raise TacitError(
            f"--split {given}: give three per cents of at least 1 that add up to 100, like 64/16/20: to tune on, for "
            "the gate, to measure on"
        )
    return shares[0], shares[1], shares[2]


def words_in(text: Packed, ends: np.ndarray | None = None) -> np.ndarray:
    """Returns the words of every message, [messages]; its end is none.

    >>> from tacit.text.packed import pack
    >>> message = pack([[np.array([0, 3, 4, 3, 1])]], ["ana"])
    >>> words_in(message).tolist(), words_in(message, np.array([True, True, True, False, True])).tolist()
    ([3], [1])
    """
    return _in_messages(text, _is_word_end(text, ends))


def _is_word_end(text: Packed, ends: np.ndarray | None) -> np.ndarray:
    """Returns the tokens after which a word is over, [tokens] bool."""
    return _inside(text) if ends is None else _inside(text) & ends[text.tokens]


def _inside(text: Packed) -> np.ndarray:
    """Returns the tokens between the start and the end of a message, [tokens] bool."""
    inside = np.ones(len(text.tokens), bool)
    inside[text.offsets[:-1]] = inside[text.offsets[1:] - 1] = False
    return inside


def _in_messages(text: Packed, tokens: np.ndarray) -> np.ndarray:
    """Returns how many of the marked tokens every message has, [messages]; it has at least `<s>`."""
    return np.add.reduceat(np.append(tokens, False).astype(np.int64), text.offsets[:-1])


def split(
    text: Packed,
    most: int = 0,
    seed: int = 0,
    shares: tuple[int, int, int] = SHARES,
    ends: np.ndarray | None = None,
) -> Users:
    """Splits everybody's text; with `most`, at most that many people with enough text are drawn at random.

    `ends` [V] tells which tokens end a word; without it each is one.

    >>> from tacit.text.packed import pack
    >>> talker = [np.array([0, *range(3, 13), 1])] * 20
    >>> users = split(pack([talker, talker[:3]], ["ana", "bo"]))
    >>> users.text.names, users.cuts.tolist(), {k: n for k, n in users.left_out.items() if n}
    (('ana',), [[0, 13, 16, 20]], {'fewer than 10 messages': 1})
    """
    over = _is_word_end(text, ends)
    words, known = _in_messages(text, over), _in_messages(text, over & (text.tokens > UNK))  # [messages]
    cuts = _cuts(words, text.owners, shares)  # [people, 4]
    before = sums_before(known)
    has_known = np.all(before[cuts[:, 1:]] > before[cuts[:, :-1]], axis=1)
    typed = np.diff(sums_before(words)[text.owners])  # [people]
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


def _cuts(words: np.ndarray, owners: np.ndarray, shares: tuple[int, int, int]) -> np.ndarray:
    """Returns where parts begin, [people, 4], from the words of all messages, in whole numbers without rounding."""
    total = sums_before(words)
    sizes = np.diff(owners)
    begin, whole = total[owners[:-1]], np.diff(total[owners])  # [people]
    twice = (
        total[:-1] + total[1:] - 2 * np.repeat(begin, sizes)
    )  # [messages] twice the position of the middle
    person = np.repeat(np.arange(len(sizes)), sizes)
    inner = [
        owners[:-1]
        + np.bincount(person, 100 * twice < 2 * share * whole[person], len(sizes)).astype(np.int64)
        for share in (shares[0], shares[0] + shares[1])
    ]
    return np.stack([owners[:-1], *inner, owners[1:]], axis=1)


def text_of_parts(users: Users, first: int, last: int) -> Packed:
    """Returns parts first … last − 1 of everybody: 0 to 2 are the earlier text, 2 to 3 the later."""
    begin = users.cuts[:, first]
    sizes = users.cuts[:, last] - begin
    return users.text.take(cells(begin, sizes), sums_before(sizes), users.text.names)


def subset(users: Users, which: np.ndarray) -> Users:
    """Returns the users at the places `which`, in that order."""
    text = users.text.gather(which)
    moved = users.cuts[which] - users.text.owners[which][:, None] + text.owners[:-1, None]
    return Users(text, users.ids[which], moved, users.left_out)


def shortened(text: Packed, limit: int, ends: np.ndarray | None = None) -> Packed:
    """Returns the text with long messages split into sequences of at most `limit` words (0: whole), as in training.

    A word in pieces stays whole; `ends` is that of `split`.

    >>> from tacit.text.packed import pack
    >>> shortened(pack([[np.array([0, 5, 6, 7, 1])]], ["ana"]), 2).tokens.tolist()
    [0, 5, 6, 1, 0, 7, 1]
    """
    words = words_in(text, ends)
    if not limit or words.max(initial=0) <= limit:
        return text
    sequences = np.maximum(1, -(-words // limit))  # [messages]
    over = _is_word_end(text, ends)
    inside = np.flatnonzero(_inside(text))
    message = np.repeat(np.arange(len(words)), np.diff(text.offsets))[inside]
    word = (np.cumsum(over) - over)[inside] - sums_before(words)[message]  # its number in the message, from 0
    sequence = sums_before(sequences)[message] + word // limit
    spans = np.bincount(sequence, minlength=int(sequences.sum()))
    offsets = sums_before(spans + 2)
    tokens = np.empty(int(offsets[-1]), np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = BOS, EOS
    tokens[cells(offsets[:-1] + 1, spans)] = text.tokens[inside]
    return Packed(tokens, offsets, sums_before(sequences)[text.owners], text.names)
