"""Tacit's compact n-gram file: small enough for a phone, read without being parsed, asked in microseconds.

All numbers are little-endian. The file is used as it lies on disk: a reader maps it and looks at typed arrays.

    0    8 bytes  "TacitNG\\n"
    8    uint32   version, 1; a reader refuses a greater one
    12   uint32   how many sections there are
    16   uint32   length of the file
    20   uint32   CRC-32 of bytes 0 to 19 and of everything from byte 24 on
    24   for each section 8 bytes of name, filled up with zeros, uint32 offset, uint32 length in bytes;
         sections begin at multiples of 8

Words have ids: 0 `<s>`, 1 `</s>`, 2 `<unk>`, and from 3 on all others in the order of their UTF-8 bytes, so the words
with a typed prefix are a range of ids. Words that occur in n-grams of order 2 or more, at most 65,536, are common:
there they are written as their place among the common ones, which has the same order. V words, C common ones, order
N, G(n) n-grams of order n:

    meta      JSON: name, source, cased, created_by, order, ngrams ([V, G(2), …])
    text      front-coded words from id 3 on, and
    blocks    uint32, where their blocks begin: see compact_words.py
    hidden    bits [V], lowest bit of a byte first: words that are never suggested
    p1        uint8 [V] codes of the unigrams' probabilities; tp1: float32 [256], natural logs of the codes
    common    uint32 [C] their ids, ascending
    start2    uint32 [C + 1] bigrams after common word c: from start2[c] to start2[c + 1]
    b1, tb1   uint8 [C] codes of the backoff weights after one word, and float32 [256] their logs
  and for n = 2 … N, rows sorted by history and then word:
    label{n}  uint16 [G(n)] the last word of each n-gram, as a place among the common words
    p{n}      uint8 [G(n)], tp{n}: as for unigrams. 0 is the code of no probability; greater is likelier
  and for n = 2 … N − 1, the n-grams of order n that are histories, S(n) of them:
    deep{n}   bits [G(n)]: this n-gram is a history
    rank{n}   uint32: how many are among the first 0, 512, 1024, … n-grams
    b{n}      uint8 [S(n)] codes of their backoff weights, tb{n}: float32 [256]
    head{n+1} bits [G(n + 1)]: this n-gram is the first after its history
    pick{n+1} uint32: the first n-gram after history 0, 64, 128, … and at the end G(n + 1)

The j-th history of order n is the j-th set bit of deep{n}; its n-grams begin at the j-th set bit of head{n + 1} and
end before the next. So an n-gram takes 3 bytes and a quarter, a history 1 more, whatever the orders.

    p(w | h) = value of its code                if the n-gram "h w" is there
             = backoff(h) · p(w | h less its first word)   otherwise, with backoff 1 where h is no history
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
FAVOURITES = 4096  # unigrams kept in order of their probability, for `search`


class Node(NamedTuple):
    """A history that the file knows: its n-grams are rows first … last − 1 of order n."""

    n: int
    first: int
    last: int
    log_backoff: float


State = tuple[Node, ...]  # the known histories, longest first; the empty one is not among them


class Level(NamedTuple):
    """The n-grams of one order ≥ 2, and, but at the highest, which of them are histories."""

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
    """An open file. `model` makes it into a model that can be asked."""

    facts: dict[str, Any]  # what the section "meta" says
    words: Words  # from id 3 on
    hidden: NDArray[np.bool_]  # [V]
    p: NDArray[np.uint8]  # [V]
    table: NDArray[np.float64]  # [256]
    common: NDArray[np.uint32]  # [C]
    starts: NDArray[np.uint32]  # [C + 1]
    backoff: NDArray[np.uint8]  # [C]
    backoff_table: NDArray[np.float64]  # [256]
    levels: tuple[Level, ...]  # item n − 2 is for order n

    @property
    def order(self) -> int:
        """The length of the longest n-grams."""
        return len(self.levels) + 1

    @cached_property
    def favourites(self) -> tuple[Ints, Ints]:
        """The likeliest unigrams that may be suggested, best first, and their places among the common words."""
        codes = np.where(self.hidden, 0, self.p).astype(np.uint8)
        ids = np.argsort(255 - codes, kind="stable")[:FAVOURITES]
        ids = ids[codes[ids] > 0]
        at = np.minimum(self.common.searchsorted(ids.astype(np.uint32)), max(0, len(self.common) - 1))
        return ids, np.where(self.common[at] == ids, at, -1) if len(self.common) else np.full(len(ids), -1)

    def word(self, i: int) -> str:
        """The word of an id."""
        return SPECIALS[i] if i <= UNK else self.words[i - len(SPECIALS)]

    def id(self, word: str) -> int:
        """The id of a word; that of `<unk>` if it is not there. `<s>` and `</s>` are not words."""
        found = self.words.find(word)
        return UNK if found < 0 else found + len(SPECIALS)

    def state(self, ids: Sequence[int]) -> State:
        """The histories that the file has of the last of these ids, longest first; `<s>` starts a message."""
        places: list[int] = []  # among the common words, the last first
        found: list[Node] = []
        for i in reversed(ids[max(0, len(ids) - self.order + 1) :]):
            places.append(self.place(i))
            node = self._after(places)
            if node is None:  # then no longer history is known either
                break
            found.append(node)
        return tuple(reversed(found))

    def log_prob(self, state: State, i: int) -> float:
        """Natural log p of the word with id i."""
        place, spent = self.place(i), 0.0
        for node in state:
            row = self._row(node, place)
            if row >= 0:
                level = self.levels[node.n - 2]
                return spent + float(level.table[level.p[row]])
            spent += node.log_backoff
        return spent + float(self.table[self.p[i]])

    def place(self, i: int) -> int:
        """Where a word is among the common ones; −1 if it is not."""
        at = int(self.common.searchsorted(np.uint32(i)))
        return at if at < len(self.common) and self.common[at] == i else -1

    def _row(self, node: Node, place: int) -> int:
        if place < 0:
            return -1
        labels = self.levels[node.n - 2].labels[node.first : node.last]
        at = int(labels.searchsorted(np.uint16(place)))
        return node.first + at if at < len(labels) and labels[at] == place else -1

    def _after(self, places: list[int]) -> Node | None:
        """The node of a history given by its common words, the last first."""
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
        """The same model in flat arrays, with the file's ids."""
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


