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

    meta      JSON: name, source, cased, created_by, order, ngrams ([V, G(2), …]); locale, unless en
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

Weights are rounded, so the sum over w is near 1 but not 1: within 0.4 % after most histories, 2 % or so after a few.
"""

from __future__ import annotations

import json
import mmap
import struct
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.base.sections import Format, Places, fitting, map_file
from tacit.ngram.compact.arrays import PICK, RANK, Compact, State, StoredOrder
from tacit.ngram.compact.checks import check
from tacit.ngram.compact.words import Words
from tacit.text.vocabulary import SPECIALS

MAGIC = b"TacitNG\n"
FORM = Format(MAGIC, 1, struct.Struct("<8sII"), "a compact n-gram file", "distil the model again")

__all__ = ["FORM", "MAGIC", "Compact", "State", "open"]


def open(path: Path, verify: bool = True) -> Compact:
    """Maps a file; with `verify` it checks every byte (about 1 ms for each megabyte)."""
    data, sections = map_file(path, FORM, verify)
    with fitting(path, FORM):
        stored = _view(data, sections)
        if verify:
            check(stored)
        return stored


def _view(data: mmap.mmap, sections: Places) -> Compact:
    """Returns the arrays as views of the file; raises ValueError or KeyError if one is missing or of wrong length."""

    def array(name: str, kind: type[np.generic], count: int | None = None) -> NDArray[Any]:
        offset, size = sections[name]
        if offset % 8:
            raise ValueError(f"'{name}' does not begin at a multiple of 8")
        items = np.frombuffer(data, np.uint8, size, offset).view(np.dtype(kind).newbyteorder("<"))
        if count is not None and len(items) != count:
            raise ValueError(f"'{name}' has {len(items)} items, not {count}")
        return items

    def values(name: str) -> NDArray[np.float64]:
        with np.errstate(invalid="ignore"):  # a NaN, which `check` refuses
            return array(name, np.float32, 256).astype(np.float64)

    def bits(name: str, count: int) -> NDArray[np.uint8]:
        return array(name, np.uint8, -(-count // 8))

    facts = json.loads(array("meta", np.uint8).tobytes().decode(), parse_constant=_no_number)
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
    array("text", np.uint8)  # checks its place
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


def _no_number(name: str) -> None:
    raise ValueError(f"'meta' has {name}, which is no number in JSON")
