"""Reads Tacit's compact n-gram file: small enough for a phone, mapped without parsing, queried in microseconds.

All numbers are little-endian. The file is used as it is on disk: a reader maps it and views typed arrays.

    0    8 bytes  "TacitNG\\n"
    8    uint32   version, 1; a reader refuses a higher one
    12   uint32   number of sections
    16   uint32   length of the file
    20   uint32   CRC-32 of bytes 0 to 19 and of everything from byte 24 on
    24   for each section: name in 8 bytes, padded with zeros, uint32 offset, uint32 length in bytes;
         sections begin at multiples of 8

Words have ids: 0 `<s>`, 1 `</s>`, 2 `<unk>`, and from 3 on all others in the order of their UTF-8 bytes, so the words
with a typed prefix are a range of ids. Words that occur in n-grams of order 2 or more, at most 65,536, are common:
in these n-grams a word is stored as its index among the common words, which has the same order. V words, C common
ones, order N, G(n) n-grams of order n:

    meta      JSON: name, source, cased, created_by, order, ngrams ([V, G(2), …])
    text      front-coded words from id 3 on, and
    blocks    uint32, the starts of their blocks: see words.py
    hidden    bits [V], lowest bit of a byte first: words that are never suggested
    p1        uint8 [V] codes of the unigrams' probabilities; tp1: float32 [256], natural logs of the codes
    common    uint32 [C] their ids, ascending
    start2    uint32 [C + 1] bigrams after common word c: from start2[c] to start2[c + 1]
    b1, tb1   uint8 [C] codes of the backoff weights after one word, and float32 [256] their logs
  and for n = 2 … N, rows sorted by history and then word:
    label{n}  uint16 [G(n)] the last word of each n-gram, as an index into the common words
    p{n}      uint8 [G(n)], tp{n}: as for unigrams. Code 0 is probability 0; a higher code is likelier
  and for n = 2 … N − 1, the n-grams of order n that are histories, S(n) of them:
    deep{n}   bits [G(n)]: this n-gram is a history
    rank{n}   uint32: number of histories among the first 0, 512, 1024, … n-grams
    b{n}      uint8 [S(n)] codes of their backoff weights, tb{n}: float32 [256]
    head{n+1} bits [G(n + 1)]: this n-gram is the first after its history
    pick{n+1} uint32: the first n-gram after history 0, 64, 128, … and at the end G(n + 1)

The j-th history of order n is the j-th set bit of deep{n}; its n-grams begin at the j-th set bit of head{n + 1} and
end before the next. So an n-gram takes 3.25 bytes and a history one more, at every order.

    p(w | h) = value of its code                                 if the file has the n-gram "h w"
             = backoff(h) · p(w | h without its first word)      otherwise; backoff is 1 if h is not a history
"""

from __future__ import annotations

import json
import mmap
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Ints
from tacit.base.sections import Format, Places, fitting, map_file
from tacit.ngram.automaton import Automaton, from_trie
from tacit.ngram.compact.words import BLOCK, Words
from tacit.ngram.trie import Trie, find
from tacit.text.vocabulary import SPECIALS, UNK, Vocabulary

MAGIC = b"TacitNG\n"
FORM = Format(MAGIC, 1, struct.Struct("<8sII"), "a compact n-gram file", "distil the model again")
RANK, PICK = 512, 64
FAVOURITES = 4096  # unigrams sorted by probability, for `search`


class Node(NamedTuple):
    """A history in the file: its n-grams are rows first … last − 1 of order n."""

    n: int
    first: int
    last: int
    log_backoff: float


State = tuple[Node, ...]  # the known histories, longest first, without the empty one


class StoredOrder(NamedTuple):
    """The n-grams of one order ≥ 2 and, below the highest order, which of them are histories."""

    labels: NDArray[np.uint16]
    p: NDArray[np.uint8]
    table: NDArray[np.float64]  # [256]
    deep: NDArray[np.uint8]
    rank: NDArray[np.uint32]
    backoff: NDArray[np.uint8]
    backoff_table: NDArray[np.float64]  # [256]
    head: NDArray[np.uint8]  # of the next order
    pick: NDArray[np.uint32]


