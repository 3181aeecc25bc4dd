"""The `.combined` word list by its written grammar, its numbers by the formula."""

from __future__ import annotations

import doctest
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_models import any_weights, kneser, refused
from tacit.ngram.automaton import distribution
from tacit.ngram.formats import aosp
from tacit.text.vocabulary import SPECIALS, Vocabulary

GOOD = ("to", "be", "bee", "Bee", "été", "or", "not", "don't", "well-known", "日本", "x2")
NO_WORDS = ("🙂", ".", "10:30", "1,000", ":-)", "a" * 48)
V = Vocabulary((*SPECIALS, *GOOD, *NO_WORDS))
HEAD = {"locale": "en_GB", "description": "Tacit demo", "date": 1_700_000_000, "version": 3}
List = dict[str, tuple[int, dict[str, int]]]


def parse(text: str) -> tuple[dict[str, str], List]:
    """The grammar: a header of key=value, then words, each with the bigrams that follow it."""
    first, *lines = text.splitlines()
    header = dict(re.fullmatch(r"([a-z]+)=([^=,]+)", part).groups() for part in first.split(","))
    words: List = {}
    for line in lines:
        if match := re.fullmatch(r" word=([^\s,=#][^\s,=]*),f=(\d+)", line):
            assert match[1] not in words
            words[match[1]] = (int(match[2]), {})
        else:
            match = re.fullmatch(r"  bigram=([^\s,=#][^\s,=]*),f=(\d+)", line)
            assert match and words, line
            bigrams = list(words.values())[-1][1]
            assert match[1] not in bigrams
            bigrams[match[1]] = int(match[2])
    assert text.endswith("\n")
    return header, words


def f(p: float) -> int:
    return min(255, max(1, round(255 + math.log(p) / math.log(1.15))))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.integers(0, 9999), st.integers(1, 4), st.booleans())
def test_words_and_bigrams_by_the_formula(tmp_path: Path, seed: int, order: int, any_: bool) -> None:
    model = (any_weights if any_ else kneser)(seed, len(V), order, 60)
    shape = model.topology
    written = aosp.write(tmp_path / "en.combined", V, model, **HEAD)
    header, words = parse((tmp_path / "en.combined").read_text("utf-8"))
    assert header == {
        "dictionary": "main:en_GB", "locale": "en_GB", "description": "Tacit demo", "date": "1700000000", "version": "3"
    }  # fmt: skip
    assert set(words) == set(GOOD) and written.words == len(GOOD)
    assert written.no_words == len(NO_WORDS) + len(SPECIALS) and written.skipped == 0
    root = distribution(model, 0)
    assert [p for p, _ in words.values()] == sorted((f(root[V.index[w]]) for w in GOOD), reverse=True)
    count = 0
    for word, (own, bigrams) in words.items():
        assert own == f(root[V.index[word]])
        state = shape.targets[shape.arc(np.array([0]), np.array([V.index[word]]))[0]]
        seen = (
            set()
            if state == 0
            else {V.words[i] for i in shape.labels[shape.starts[state] : shape.starts[state + 1]]}
        )
        assert set(bigrams) == seen & set(GOOD)
        after = distribution(model, state)
        for second, got in bigrams.items():
            assert got == max(f(after[V.index[second]]), words[second][0])
        count += len(bigrams)
    assert written.bigrams == count


def test_the_likeliest_bigrams_stay(tmp_path: Path) -> None:
    model = kneser(5, len(V), 2, 200)
    aosp.write(tmp_path / "all.combined", V, model, **HEAD)
    aosp.write(tmp_path / "two.combined", V, model, **HEAD, most_bigrams=2)
    every, two = (parse((tmp_path / f"{n}.combined").read_text("utf-8"))[1] for n in ("all", "two"))
    assert max(len(bigrams) for _, bigrams in every.values()) > 3
    shape = model.topology
    for word, (_, bigrams) in two.items():
        everyone = every[word][1]
        assert list(bigrams) == list(everyone)[:2]
        state = shape.targets[shape.arc(np.array([0]), np.array([V.index[word]]))[0]]
        p = distribution(model, state)
        odds = [p[V.index[second]] for second in everyone]
        assert odds == sorted(odds, reverse=True)


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        aosp.write(tmp_path / name, V, kneser(5, len(V), 3), **HEAD)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.parametrize("bad", ["a,b", "a=b", "#tag", "two words", "b\x7f", "c\u2009d"])
def test_words_that_cannot_be_written(tmp_path: Path, bad: str) -> None:
    v = Vocabulary((*SPECIALS, "ok", bad, *V.words[5:]))
    model = kneser(5, len(v), 2, 100)
    refused(lambda: aosp.write(tmp_path / "x", v, model, **HEAD), re.escape(repr(bad)), tmp_path)
    written = aosp.write(tmp_path / "x", v, model, **HEAD, skip=True)
    words = parse((tmp_path / "x").read_text("utf-8"))[1]
    assert written.skipped == 1 and len(words) == written.words == len(GOOD) - 1
    assert bad not in words and all(bad not in bigrams for _, bigrams in words.values())


@pytest.mark.parametrize(
    "change",
    [
        {"locale": "en,GB"},
        {"locale": ""},
        {"locale": "en GB!"},
        {"description": "a: b"},
        {"description": "a=b"},
        {"locale": "e\nn"},
    ],
)
def test_a_header_that_would_not_be_understood(tmp_path: Path, change: dict[str, str]) -> None:
    told = next(iter(change))
    refused(lambda: aosp.write(tmp_path / "x", V, kneser(1, len(V)), **{**HEAD, **change}), told, tmp_path)


def test_other_bad_input(tmp_path: Path) -> None:
    marks = Vocabulary((*SPECIALS, ".", ",", "!", "?", ";", "7"))
    refused(lambda: aosp.write(tmp_path / "x", marks, kneser(1, 9, 2), **HEAD), "no words to list", tmp_path)
    refused(lambda: aosp.write(tmp_path / "x", marks, kneser(1, 8, 2), **HEAD), "8 words, its voc", tmp_path)


def test_examples() -> None:
    assert doctest.testmod(aosp).failed == 0
