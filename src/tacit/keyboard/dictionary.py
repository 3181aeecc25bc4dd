"""A dictionary of words that a model may not know, as hashes of their spellings.

A word that was typed and stands here is a word, so it is not corrected as though its letters were a slip. The
dictionary answers only whether a spelling is in it: it cannot suggest. Of other spellings, one in `range / n` passes
for a word. `tools/dictionary.py` makes the files in `dictionaries/`; the page reads the same file (`dictionary.js`).

A file, little-endian, bits from the lowest of each byte:

    8 bytes     TACITDIC
    4 × uint32  version, count n, range r, width k
    n · k bits  the low k bits of each gap, in whole bytes
    the rest    the rest of each gap, as so many zeros and a one, in whole bytes

A word's hash is h(word) mod r, with h the 32-bit FNV-1a hash of its letters, mixed by the last step of MurmurHash3. The
n hashes ascend; a gap is the difference to the hash before, the first to 0. This is Golomb's code (1966) with Rice's
choice of 2^k, in two streams so that numpy can read it without a loop.

A regular plural or possessive of a word is a word, too: `tools/dictionary.py` leaves such words out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints
from tacit.base.errors import TacitError
from tacit.text.locale import Locale

MAGIC, VERSION = b"TACITDIC", 1
_HEAD = struct.Struct("<8s4I")
_WORD = 2**32 - 1
_NOT_S = ("s", "x", "z", "ch", "sh", "o")  # words that end so take no plain s
_VOWELS = "aeiou"


class Dictionary(NamedTuple):
    """Hashes of words, ascending, each below `range`."""

    hashes: Ints
    range: int


EMPTY = Dictionary(np.zeros(0, np.int64), 1)


def hashed(word: str) -> int:
    """Returns the 32-bit hash of a word's letters.

    >>> hex(hashed("tea")), hex(hashed(""))
    ('0xe8fa72b1', '0xab3e7c0b')
    """
    h = 0x811C9DC5
    for byte in word.encode():
        h = (h ^ byte) * 0x01000193 & _WORD
    h = (h ^ h >> 16) * 0x85EBCA6B & _WORD
    h = (h ^ h >> 13) * 0xC2B2AE35 & _WORD
    return h ^ h >> 16


def build(words: Iterable[str], per_word: int) -> Dictionary:
    """Hashes words; one in `per_word` of other spellings will pass for one of them.

    >>> made = build(["tea", "cup"], 64)
    >>> made.range, [has(made, word) for word in ("tea", "cup", "eat")]
    (128, [True, True, False])
    """
    every = set(words)
    size = max(1, per_word * len(every))
    return Dictionary(np.unique([hashed(word) % size for word in every]).astype(np.int64), size)


def has(dictionary: Dictionary, spelling: str) -> bool:
    """Whether a spelling is in a dictionary, with letters as they stand."""
    h = hashed(spelling) % dictionary.range
    at = int(np.searchsorted(dictionary.hashes, h))
    return at < len(dictionary.hashes) and int(dictionary.hashes[at]) == h


def stem(spelling: str) -> str:
    """Returns the word of which a spelling is the possessive or the regular plural; "" if it is neither.

    >>> [stem(word) for word in ("kettles", "kettle's", "churchs", "potatos", "bus", "kettle")]
    ['kettle', 'kettle', '', '', '', '']
    """
    for end in ("'s", "s"):
        one = spelling.removesuffix(end)
        if one != spelling:
            break
    else:
        return ""
    if len(one) < 3 or (end == "s" and (one.endswith(_NOT_S) or (one[-1] == "y" and one[-2] not in _VOWELS))):
        return ""
    return one


def lists(dictionary: Dictionary, spelling: str, known: Callable[[str], bool]) -> bool:
    """Whether a spelling is a word by the dictionary; `known`: whether the model has a spelling."""
    one = stem(spelling)
    return has(dictionary, spelling) or (one != "" and (has(dictionary, one) or known(one)))


def to_bytes(dictionary: Dictionary) -> bytes:
    """Returns the file of a dictionary.

    >>> made = build(["tea", "cup", "kettle"], 64)
    >>> from_bytes(to_bytes(made), "made").hashes.tolist() == made.hashes.tolist()
    True
    """
    gaps = np.diff(dictionary.hashes, prepend=0)
    mean = dictionary.range / max(1, len(gaps))
    k = max(1, round(np.log2(max(2.0, mean * np.log(2)))))
    low = (gaps[:, None] >> np.arange(k) & 1).astype(np.uint8)  # [words, k] bits
    ends = np.cumsum((gaps >> k) + 1) - 1  # places of the ones
    rest = np.zeros(int(ends[-1]) + 1 if len(ends) else 0, np.uint8)
    rest[ends] = 1
    streams = [np.packbits(bits, bitorder="little").tobytes() for bits in (low.ravel(), rest)]
    return b"".join([_HEAD.pack(MAGIC, VERSION, len(gaps), dictionary.range, k), *streams])


def from_bytes(data: bytes, name: str) -> Dictionary:
    """Reads a file of a dictionary; `name` is for the error if it is none."""
    if len(data) < _HEAD.size or data[:8] != MAGIC:
        raise TacitError(f"{name}: this is no dictionary; make it again with tools/dictionary.py")
    _, version, count, size, k = _HEAD.unpack_from(data)
    if version != VERSION:
        raise TacitError(f"{name}: the dictionary has version {version}, and this Tacit reads {VERSION}")
    middle = _HEAD.size + (count * k + 7) // 8
    raw = np.frombuffer(data, np.uint8)
    low = np.unpackbits(raw[_HEAD.size : middle], bitorder="little")[: count * k].reshape(-1, k)
    ends = np.flatnonzero(np.unpackbits(raw[middle:], bitorder="little"))
    if not 0 < k < 32 or len(low) != count or len(ends) != count:
        raise TacitError(f"{name}: the dictionary is damaged; make it again with tools/dictionary.py")
    rest = np.diff(ends, prepend=-1) - 1
    hashes = np.cumsum((rest << k) + low.astype(np.int64) @ (1 << np.arange(k)))
    return Dictionary(hashes, size)


def raw_of(locale: Locale) -> bytes:
    """Returns the file of a locale's dictionary; nothing if it has none."""
    file = resources.files(__package__) / "dictionaries" / f"{locale.code}.hashes"
    return file.read_bytes() if file.is_file() else b""


@cache
def of_locale(locale: Locale) -> Dictionary:
    """Returns the dictionary of a locale; an empty one if it has none."""
    data = raw_of(locale)
    return from_bytes(data, f"{locale.code}.hashes") if data else EMPTY
