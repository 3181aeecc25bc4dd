"""Writes AOSP's binary dictionary, version 202, which HeliBoard, OpenBoard and LatinIME load as it is.

Numbers are big-endian. The file is a header and the root array.

**Header**: 9B C1 3A FE, the version (u16), flags 0 (u16), the header's size (u32), then key, value, key, value, each
ended by 1F.

**Characters**: a code point from 0x20 to 0xFF is a byte, any other three. 1F ends a string.

**The words** are a Patricia trie. An array of nodes is its count (a byte up to 127, else two with the highest bit set)
and its nodes by rising first character. A node is

    flags       0xC0: bytes of the children's address; 0x20: several characters; 0x10: a word ends here;
                0x04: bigrams; 0x02: not a word; 0x01: possibly offensive
    characters  of several, 1F follows
    f           if a word ends here
    children    how far behind this field their array lies, 1 to 3 bytes, if there is one
    bigrams     flags (0x80: another follows; 0x40: backwards; 0x30: bytes of the distance; 0x0F: steps), then the
                distance from this field to the node of the second word

An array is followed by what lies below its first node, then below its second, and so on: the engine finds the letters
of a node by this order.

**Bigrams** are stored in steps above the f of the second word, u: a step is s = (255 − u) / 16.5, and d steps are read
as u + trunc((d + 1) s). So a bigram is never read below u + s, and is off by half a step and rounding otherwise.

**The beginning of a sentence** is a word of the one code point 0x110000, marked as not a word, with bigrams.

Addresses depend on sizes and sizes on addresses. All start with three bytes and shrink to what they need until nothing
changes. Distances only become shorter, so it ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError, shown
from tacit.base.files import write_atomic
from tacit.ngram.formats.aosp.header import Header
from tacit.ngram.formats.aosp.word_list import WordList
from tacit.text.flat import ends

_MAGIC, _VERSION = b"\x9b\xc1\x3a\xfe", 202
_END = b"\x1f"
_SENTENCE = 0x110000
_ADDRESS, _SEVERAL, _TERMINAL, _BIGRAMS, _NOT_A_WORD, _OFFENSIVE = 6, 0x20, 0x10, 0x04, 0x02, 0x01
_MORE, _BACKWARDS, _DISTANCE = 0x80, 0x40, 4
_MOST_NODES = 0x7FFF  # of an array
_FARTHEST = 0xFFFFFF
Points = tuple[int, ...]


def write(path: Path, words: WordList, header: Header) -> None:
    """Writes a word list, with the words that begin a sentence."""
    header.check(path)
    write_atomic(path, encoded(path, words, header))


def encoded(path: Path, words: WordList, header: Header) -> bytes:
    """Returns the bytes of the file; `path` is for messages."""
    texts = [text for pair in header.values().items() for text in pair]
    strings = b"".join(_characters([ord(c) for c in text]) + _END for text in texts)
    size = 12 + len(strings)
    head = _MAGIC + _VERSION.to_bytes(2) + bytes(2) + size.to_bytes(4) + strings
    return head + _body(path, words)


def steps(u: Ints, b: Ints) -> Ints:
    """Returns how many steps above the f of the second word, u, a bigram with f = b is stored, as `dicttool` rounds.

    >>> steps(np.array([150, 180, 255]), np.array([100, 230, 255])).tolist()
    [0, 10, 0]
    """
    step = _step(u)
    with np.errstate(divide="ignore"):
        above = (b.astype(np.float32) - (np.float32(1) + u.astype(np.float32) + step / np.float32(2))) / step
    return np.clip(above, 0, 15).astype(np.int64)


def read_back(u: Ints, d: Ints) -> Ints:
    """Returns what the engine reads for d steps above u.

    >>> read_back(np.array([150, 180, 255]), np.array([0, 10, 0])).tolist()
    [156, 230, 255]
    """
    return u + ((d + 1).astype(np.float32) * _step(u)).astype(np.int64)


def _step(u: Ints) -> np.ndarray:
    return (np.float32(255) - u.astype(np.float32)) / np.float32(16.5)


def _characters(points: list[int]) -> bytes:
    return b"".join(bytes([p]) if 0x20 <= p <= 0xFF else p.to_bytes(3) for p in points)


@dataclass
class _Trie:
    """Arrays and nodes in the order of the file: an item is an array's count or a node."""

    counts: list[int] = field(default_factory=list)  # [items] nodes of an array; 0 for a node
    characters: list[bytes] = field(default_factory=list)  # [items] with their end
    several: list[bool] = field(default_factory=list)  # [items]
    row: list[int] = field(default_factory=list)  # [items] the word that ends at a node; −1
    children: list[int] = field(default_factory=list)  # [items] the item of a node's array; −1

    def add(self, words: list[tuple[Points, int]], depth: int) -> int:
        """Adds the array of sorted words that share their first `depth` characters, and all below; returns its item."""
        groups, at = [], 0
        while at < len(words):
            begin, first = at, words[at][0][depth]
            while at < len(words) and words[at][0][depth] == first:
                at += 1
            groups.append(words[begin:at])
        array = self._item(count=len(groups))
        below = []
        for group in groups:
            shortest, longest = group[0][0], group[-1][0]
            end = depth + 1
            while end < len(shortest) and shortest[end] == longest[end]:
                end += 1
            ends_here = len(shortest) == end
            item = self._item(shortest[depth:end], group[0][1] if ends_here else -1)
            below.append((item, group[ends_here:], end))
        for item, rest, end in below:
            if rest:
                self.children[item] = self.add(rest, end)
        return array

    def _item(self, points: Points = (), row: int = -1, count: int = 0) -> int:
        self.counts.append(count)
        self.characters.append(_characters(list(points)) + (_END if len(points) > 1 else b""))
        self.several.append(len(points) > 1)
        self.row.append(row)
        self.children.append(-1)
        return len(self.counts) - 1


