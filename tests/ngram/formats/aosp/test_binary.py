"""AOSP's binary dictionary: bytes worked out by hand, a reader of the format's description, and AOSP's engine."""

from __future__ import annotations

import doctest
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aosp_reader import SENTENCE, parse
from file_models import kneser, refused
from tacit.ngram.formats.aosp import binary, header, word_list
from tacit.ngram.formats.aosp.header import Header
from tacit.ngram.formats.aosp.word_list import WordList
from tacit.text.flat import ends
from tacit.text.vocabulary import SPECIALS, Vocabulary

HEAD = Header("en", "x", 7)
Engine = Callable[..., list[dict[str, Any]]]
Bigrams = dict[tuple[int, int], int]  # (row, follower): f; the row after the last word begins a sentence


def made(words: dict[str, int], bigrams: Bigrams, offensive: frozenset[str] = frozenset()) -> WordList:
    pairs = sorted(bigrams)
    return WordList(
        tuple(words),
        np.array(list(words.values()), np.int64),
        np.array([word in offensive for word in words], np.bool_),
        ends(np.bincount([row for row, _ in pairs], minlength=len(words) + 1)),
        np.array([follower for _, follower in pairs], np.int64),
        np.array([bigrams[pair] for pair in pairs], np.int64),
    )


def test_bytes_by_hand() -> None:
    words = made(
        {"be": 200, "bed": 100, "ж": 1},
        {(0, 1): 150, (0, 2): 200, (2, 0): 255, (3, 0): 230},
        frozenset({"bed"}),
    )
    strings = b"".join(
        text.encode() + b"\x1f"
        for text in (
            "date",
            "7",
            "dictionary",
            "tacit:en",
            "description",
            "x",
            "locale",
            "en",
            "version",
            "1",
        )
    )
    expected = (
        bytes.fromhex("9BC13AFE 00CA 0000") + (12 + len(strings)).to_bytes(4, "big") + strings
        # 0: three nodes: be, ж, and the beginning of a sentence
        + bytes.fromhex("03")
        # 1: children in one byte, several characters, a word, bigrams; "be", its end, f
        + bytes.fromhex("74") + b"be\x1f" + bytes([200])
        # 6: its array is at 25
        + bytes([25 - 6])
        # 7: after "be": "bed" (u 100, s 9.39: (150 − 105.7) / 9.39 = 4 steps), forward from 8 to 26, another follows
        + bytes([0x80 | 0x10 | 4, 26 - 8])
        # 9: after "be": "ж" (u 1, s 15.39: (200 − 9.7) / 15.39 = 12 steps), forward from 10 to 11
        + bytes([0x10 | 12, 11 - 10])
        # 11: a word, bigrams; one character of three bytes; f
        + bytes.fromhex("14 000436") + bytes([1])
        # 16: after "ж": "be" (u 200, s 3.33: (255 − 202.7) / 3.33 = 15 steps), back from 17 to 1
        + bytes([0x40 | 0x10 | 15, 17 - 1])
        # 18: a word that is none, bigrams; 0x110000; f
        + bytes.fromhex("16 110000 00")
        # 23: begins a sentence: "be" ((230 − 202.7) / 3.33 = 8 steps), back from 24 to 1
        + bytes([0x40 | 0x10 | 8, 24 - 1])
        # 25: the array below "be": a word, offensive; "d"; f
        + bytes.fromhex("01 11") + b"d" + bytes([100])
    )  # fmt: skip
    assert binary.encoded(Path("x"), words, HEAD) == expected


@st.composite
def lists(draw: st.DrawFn) -> WordList:
    letter = st.sampled_from("abcab'ÿĀж日😀 =#")
    words = draw(st.lists(st.text(letter, min_size=1, max_size=6), min_size=1, max_size=60, unique=True))
    f = {word: draw(st.integers(0, 255)) for word in words}
    places = st.tuples(st.integers(0, len(words)), st.integers(0, len(words) - 1))
    bigrams = draw(st.dictionaries(places, st.integers(0, 255), max_size=80))
    return made(f, bigrams, frozenset(word for word in words if draw(st.booleans())))


@settings(max_examples=60, deadline=None)
@given(lists())
def test_a_reader_of_the_description_finds_what_was_written(words: WordList) -> None:
    found = parse(binary.encoded(Path("x"), words, HEAD))
    assert dict(found.header) == HEAD.values()
    rows = (*words.words, SENTENCE)
    begins, u = words.begins.tolist(), words.f[words.followers]
    stored = binary.read_back(u, binary.steps(u, words.follower_f)).tolist()
    expected = {}
    for i, word in enumerate(rows):
        here = range(begins[i], begins[i + 1])
        followers = {words.words[words.followers[k]]: stored[k] for k in here}
        if word != SENTENCE:
            expected[word] = (int(words.f[i]), bool(words.offensive[i]), False, followers)
        elif followers:
            expected[word] = (0, False, True, followers)
    assert found.words == expected
    # as near as four bits allow: within half a step and rounding, or one step above the second word
    for own, wanted, got in zip(u.tolist(), words.follower_f.tolist(), stored, strict=True):
        step = (255 - own) / 16.5
        assert abs(got - max(wanted, own + step)) <= step / 2 + 2


