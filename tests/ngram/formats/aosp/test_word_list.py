"""The words and weights of an AOSP dictionary, and `.combined` by its written grammar; reading and merging lists."""

from __future__ import annotations

import gzip
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from file_models import any_weights, kneser, refused
from tacit.base.errors import TacitError
from tacit.ngram.automaton import Automaton, distribution
from tacit.ngram.formats.aosp import combined
from tacit.ngram.formats.aosp.header import Header
from tacit.ngram.formats.aosp.merge import merged
from tacit.ngram.formats.aosp.word_list import WordList, listed, probability
from tacit.ngram.order_2 import order_2
from tacit.text import blocked
from tacit.text.vocabulary import SPECIALS, Vocabulary

GOOD = ("to", "be", "bee", "Bee", "été", "#or", "a=b", "don't", "well-known", "日本", "x2")
NO_WORDS = ("🙂", ".", "10:30", "1,000", ":-)", "a" * 48)
V = Vocabulary((*SPECIALS, *GOOD, *NO_WORDS))
HEAD = Header("en_GB", "Tacit demo", 1_700_000_000, 3)
List = dict[str, tuple[int, dict[str, int]]]


def parse(text: str) -> tuple[dict[str, str], List, set[str]]:
    """The grammar: a header of key=value, then words, each with the bigrams that follow it; and the offensive words."""
    first, *lines = text.splitlines()
    header = dict(re.fullmatch(r"([a-z]+)=([^=,]+)", part).groups() for part in first.split(","))
    words: List = {}
    offensive = set()
    for line in lines:
        if match := re.fullmatch(r" word=([^,]+),f=(\d+)(,possibly_offensive=true)?", line):
            assert match[1] not in words
            words[match[1]] = (int(match[2]), {})
            offensive |= {match[1]} if match[3] else set()
        else:
            match = re.fullmatch(r"  bigram=([^,]+),f=(\d+)", line)
            assert match and words, line
            bigrams = list(words.values())[-1][1]
            assert match[1] not in bigrams
            bigrams[match[1]] = int(match[2])
    assert text.endswith("\n") and next(iter(header)) == "dictionary"
    return header, words, offensive


def f(p: float) -> int:
    return min(255, max(1, round(255 + 8.58923700372 * math.log2(p))))


def written(path: Path, model: Automaton, v: Vocabulary = V, **more) -> tuple[dict[str, str], List, set[str]]:
    combined.write(path, listed(path, v, model, **more).words, HEAD)
    return parse(path.read_text("utf-8"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=15)
@given(st.integers(0, 9999), st.integers(1, 4), st.booleans())
def test_words_and_bigrams_by_the_formula(tmp_path: Path, seed: int, order: int, any_: bool) -> None:
    model = (any_weights if any_ else kneser)(seed, len(V), order, 60)
    found = listed(tmp_path, V, model)
    header, words, offensive = written(tmp_path / "en.combined", model)
    assert header == {
        "dictionary": "tacit:en_GB", "locale": "en_GB", "description": "Tacit demo", "date": "1700000000",
        "version": "3"
    }  # fmt: skip
    assert set(words) == set(GOOD) and not offensive
    assert found.no_words == len(NO_WORDS) + len(SPECIALS) and found.skipped == 0
    root, pairs = distribution(model, 0), order_2(model)
    assert [p for p, _ in words.values()] == sorted((f(root[V.index[w]]) for w in GOOD), reverse=True)
    p = {(V.words[a], V.words[b]): p for a, b, p in zip(pairs.first, pairs.second, pairs.p, strict=True)}
    for word, (own, bigrams) in words.items():
        assert own == f(root[V.index[word]])
        assert bigrams == {b: max(f(q), words[b][0]) for (a, b), q in p.items() if a == word and b in words}
    begins = found.words.begins.tolist()  # what begins a sentence is in the list, and not in this file
    opening = found.words.followers[begins[-2] : begins[-1]].tolist()
    said = dict(
        zip(
            (found.words.words[i] for i in opening),
            found.words.follower_f.tolist()[begins[-2] :],
            strict=True,
        )
    )
    assert said == {b: f(q) for (a, b), q in p.items() if a == "<s>" and b in words}


def test_the_likeliest_bigrams_stay(tmp_path: Path) -> None:
    model = kneser(5, len(V), 2, 200)
    every, two = (written(tmp_path / "x", model, most_bigrams=n)[1] for n in (60, 2))
    assert max(len(bigrams) for _, bigrams in every.values()) > 3
    for word, (_, bigrams) in two.items():
        assert list(bigrams) == list(every[word][1])[:2]


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        written(tmp_path / name, kneser(5, len(V), 3))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_blocked_words_are_marked_and_follow_nothing(tmp_path: Path) -> None:
    model = kneser(5, len(V), 2, 200)
    _, plain, _ = written(tmp_path / "x", model)
    assert any("bee" in bigrams for _, bigrams in plain.values())
    _, words, offensive = written(tmp_path / "x", model, block=blocked.of_words(["BEE", "nowhere"]))
    assert offensive == {"bee", "Bee"} and {w: f for w, (f, _) in words.items()} == {
        w: f for w, (f, _) in plain.items()
    }
    for word, (_, bigrams) in words.items():
        assert bigrams == {b: f for b, f in plain[word][1].items() if b not in offensive}
    assert combined.read(tmp_path / "x").words.offensive.sum() == 2


@pytest.mark.parametrize("bad", ["a,b", "b\x7f", "c\x1fd", "e\u2028f"])
def test_words_that_cannot_be_written(tmp_path: Path, bad: str) -> None:
    v = Vocabulary((*SPECIALS, "ok", bad, *V.words[5:]))
    model = kneser(5, len(v), 2, 100)
    refused(lambda: listed(tmp_path / "x", v, model), re.escape(repr(bad)), tmp_path)
    assert listed(tmp_path / "x", v, model, skip=True).skipped == 1
    words = written(tmp_path / "x", model, v, skip=True)[1]
    assert len(words) == len(GOOD) - 1
    assert bad not in words and all(bad not in bigrams for _, bigrams in words.values())


def test_other_bad_input(tmp_path: Path) -> None:
    marks = Vocabulary((*SPECIALS, ".", ",", "!", "?", ";", "7"))
    refused(lambda: listed(tmp_path / "x", marks, kneser(1, 9, 2)), "no words to list", tmp_path)
    refused(lambda: listed(tmp_path / "x", marks, kneser(1, 8, 2)), "8 words, its voc", tmp_path)


LIST = """dictionary=main:en,locale=en,description=English,date=1,version=54
 word=the,f=222,flags=,originalFreq=222
  bigram=end,f=230
  bigram=nowhere,f=9
 word=end,f=150,possibly_offensive=true
  shortcut=END,f=whitelist
 word=cant,f=0,not_a_word=true
  shortcut=can't,f=whitelist
  bigram=end,f=200
 word=never,f=0
 word={long},f=3
""".replace("{long}", "a" * 48)


def test_reading_a_list(tmp_path: Path) -> None:
    (tmp_path / "en.combined.gz").write_bytes(gzip.compress(LIST.encode()))
    found = combined.read(tmp_path / "en.combined.gz")
    words = found.words
    assert words.words == ("the", "end", "never") and words.f.tolist() == [222, 150, 0]
    assert words.offensive.tolist() == [False, True, False]
    assert words.begins.tolist() == [0, 1, 1, 1, 1] and words.followers.tolist() == [1]
    assert words.follower_f.tolist() == [230]
    assert (found.shortcuts, found.left_out) == (2, 4)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("", "no words"),
        ("dictionary=main:en\n", "no words"),
        ("word=a,f=1\n", "line 1: 'word=a,f=1' is not the header"),
        ("dictionary=main:en\n word=a,f=x\n", "line 2: f is 'x'"),
        ("dictionary=main:en\n word=a,f=256\n", "line 2: f is '256'"),
        ("dictionary=main:en\n word=a\n", "line 2: f is ''"),
        ("dictionary=main:en\n word=a,f=1\n word=a,f=1\n", "line 3: 'a' occurs a second time"),
        (
            "dictionary=main:en\n word=a,f=1\n  bigram=a,f=1\n  bigram=a,f=2\n",
            "line 4: 'a' follows 'a' a second time",
        ),
        ("dictionary=main:en\n what\n", "line 2: ' what' is no word, bigram or shortcut"),
    ],
)
def test_files_that_are_no_lists(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "x").write_text(text, "utf-8")
    refused(lambda: combined.read(tmp_path / "x"), re.escape(named), tmp_path)
    with pytest.raises(TacitError, match="nowhere"):
        combined.read(tmp_path / "nowhere")