def _body(path: Path, words: WordList) -> bytes:
    opening = len(words.words)
    points = [(tuple(map(ord, word)), i) for i, word in enumerate(words.words)]
    for (spelt, i), following in zip(sorted(points), sorted(points)[1:], strict=False):
        if spelt == following[0]:
            raise TacitError(f"{path}: {shown(words.words[i])} occurs twice; list it once")
    wrong = next((i for spelt, i in points if not spelt or min(spelt) < 0x20), None)
    if wrong is not None:
        raise TacitError(
            f"{path}: {shown(words.words[wrong])} is empty or has a control character; leave it out"
        )
    if words.begins[opening] < words.begins[opening + 1]:
        points.append(((_SENTENCE,), opening))
    trie = _Trie()
    trie.add(sorted(points), 0)
    return _laid_out(path, trie, words)


def _laid_out(path: Path, trie: _Trie, words: WordList) -> bytes:
    """Finds the addresses, then writes item after item."""
    row, children = np.array(trie.row), np.array(trie.children)
    counts = np.array(trie.counts)
    if counts.max() > _MOST_NODES:
        raise TacitError(
            f"{path}: {counts.max():,} different characters follow one beginning, but an array holds {_MOST_NODES:,}"
        )
    node_of = np.full(len(words.words) + 1, -1)  # [rows] the item of each word
    node_of[row[row >= 0]] = np.flatnonzero(row >= 0)
    bigrams = np.where(row >= 0, np.diff(words.begins)[row], 0)  # [items]
    first = np.where(row >= 0, words.begins[row], 0)  # [items] of the bigrams
    owner = np.repeat(np.arange(len(row)), bigrams)  # [bigrams, in the order of the file]
    which = first[owner] + np.arange(len(owner)) - ends(bigrams)[owner]
    target = node_of[words.followers[which]]
    fixed = np.where(
        counts > 0, np.where(counts > 127, 2, 1), 1 + np.array([len(c) for c in trie.characters]) + (row >= 0)
    )  # [items] bytes before a node's addresses
    parent = children >= 0
    wide = np.where(parent, 3, 0)  # [items] bytes of the children's address
    far = np.full(len(owner), 3)  # [bigrams] bytes of the distance
    while True:
        inside = ends(1 + far)  # bytes of all bigrams before each
        start = inside[ends(bigrams)]  # [items + 1] the same at each item's first
        place = ends(fixed + wide + np.diff(start))[:-1]  # [items] addresses
        down = np.where(parent, place[children] - place - fixed, 0)  # [items]
        here = place[owner] + fixed[owner] + wide[owner] + inside[:-1] - start[owner] + 1
        ahead = place[target] - here  # [bigrams] negative: backwards
        away = np.abs(ahead)
        if max(down.max(initial=0), away.max(initial=0)) > _FARTHEST:
            raise TacitError(f"{path}: the dictionary is above 16 MB; list fewer words")
        now = np.where(parent, _bytes(down), 0), _bytes(away)
        if np.array_equal(now[0], wide) and np.array_equal(now[1], far):
            break
        wide, far = now
    d = steps(words.f[words.followers[which]], words.follower_f[which])
    last = np.arange(len(owner)) + 1 == ends(bigrams)[owner + 1]
    flags = np.where(last, 0, _MORE) | np.where(ahead < 0, _BACKWARDS, 0) | (far << _DISTANCE) | d
    parts: list[bytes] = []
    at = 0
    bigram = list(zip(flags.tolist(), away.tolist(), far.tolist(), strict=True))
    for i, count in enumerate(trie.counts):
        if count:
            parts.append(bytes([count]) if count < 128 else (0x8000 | count).to_bytes(2))
            continue
        parts += _node(trie, words, i, int(wide[i]), int(bigrams[i]))
        if wide[i]:
            parts.append(int(down[i]).to_bytes(int(wide[i])))
        for flag, distance, size in bigram[at : at + bigrams[i]]:
            parts += (bytes([flag]), distance.to_bytes(size))
        at += bigrams[i]
    return b"".join(parts)


def _node(trie: _Trie, words: WordList, i: int, wide: int, bigrams: int) -> tuple[bytes, bytes, bytes]:
    """Returns a node's flags, characters and f."""
    row = trie.row[i]
    flags = wide << _ADDRESS | _SEVERAL * trie.several[i] | _BIGRAMS * (bigrams > 0)
    f = b""
    if row >= 0:
        opening = row == len(words.words)
        flags |= _TERMINAL | (_NOT_A_WORD if opening else _OFFENSIVE * int(words.offensive[row]))
        f = bytes([0 if opening else int(words.f[row])])
    return bytes([flags]), trie.characters[i], f


def _bytes(distance: Ints) -> Ints:
    return 1 + (distance > 0xFF) + (distance > 0xFFFF)