def test_a_large_dictionary_has_addresses_of_every_size() -> None:
    """Arrays of more than 127 nodes, and distances of one, two and three bytes."""
    draw = np.random.default_rng(0)
    letters = 0x4E00 + draw.integers(300, size=(9000, 4))
    names = list(dict.fromkeys("".join(map(chr, row)) for row in letters.tolist()))
    bigrams = {(i, int(draw.integers(len(names)))): 200 for i in range(0, len(names) + 1, 3)}
    data = binary.encoded(Path("x"), made(dict.fromkeys(names, 150), bigrams), HEAD)
    found = parse(data)
    assert len(data) > 1 << 16 and len(found.words) == len(names) + 1
    for (row, follower), _ in list(bigrams.items())[:-1]:
        assert set(found.words[names[row]][3]) == {names[follower]}


def test_what_the_format_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out = tmp_path / "words.dict"
    good = made({"to": 1, "be": 2}, {})
    refused(lambda: binary.write(out, made({"a\x1fb": 1}, {}), HEAD), "control character", tmp_path)
    refused(lambda: binary.write(out, good._replace(words=("be", "be")), HEAD), "'be' occurs twice", tmp_path)
    monkeypatch.setattr(binary, "_MOST_NODES", 1)
    refused(lambda: binary.write(out, good, HEAD), "2 different characters", tmp_path)
    monkeypatch.setattr(binary, "_MOST_NODES", 9)
    monkeypatch.setattr(binary, "_FARTHEST", 0)
    far = made({"to": 1, "be": 2}, {(0, 1): 9})
    refused(lambda: binary.write(out, far, HEAD), "above 16 MB; list fewer words", tmp_path)


@pytest.mark.parametrize(
    "change",
    [{"locale": "en,GB"}, {"locale": ""}, {"locale": "en GB!"}, {"description": "a: b"}, {"description": "a=b"},
     {"description": "a\x1fb"}, {"locale": "e\nn"}, {"type": "a:b"}],
)  # fmt: skip
def test_a_header_that_would_not_be_understood(tmp_path: Path, change: dict[str, str]) -> None:
    head = Header(**{"locale": "en", "description": "x", "date": 0, **change})
    told = next(iter(change))
    refused(lambda: binary.write(tmp_path / "x", made({"to": 1}, {}), head), told, tmp_path)


@pytest.fixture(scope="session")
def engine() -> Engine:
    """`engine("ask", FILE, "3", text="<s>")`: the lines printed by AOSP's engine, which TACIT_AOSP_JUDGE names.

    benchmarks/aosp.py describes such a program.
    """
    judge = os.environ.get("TACIT_AOSP_JUDGE")
    if not judge:
        pytest.skip("TACIT_AOSP_JUDGE names no engine")

    def ask(*arguments: str | Path, text: str = "") -> list[dict[str, Any]]:
        called = [judge, *map(str, arguments)]
        done = subprocess.run(called, input=text, capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    return ask


class TestTheEngine:
    """AOSP's own reader; skipped without one."""

    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(words=lists())
    def test_it_reads_what_was_written(self, engine: Engine, tmp_path: Path, words: WordList) -> None:
        file = tmp_path / "words.dict"
        binary.write(file, words, HEAD)
        (head,) = engine("header", file)
        assert head["format"] == 202 and head["attributes"] == HEAD.values()
        read = {line["word"]: line for line in engine("dump", file)}
        for word, (f, offensive, not_a_word, followers) in parse(file.read_bytes()).words.items():
            line = read.pop("<s>" if word == SENTENCE else word)
            assert (line["f"], dict(line["ngrams"])) == (f, followers)
            assert (line.get("possibly_offensive", False), line.get("not_a_word", False)) == (
                offensive,
                not_a_word,
            )
        assert not read

    def test_it_suggests_in_the_order_of_the_weights(self, engine: Engine, tmp_path: Path) -> None:
        v = Vocabulary((*SPECIALS, "to", "be", "or", "not", "damn", "bee", "zoo", "a", "ab"))
        model = kneser(5, len(v), 3, 200)
        listed = word_list.listed(tmp_path, v, model, block=frozenset({"damn"})).words
        file = tmp_path / "words.dict"
        binary.write(file, listed, HEAD)
        names = (*listed.words, "<s>")
        said = {
            line["context"]: line["found"] for line in engine("ask", file, "18", text="\n".join(names) + "\n")
        }
        for word, (_, _, _, followers) in parse(file.read_bytes()).words.items():
            found = said["<s>" if word == SENTENCE else word]
            assert dict(found) == followers and "damn" not in dict(found)
            assert [f for _, f in found] == sorted(followers.values(), reverse=True)
        typed = engine("ask", file, "18", text="\tdamm\n\tbe\n\tdamn\n")
        offered = [[word for word, _ in line["found"]] for line in typed]
        assert "damn" not in offered[0] and offered[1][0] == "be" and "bee" in offered[1]
        assert "damn" in offered[2]  # whoever types it is not corrected


def test_examples() -> None:
    for module in (binary, header, word_list):
        assert doctest.testmod(module).failed == 0
