"""The C reader refuses the files that Python refuses, and opens the others: thousands of damaged and forged ones."""

from __future__ import annotations

import ctypes
import random
import struct
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from reader_c import Refused, opened

import networks8
from file_models import any_weights, kneser, saved, vocabulary
from tacit.base.errors import TacitError
from tacit.base.sections import assemble, map_file
from tacit.lm import open as any_kind
from tacit.lm.network8 import reader as network8
from tacit.ngram.compact import reader, words, writer

TRIALS = 1500  # of each kind
NUMBERS = (0, 1, 255, 1 << 31, (1 << 32) - 1, 0x7F800000, 0x7FC00000, 0x3F800000)


def seal(data: bytes | bytearray) -> bytes:
    """Makes length and CRC-32 anew: what is changed is not damage but forgery."""
    body = bytearray(data)
    if len(body) >= 24:
        body[16:20] = struct.pack("<I", len(body))
        body[20:24] = struct.pack("<I", zlib.crc32(bytes(body[:20] + body[24:])))
    return bytes(body)


def changed(draw: random.Random, start: bytes) -> bytes:
    data = bytearray(start)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        at = draw.randrange(len(data) if draw.random() < 0.5 else min(len(data), 1300))
        match draw.randrange(6):
            case 0:
                data[at] ^= 1 << draw.randrange(8)
            case 1:
                data[at] = draw.randrange(256)
            case 2:
                data[at & ~3 : (at & ~3) + 4] = draw.choice(NUMBERS).to_bytes(4, "little")
            case 3:
                data[at : at + 4] = struct.pack("<f", draw.choice((0.5, 3.0, -1.0, 1e30, 0.001)))
            case 4:
                data[at] = ord(draw.choice('0123456789.-eE"{}[],:nulltrue'))
            case _:
                data[at] = draw.choice((0, 1, 127, 128, 255))
    if draw.random() < 0.1:
        del data[draw.randrange(len(data)) :]
    return seal(data) if draw.random() < 0.9 else bytes(data)


def by_python(path: Path) -> str:
    """Python's refusal, or "" if it opens the file."""
    try:
        any_kind.open(path)
    except TacitError as error:
        return str(error)
    return ""


def by_c(library: ctypes.CDLL, data: bytes) -> str:
    try:
        with opened(library, data):
            return ""
    except Refused as error:
        assert str(error) and "\n" not in str(error)
        return str(error)


@pytest.mark.parametrize("kind", ["compact", "network"])
def test_both_refuse_the_same_files(library: ctypes.CDLL, tmp_path: Path, kind: str) -> None:
    draw, path, seeds = random.Random(7), tmp_path / "x.tacit", list[bytes]()
    for n, (size, order) in enumerate([(20, 3), (40, 2), (30, 4), (25, 1)]):
        if kind == "compact":
            saved(tmp_path, (any_weights if n % 2 else kneser)(n + 1, size, order, 40), vocabulary(size))
            seeds.append((tmp_path / "m.tng").read_bytes())
        else:
            config = list(networks8.KINDS.values())[n]
            seeds.append(networks8.saved(tmp_path / "n", config, 30, max_words=4).read_bytes())
    seen, differ = Counter[bool](), list[tuple[str, str]]()
    for _ in range(TRIALS):
        data = changed(draw, draw.choice(seeds))
        path.write_bytes(data)
        python, c = by_python(path), by_c(library, data)
        seen[bool(python)] += 1
        if bool(python) != bool(c):
            differ.append((python, c))
    assert not differ, f"{len(differ)} of {TRIALS}: Python says {differ[0][0]!r}, C says {differ[0][1]!r}"
    assert min(seen.values()) > TRIALS // 20, seen


def sections_of(path: Path, form) -> dict[str, bytes]:
    data, places = map_file(path, form)
    return {name: bytes(data[at : at + size]) for name, (at, size) in places.items()}


def test_damage_is_told_in_the_same_way(library: ctypes.CDLL, tmp_path: Path) -> None:
    path = tmp_path / "m.tng"
    saved(tmp_path, kneser(1), vocabulary(20))
    good = path.read_bytes()
    assert by_c(library, good) == ""
    for data, said in (
        (b"", "the file is empty"),
        (b"PK" + good[2:], "it should begin with"),
        (good[:20], "cut short, 20 bytes"),
        (good[:8] + struct.pack("<I", 2) + good[12:], "format version 2"),
        (good[:-1], "copy it again"),
        (good + b"\0", "copy it again"),
        (good[:100] + bytes([good[100] ^ 1]) + good[101:], "damaged (its CRC-32"),
    ):
        path.write_bytes(data)
        assert said in by_c(library, data) and by_python(path)


def test_a_probability_above_one_is_refused_wherever_it_hides(library: ctypes.CDLL, tmp_path: Path) -> None:
    """Backoff weights above one that are legal, and a little more, which is not."""
    path, seen = tmp_path / "m.tng", Counter[tuple[bool, bool]]()
    for seed in range(12):
        saved(tmp_path, kneser(seed, 30, 2 + seed % 4, 60), vocabulary(30))
        sections = sections_of(path, reader.FORM)
        for name in [name for name in sections if name.startswith("tb")]:
            for more in (0.0, 0.01, 0.1, 0.5, 2.0, 30.0):
                table = np.frombuffer(sections[name], "<f4") + np.float32(more)
                data = assemble(reader.FORM, sections | {name: table.tobytes()})
                path.write_bytes(data)
                seen[bool(by_python(path)), bool(by_c(library, data))] += 1
    assert seen[True, True] > 40 and seen[False, False] > 40 and len(seen) == 2, seen