@dataclass(frozen=True)
class Compact:
    """An open file. `compact_model` (model.py) makes it a `Model`."""

    facts: dict[str, Any]  # the section "meta"
    words: Words  # from id 3 on
    hidden: NDArray[np.bool_]  # [V]
    p: NDArray[np.uint8]  # [V]
    table: NDArray[np.float64]  # [256]
    common: NDArray[np.uint32]  # [C]
    starts: NDArray[np.uint32]  # [C + 1]
    backoff: NDArray[np.uint8]  # [C]
    backoff_table: NDArray[np.float64]  # [256]
    levels: tuple[StoredOrder, ...]  # item n − 2 is for order n

    @property
    def order(self) -> int:
        """Returns the length of the longest n-grams."""
        return len(self.levels) + 1

    @cached_property
    def favourites(self) -> tuple[Ints, Ints]:
        """Returns the likeliest unigrams that may be suggested, best first, and their indices into the common words."""
        codes = np.where(self.hidden, 0, self.p).astype(np.uint8)
        ids = np.argsort(255 - codes, kind="stable")[:FAVOURITES]
        ids = ids[codes[ids] > 0]
        at = np.minimum(self.common.searchsorted(ids.astype(np.uint32)), max(0, len(self.common) - 1))
        return ids, np.where(self.common[at] == ids, at, -1) if len(self.common) else np.full(len(ids), -1)

    def word(self, i: int) -> str:
        """Returns the word with this id."""
        return SPECIALS[i] if i <= UNK else self.words[i - len(SPECIALS)]

    def id(self, word: str) -> int:
        """Returns the id of a word, or that of `<unk>` if it is missing. `<s>` and `</s>` are not words."""
        number = self.words.find(word)
        return UNK if number < 0 else number + len(SPECIALS)

    def state(self, ids: Sequence[int]) -> State:
        """Returns the histories in the file that end these ids, longest first; `<s>` starts a message."""
        places: list[int] = []  # indices into the common words, the last word first
        nodes: list[Node] = []
        for i in reversed(ids[max(0, len(ids) - self.order + 1) :]):
            places.append(self.place(i))
            node = self._after(places)
            if node is None:  # then the file has no longer history either
                break
            nodes.append(node)
        return tuple(reversed(nodes))

    def log_prob(self, state: State, i: int) -> float:
        """Returns the natural log p of the word with id i."""
        place, spent = self.place(i), 0.0
        for node in state:
            row = self._row(node, place)
            if row >= 0:
                level = self.levels[node.n - 2]
                return spent + float(level.table[level.p[row]])
            spent += node.log_backoff
        return spent + float(self.table[self.p[i]])

    def place(self, i: int) -> int:
        """Returns the index of a word among the common words, −1 if it is not common."""
        at = int(self.common.searchsorted(np.uint32(i)))
        return at if at < len(self.common) and self.common[at] == i else -1

    def _row(self, node: Node, place: int) -> int:
        if place < 0:
            return -1
        labels = self.levels[node.n - 2].labels[node.first : node.last]
        at = int(labels.searchsorted(np.uint16(place)))
        return node.first + at if at < len(labels) and labels[at] == place else -1

    def _after(self, places: list[int]) -> Node | None:
        """Returns the node of a history, given by indices into the common words, the last word first."""
        place = places[-1]
        if place < 0 or self.starts[place] == self.starts[place + 1]:
            return None
        first, last = int(self.starts[place]), int(self.starts[place + 1])
        node = Node(2, first, last, float(self.backoff_table[self.backoff[place]]))
        for place in reversed(places[:-1]):
            row = self._row(node, place)
            if row < 0 or node.n == self.order:
                return None
            level = self.levels[node.n - 2]
            if not level.deep[row >> 3] >> (row & 7) & 1:
                return None
            block = row // RANK
            bits = int.from_bytes(level.deep[block * RANK // 8 : (row >> 3) + 1].tobytes(), "little")
            history = int(level.rank[block]) + (bits & ((1 << row % RANK) - 1)).bit_count()
            first, last = _span(level, history)
            log_backoff = float(level.backoff_table[level.backoff[history]])
            node = Node(node.n + 1, first, last, log_backoff)
        return node

    def to_automaton(self) -> tuple[Vocabulary, Automaton]:
        """Returns the vocabulary and the model as an automaton, with the file's ids."""
        v = len(self.p)
        every = np.arange(v)
        empty = np.zeros(1, np.int64)
        keys, suffix, p = [empty, every], [empty, np.zeros(v, np.int64)], [self.table[self.p[1:]]]
        counts = np.asarray(np.diff(self.starts), np.int64)
        history, backoff = self.common.astype(np.int64), [self.backoff_table[self.backoff[counts > 0]]]
        for n, level in enumerate(self.levels, start=2):
            row = np.repeat(history, counts)
            word = self.common[level.labels].astype(np.int64)
            keys.append(row * v + word)
            suffix.append(find(keys[n - 1], suffix[n - 1][row] * v + word) if n > 2 else word)
            p.append(level.table[level.p])
            if n < self.order:
                history = _set_bits(level.deep, len(level.p))
                after = len(self.levels[n - 1].p)
                counts = np.diff(np.concatenate([_set_bits(level.head, after), [after]]))
                backoff.append(level.backoff_table[level.backoff])
        shape = from_trie(Trie(v, tuple(keys), tuple(suffix)))
        vocabulary = Vocabulary((*SPECIALS, *self.words.every()))
        return vocabulary, Automaton(shape, np.concatenate(p), np.concatenate([[0.0], *backoff]))


def _span(level: StoredOrder, history: int) -> tuple[int, int]:
    """Returns where the n-grams of a history begin and end, one order above `level`."""
    begin, end = int(level.pick[history // PICK]), int(level.pick[history // PICK + 1])
    heads = _set_bits(level.head[begin >> 3 : (end >> 3) + 1]) + (begin & ~7)
    at = int(heads.searchsorted(begin)) + history % PICK
    return int(heads[at]), int(heads[at + 1]) if at + 1 < len(heads) else end


def _set_bits(bits: NDArray[np.uint8], count: int | None = None) -> Ints:
    return np.flatnonzero(np.unpackbits(bits, count=count, bitorder="little"))


def open(path: Path, verify: bool = True) -> Compact:
    """Maps a file; with `verify` it checks every byte (about 1 ms for each megabyte)."""
    data, sections = map_file(path, FORM, verify)
    with fitting(path, FORM):
        stored = _view(data, sections)
        if verify:
            _check(stored)
        return stored


def _check(model: Compact) -> None:
    """Checks that every index is in range, like the page's reader: a CRC detects damage, but not a crafted file."""

    def must(fits: Any, what: str) -> None:
        if not fits:
            raise ValueError(what)

    def rises(numbers: NDArray[Any]) -> bool:
        return bool((numbers[1:] >= numbers[:-1]).all())

    words, common = model.words, model.common
    must(rises(words.starts) and len(words.starts), "'blocks' is not in order")
    must(words.starts[-1] == len(words.text), "'blocks' does not cover the words")
    must(len(words.starts) == -(-words.count // BLOCK) + 1, "the number of words does not match 'meta'")
    must((common[1:] > common[:-1]).all() and (common < len(model.p)).all(), "'common' is not in order")
    must(rises(model.starts), "'start2' is not in order")
    must(not np.isnan([*model.table, *model.backoff_table]).any(), "'tp1' or 'tb1' contains NaN")
    for n, level in enumerate(model.levels, start=2):
        must((level.labels < len(common)).all(), f"'label{n}' refers to words outside 'common'")
        must(not np.isnan(level.table).any(), f"'tp{n}' contains NaN")
        if n - 1 < len(model.levels):
            after = len(model.levels[n - 1].labels)
            deep, heads = _set_bits(level.deep, len(level.labels)), _set_bits(level.head, after)
            before = np.searchsorted(deep, np.arange(0, len(level.labels), RANK))
            must(np.array_equal(level.rank, before), f"'rank{n}' does not match 'deep{n}'")
            must(
                np.array_equal(level.pick[:-1], heads[::PICK]), f"'pick{n + 1}' does not match 'head{n + 1}'"
            )
            must(level.pick[-1] == after, f"'pick{n + 1}' does not cover the n-grams")
            must(len(deep) == len(heads) == len(level.backoff), f"'b{n}' does not match the histories")
            must(not np.isnan(level.backoff_table).any(), f"'tb{n}' contains NaN")


def _view(data: mmap.mmap, sections: Places) -> Compact:
    """Returns the arrays as views of the file; raises ValueError or KeyError if one is missing or of wrong length."""

    def array(name: str, kind: type[np.generic], count: int | None = None) -> NDArray[Any]:
        offset, size = sections[name]
        items = np.frombuffer(data, np.uint8, size, offset).view(np.dtype(kind).newbyteorder("<"))
        if count is not None and len(items) != count:
            raise ValueError(f"'{name}' has {len(items)} items, not {count}")
        return items

    def values(name: str) -> NDArray[np.float64]:
        return array(name, np.float32, 256).astype(np.float64)

    def bits(name: str, count: int) -> NDArray[np.uint8]:
        return array(name, np.uint8, -(-count // 8))

    facts = json.loads(array("meta", np.uint8).tobytes())
    v, *counts = facts["ngrams"]
    if v <= len(SPECIALS) or len(counts) != facts["order"] - 1:
        raise ValueError("'meta' has no words, or 'ngrams' does not match 'order'")
    common = array("common", np.uint32)
    starts = array("start2", np.uint32, len(common) + 1)
    levels = []
    for n, count in enumerate(counts, start=2):
        label, p = array(f"label{n}", np.uint16, count), array(f"p{n}", np.uint8, count)
        none = np.zeros(0, np.uint32)
        history: tuple[Any, ...] = (none, none, none, none, none, none)
        if n <= len(counts):
            deep, rank = bits(f"deep{n}", count), array(f"rank{n}", np.uint32, -(-count // RANK))
            backoff = array(f"b{n}", np.uint8)
            head, pick = bits(f"head{n + 1}", counts[n - 1]), array(f"pick{n + 1}", np.uint32)
            if len(pick) != -(-len(backoff) // PICK) + 1:
                raise ValueError(f"'pick{n + 1}' has {len(pick)} items")
            history = (deep, rank, backoff, values(f"tb{n}"), head, pick)
        levels.append(StoredOrder(label, p, values(f"tp{n}"), *history))
    if starts[-1] != (counts[0] if counts else 0):
        raise ValueError("'start2' does not cover the bigrams")
    offset, size = sections["text"]
    return Compact(
        facts=facts,
        words=Words(v - len(SPECIALS), array("blocks", np.uint32), memoryview(data)[offset : offset + size]),
        hidden=np.unpackbits(bits("hidden", v), count=v, bitorder="little").astype(np.bool_),
        p=array("p1", np.uint8, v),
        table=values("tp1"),
        common=common,
        starts=starts,
        backoff=array("b1", np.uint8, len(common)),
        backoff_table=values("tb1"),
        levels=tuple(levels),
    )
