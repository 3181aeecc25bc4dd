"""Sorted words with front coding: each word stores only the part that differs from the word before it.

Words are in blocks of 16, in the order of their UTF-8 bytes. The first word of a block is stored in full, each other
word as the number of bytes that it shares with the word before it, and the rest:

    first word:    length, bytes
    other words:   bytes shared, length of the rest, bytes of the rest

Numbers are varints of at most four bytes: seven bits a byte, lowest first; the eighth bit is set if another byte
follows. `starts` holds the
start of each block, so a word is found by a binary search over the blocks' first words and a walk through one block.
Words with a common prefix are neighbours, so a typed prefix is a range of numbers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

BLOCK = 16


@dataclass(frozen=True)
class Words:
    """Words by number, 0 … count − 1."""

    count: int
    starts: NDArray[np.uint32]  # [blocks + 1] in `text`
    text: memoryview

    def __getitem__(self, number: int) -> str:
        """Returns the word with this number."""
        if not 0 <= number < self.count:
            raise IndexError(number)
        for at, word in enumerate(self._block(number // BLOCK)):
            if at == number % BLOCK:
                return word.decode("utf-8", "replace")
        raise IndexError(number)

    def find(self, word: str) -> int:
        """Returns the number of a word, −1 if it is missing."""
        key = word.encode("utf-8", "replace")
        number = self.before(key)
        return number if number < self.count and self[number] == word else -1

    def before(self, key: bytes) -> int:
        """Returns how many words sort before these bytes."""
        blocks = len(self.starts) - 1
        block = bisect_right(range(blocks), key, key=self._first) - 1
        if block < 0:
            return 0
        return block * BLOCK + bisect_left(list(self._block(block)), key)

    def starting(self, prefix: str) -> tuple[int, int]:
        """Returns the half-open range of numbers of the words with this prefix."""
        key = prefix.encode("utf-8", "replace")
        return self.before(key), self.before(key + b"\xff")  # 255 never occurs in UTF-8

    def every(self) -> tuple[str, ...]:
        """Returns all words in order."""
        return tuple(word.decode() for word in self.keys())

    def keys(self) -> Iterator[bytes]:
        """Yields the bytes of all words in order; raises a ValueError where a block is not made of whole words."""
        for block in range(len(self.starts) - 1):
            yield from self._block(block)

    def whole_blocks(self) -> bool:
        """Whether every block has 16 words, and the last one the others; raises an error as `keys` does."""
        sizes = [sum(1 for _ in self._block(block)) for block in range(len(self.starts) - 1)]
        left = self.count - BLOCK * (len(sizes) - 1)
        return sizes[:-1] == [BLOCK] * (len(sizes) - 1) and sizes[-1:] == [left]

    def _first(self, block: int) -> bytes:
        length, at = _number(self.text, int(self.starts[block]))
        return bytes(self.text[at : at + length])

    def _block(self, block: int) -> Iterator[bytes]:
        text = bytes(self.text[self.starts[block] : self.starts[block + 1]])
        word, at = b"", 0
        while at < len(text):
            shared = 0
            if at:
                shared, at = _number(text, at)
            length, at = _number(text, at)
            if shared > len(word) or at + length > len(text):
                raise ValueError("a word is cut short")
            word = word[:shared] + text[at : at + length]
            at += length
            yield word


def pack(words: Sequence[str]) -> Words:
    """Packs words that are sorted by their bytes.

    >>> packed = pack(["an", "and", "ant", "be"])
    >>> packed[2], packed.find("be"), packed.find("bee"), packed.starting("an"), len(packed.text)
    ('ant', 3, -1, (0, 3), 13)
    """
    text, starts, last = bytearray(), [], b""
    for number, word in enumerate(words):
        key, shared = word.encode(), 0
        if number % BLOCK:
            most = min(len(last), len(key))
            while shared < most and last[shared] == key[shared]:
                shared += 1
            text += _varint(shared)
        else:
            starts.append(len(text))
        text += _varint(len(key) - shared)
        text += key[shared:]
        last = key
    return Words(len(words), np.array([*starts, len(text)], np.uint32), memoryview(bytes(text)))


def _number(text: bytes | memoryview, at: int) -> tuple[int, int]:
    """Returns the varint that begins at `at`, and the position after it."""
    value = shift = 0
    while (byte := text[at]) >= 128:
        value |= (byte & 127) << shift
        shift += 7
        at += 1
        if shift > 21:
            raise ValueError("a word is too long")
    return value | byte << shift, at + 1


def _varint(value: int) -> bytes:
    data = bytearray()
    while value >= 128:
        data.append(value & 127 | 128)
        value >>= 7
    data.append(value)
    return bytes(data)