def test_crafted_files_are_refused_by_both(library: ctypes.CDLL, tmp_path: Path) -> None:
    """Files that were opened until there was a second reader: blocks of other sizes, a section that ends outside."""
    path = tmp_path / "x"
    saved(tmp_path, kneser(1, 50, 2), vocabulary(50))
    sections = sections_of(tmp_path / "m.tng", reader.FORM)
    small = reader.open(tmp_path / "m.tng").words
    other = [words.pack(list(small.every())[a:b]) for a, b in ((0, 15), (15, 31), (31, 47))]
    text = b"".join(bytes(part.text) for part in other)
    starts = np.cumsum([0, *(len(part.text) for part in other)])
    assert len(starts) == len(small.starts)
    path.write_bytes(
        assemble(reader.FORM, sections | {"text": text, "blocks": starts.astype("<u4").tobytes()})
    )
    assert "number of words" in by_python(path) and "number of words" in by_c(library, path.read_bytes())

    networks8.saved(path, networks8.KINDS["gru"], 30)
    whole = bytearray(path.read_bytes())
    at = whole.index(b"words".ljust(32, b"\0"), 24)
    struct.pack_into("<I", whole, at + 36, 1 << 30)
    path.write_bytes(seal(whole))
    assert by_python(path) and by_c(library, path.read_bytes())

    facts = sections_of(networks8.saved(path, networks8.KINDS["gru"], 30), network8.FORM)
    path.write_bytes(
        assemble(network8.FORM, facts | {"meta": facts["meta"].replace(b'"kind": "gru"', b'"kind": "lstm"')})
    )
    assert by_python(path) and by_c(library, path.read_bytes())
    for words_and_more in (facts["words"] + b"\0", facts["words"][:-1], facts["words"] * 2):
        path.write_bytes(assemble(network8.FORM, facts | {"words": words_and_more}))
        assert by_python(path) and by_c(library, path.read_bytes())
    nested = assemble(reader.FORM, sections | {"meta": b"[" * 100_000})
    path.write_bytes(nested)
    assert by_python(path) and by_c(library, nested)


FACTS: dict[
    str, list[tuple[bytes, bytes, bool]]
] = {  # what is replaced, by what, and whether the file is refused
    "network": [
        (b'"tied": true', b'"tied": 1', True),
        (b'"coupled": true', b'"coupled": null', True),
        (b'"residual": false', b'"residual": ""', True),
        (b'"residual": false', b'"residual": true', False),
        (b'"layers": 1', b'"layers": true', True),
        (b'"max_words": 0', b'"max_words": 7', False),
        (b'"max_words": 0', b'"max_words": 2147483647', False),
        (b'"max_words": 0', b'"max_words": 2147483648', True),
        (b'"max_words": 0', b'"max_words": -1', True),
        (b'"max_words": 0', b'"max_words": false', True),
        (b'"max_words": 0', b'"max_words": 5.0', True),
        (b'"max_words": 0', b'"max_words": 0, "x": 0.5', True),
        (b'"max_words": 0', b'"max_words": 0, "x": [1e3]', True),
        (b'"max_words": 0', b'"max_words": 0, "x": "0.5"', False),
        (b'"max_words": 0', b'"max_words": 0, "x": NaN', True),
        (b'"max_words": 0', b'"max_words": 0, "x": "\xed\xa0\x80"', True),
        (b"{", b"\xef\xbb\xbf{", True),
    ],
    "compact": [
        (b'"cased": true', b'"cased": false', False),
        (b'"order": 2', b'"order": 3', True),
        (b'"order": 2', b'"order": 2, "x": 0.5', False),
        (b'"order": 2', b'"order": 2, "x": -Infinity', True),
        (b'"order": 2', b'"order": 2, "x": "\xed\xa0\x80"', True),
        (b"{", b"\xef\xbb\xbf{", True),
    ],
}


@pytest.mark.parametrize("kind", FACTS)
def test_both_read_the_same_facts(library: ctypes.CDLL, tmp_path: Path, kind: str) -> None:
    """Options that are no option, numbers that are not whole, constants that are not JSON, text that is no UTF-8."""
    path, form = tmp_path / "m.tng", reader.FORM if kind == "compact" else network8.FORM
    if kind == "compact":
        saved(tmp_path, kneser(1, 50, 2), vocabulary(50))
    else:
        networks8.saved(path, networks8.KINDS["gru"], 30)
    sections = sections_of(path, form)
    for old, new, refused in FACTS[kind]:
        assert old in sections["meta"], sections["meta"]
        path.write_bytes(assemble(form, sections | {"meta": sections["meta"].replace(old, new, 1)}))
        python, c = by_python(path), by_c(library, path.read_bytes())
        assert (bool(python), bool(c)) == (refused, refused), (new, python, c)


def test_a_network_whose_output_does_not_fit_is_refused(library: ctypes.CDLL, tmp_path: Path) -> None:
    """A tied GRU whose embedding has another size than its state: every matrix is there, and no product is possible."""
    path = networks8.saved(tmp_path / "n", networks8.KINDS["gru"], 30)
    sections = sections_of(path, network8.FORM)
    thinner = {"embedding": sections["embedding"][: 30 * 8], "gru0/input": sections["gru0/input"][: 48 * 8]}
    meta = sections["meta"].replace(b'"embedding": 16', b'"embedding": 8')
    path.write_bytes(assemble(network8.FORM, sections | thinner | {"meta": meta}))
    assert "fit the output" in by_python(path) and "output does not fit" in by_c(library, path.read_bytes())
    assert writer.FORM is reader.FORM