def as_p(words: WordList) -> dict[tuple[str, ...], float]:
    """Every word and bigram with its probability; a bigram of the beginning has "" for the first word."""
    rows = (*words.words, "")
    found: dict[tuple[str, ...], float] = {
        (w,): float(p) for w, p in zip(words.words, probability(words.f), strict=True)
    }
    for i, word in enumerate(rows):
        for k in range(words.begins[i], words.begins[i + 1]):
            found[word, words.words[words.followers[k]]] = float(probability(words.follower_f[k]))
    return found


def test_merging_two_lists(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_text(LIST.replace("nowhere,f=9", "cant,f=9"), "utf-8")
    v = Vocabulary((*SPECIALS, "the", "end", "never", "new"))
    ours = listed(tmp_path, v, kneser(3, len(v), 2, 80)).words
    theirs = combined.read(tmp_path / "theirs").words
    one, two, both = as_p(ours), as_p(theirs), as_p(merged(ours, theirs))
    words = merged(ours, theirs)
    assert set(words.words) == {"the", "end", "never", "new"}
    assert words.f.tolist() == sorted(words.f.tolist(), reverse=True)
    silent = {"end", "never"}  # offensive, and f = 0
    assert words.offensive.tolist() == [word == "end" for word in words.words]
    for word in words.words:
        want = 0.0 if word == "never" else (one.get((word,), 0) + two.get((word,), 0)) / 2
        assert both[word,] == pytest.approx(want, rel=0.05)
    assert any(a == "" for a, *rest in both if rest)  # sentences begin as in ours
    pairs = {key for key in one.keys() | two.keys() if len(key) == 2 and key[1] not in silent}
    assert {key for key in both if len(key) == 2} == pairs
    for a, b in pairs:
        both_have = any(k[0] == a and len(k) == 2 for k in one) and any(
            k[0] == a and len(k) == 2 for k in two
        )
        want = (one.get((a, b), 0) + two.get((a, b), 0)) / (2 if both_have else 1)
        assert both[a, b] == pytest.approx(want, rel=0.05)
    assert merged(ours, theirs, blocked.of_words(["the"])).offensive.sum() == 2
    alone = merged(ours, ours)
    assert as_p(alone) == pytest.approx(one) and np.array_equal(alone.f, ours.f)