def _span(level: Level, history: int) -> tuple[int, int]:
    """Where the n-grams of a history begin and end, one order above `level`."""
    begin, end = int(level.pick[history // PICK]), int(level.pick[history // PICK + 1])
    heads = _set_bits(level.head[begin >> 3 : (end >> 3) + 1]) + (begin & ~7)
    at = int(heads.searchsorted(begin)) + history % PICK
    return int(heads[at]), int(heads[at + 1]) if at + 1 < len(heads) else end


def _set_bits(bits: NDArray[np.uint8], count: int | None = None) -> Ints:
    return np.flatnonzero(np.unpackbits(bits, count=count, bitorder="little"))


def open(path: Path, verify: bool = True) -> Compact:
    """Map a file and check that it is whole; `verify` looks at every byte of it (about 1 ms for each megabyte)."""
    data, sections = map_file(path, FORM, verify)
    with fitting(path, FORM):
        found = _view(data, sections)
        if verify:
            _check(found)
        return found


def _check(model: Compact) -> None:
    """Whether every number leads somewhere, as the page's reader asks: a CRC tells damage, not malice."""

    def must(fits: Any, what: str) -> None:
        if not fits:
            raise ValueError(what)

    def rises(numbers: NDArray[Any]) -> bool:
        return bool((numbers[1:] >= numbers[:-1]).all())

    words, common = model.words, model.common
    must(rises(words.starts) and len(words.starts), "'blocks' is not in order")
    must(words.starts[-1] == len(words.text), "'blocks' does not cover the words")
    must(len(words.starts) == -(-words.count // BLOCK) + 1, "its words are not as many as it says")
    must((common[1:] > common[:-1]).all() and (common < len(model.p)).all(), "'common' is not in order")
    must(rises(model.starts), "'start2' is not in order")
    must(not np.isnan([*model.table, *model.backoff_table]).any(), "a table has what is no number")
    for n, level in enumerate(model.levels, start=2):
        must((level.labels < len(common)).all(), f"'label{n}' names words that are not there")
        must(not np.isnan(level.table).any(), f"'tp{n}' has what is no number")
        if n - 1 < len(model.levels):
            after = len(model.levels[n - 1].labels)
            deep, heads = _set_bits(level.deep, len(level.labels)), _set_bits(level.head, after)
            before = np.searchsorted(deep, np.arange(0, len(level.labels), RANK))
            must(np.array_equal(level.rank, before), f"'rank{n}' is not what 'deep{n}' says")
            must(
                np.array_equal(level.pick[:-1], heads[::PICK]),
                f"'pick{n + 1}' is not what 'head{n + 1}' says",
            )
            must(level.pick[-1] == after, f"'pick{n + 1}' does not cover the n-grams")
            must(len(deep) == len(heads) == len(level.backoff), f"'b{n}' does not fit its histories")
            must(not np.isnan(level.backoff_table).any(), f"'tb{n}' has what is no number")


def _view(data: mmap.mmap, sections: Places) -> Compact:
    """The arrays, as views of the file; ValueError or KeyError if one is missing or has the wrong length."""

    def array(name: str, kind: type[np.generic], count: int | None = None) -> NDArray[Any]:
        offset, size = sections[name]
        found = np.frombuffer(data, np.uint8, size, offset).view(np.dtype(kind).newbyteorder("<"))
        if count is not None and len(found) != count:
            raise ValueError(f"'{name}' has {len(found)} items, not {count}")
        return found

    def values(name: str) -> NDArray[np.float64]:
        return array(name, np.float32, 256).astype(np.float64)

    def bits(name: str, count: int) -> NDArray[np.uint8]:
        return array(name, np.uint8, -(-count // 8))

    facts = json.loads(array("meta", np.uint8).tobytes())
    v, *counts = facts["ngrams"]
    if v <= len(SPECIALS) or len(counts) != facts["order"] - 1:
        raise ValueError("no words, or not as many orders as it says")
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
        levels.append(Level(label, p, values(f"tp{n}"), *history))
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
