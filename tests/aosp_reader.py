"""A small reader of AOSP's binary dictionary, version 202, written from the description of the format alone.

It shares no code with the writer and asks more of a file than the engine does: an exact end, ascending siblings, the
order of arrays by which the engine finds the letters of a word, and no address that is longer than it needs to be.
"""

from __future__ import annotations

from typing import NamedTuple

SENTENCE = chr(0x10FFFF) + "<s>"  # Python has no character 0x110000


class Node(NamedTuple):
    f: int
    offensive: bool
    not_a_word: bool
    bigrams: list[tuple[int, int]]  # address of the second word, steps


class Dict(NamedTuple):
    header: list[tuple[str, str]]
    words: dict[
        str, tuple[int, bool, bool, dict[str, int]]
    ]  # f, offensive, not a word, followers with their f


def parse(data: bytes) -> Dict:
    assert data[:4] == bytes.fromhex("9BC13AFE") and data[4:8] == bytes([0, 202, 0, 0])
    size = int.from_bytes(data[8:12], "big")
    strings, at = [], 12
    while at < size:
        text, at = _string(data, at)
        strings.append(text)
    assert at == size and len(strings) % 2 == 0
    body = data[size:]
    nodes: dict[int, tuple[str, Node]] = {}
    end = _array(body, 0, "", nodes)
    assert end == len(body)
    words = {}
    for word, node in nodes.values():
        followers = {}
        for target, steps in node.bigrams:
            second, other = nodes[target]
            step = (255 - other.f) / 16.5
            followers[second] = other.f + int((steps + 1) * step + 1e-4)
        assert len(followers) == len(node.bigrams) and word not in words
        words[word] = (node.f, node.offensive, node.not_a_word, followers)
    return Dict(list(zip(strings[::2], strings[1::2], strict=True)), words)


def _point(data: bytes, at: int) -> tuple[str, int]:
    if data[at] >= 0x20:
        return chr(data[at]), at + 1
    point = int.from_bytes(data[at : at + 3], "big")
    return (SENTENCE if point == 0x110000 else chr(point)), at + 3


def _string(data: bytes, at: int) -> tuple[str, int]:
    text = ""
    while data[at] != 0x1F:
        character, at = _point(data, at)
        text += character
    return text, at + 1


def _array(body: bytes, at: int, before: str, nodes: dict[int, tuple[str, Node]]) -> int:
    """Reads an array and, in order, all that lies below its nodes; returns where that ends."""
    count, at = (
        (body[at], at + 1) if body[at] < 0x80 else (int.from_bytes(body[at : at + 2], "big") & 0x7FFF, at + 2)
    )
    assert count > 0
    below, first = [], ""
    for _ in range(count):
        begin, flags, at = at, body[at], at + 1
        assert not flags & 0x08
        if flags & 0x20:
            letters, at = _string(body, at)
            assert len(letters) > 1
        else:
            letters, at = _point(body, at)
        assert letters[0] > first[:1]
        first = letters[0]
        f = 0
        if flags & 0x10:
            f, at = body[at], at + 1
        if wide := flags >> 6:
            away = int.from_bytes(body[at : at + wide], "big")
            assert away >= 1 << 8 * (wide - 1) or wide == 1
            below.append((at + away, before + letters))
            at += wide
        bigrams, more = [], bool(flags & 0x04)
        while more:
            flag, at = body[at], at + 1
            wide = flag >> 4 & 3
            away = int.from_bytes(body[at : at + wide], "big")
            assert wide and (away >= 1 << 8 * (wide - 1) or wide == 1)
            bigrams.append((at - away if flag & 0x40 else at + away, flag & 15))
            at, more = at + wide, bool(flag & 0x80)
        if flags & 0x10:
            nodes[begin] = before + letters, Node(f, bool(flags & 1), bool(flags & 2), bigrams)
        assert flags & 0x10 or flags >> 6
    for address, word in below:
        assert address == at
        at = _array(body, address, word, nodes)
    return at
