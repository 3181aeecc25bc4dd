"""Word-pieces: what an inventory must hold, that equal counts give equal bytes, and what is refused."""

from __future__ import annotations

import doctest
import io
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import sentencepiece
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.text import pieces, vocabulary
from tacit.text.pieces import MARKER, Pieces
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK

STEMS = ["walk", "talk", "play", "work", "look", "call", "open", "rain", "cook", "paint", "jump", "clean"]
ENDINGS = ["", "s", "ed", "ing", "er", "ers"]


@cache
def counts() -> dict[str, float]:
    """Words with endings in common, and the short words that a person types most."""
    table = {s + e: 40.0 // (1 + i + j) + 1 for i, s in enumerate(STEMS) for j, e in enumerate(ENDINGS)}
    return table | {"a": 900, "i": 800, ".": 1000, ",": 500, "don't": 300, "é": 2, "the": 700, "<unk>": 99}


@cache
def small() -> Pieces:
    return pieces.train(counts(), 48)


def test_the_inventory() -> None:
    found = small()
    words = found.vocabulary.words
    assert len(found) == len(words) == 48 and words[:3] == SPECIALS and len(set(words)) == 48
    assert all(MARKER not in piece[:-1] for piece in words)  # at the end or nowhere
    assert found.ends.tolist() == [i <= UNK or p.endswith(MARKER) for i, p in enumerate(words)]
    assert all(
        len(found.segment([w])[0]) == 1 for w in (".", "a", "i", "the", "don't")
    )  # the commonest words
    assert len(found.segment(["talkers"])[0]) > 1  # a rare one
    assert {c for w in counts() if w not in SPECIALS for c in w} <= set("".join(words))  # every character


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(st.sampled_from("walkingterspé.,'cdhmju"), min_size=1, max_size=9), max_size=6))
def test_words_come_back(words: list[str]) -> None:
    found = small()
    ids = found.encode(words)
    assert ids.dtype == np.int32 and ids[0] == BOS and ids[-1] == EOS
    assert found.decode(ids) == words
    assert [found.decode(s) for s in found.segment(words)] == [[w] for w in words]
    assert found.words_in(ids)[-1] == len(words) + 1
    for segment in found.segment(words):
        assert found.ends[list(segment)].tolist() == [False] * (len(segment) - 1) + [True]


def test_the_best_segmentation_by_probability() -> None:
    """Against every way to cut a word into pieces, with the scores of the file."""
    found = small()
    model = sentencepiece.SentencePieceProcessor(model_proto=found.proto)
    score = {p: model.get_score(i) for i, p in enumerate(found.vocabulary.words) if i > UNK}

    def best(rest: str) -> float:
        if not rest:
            return 0.0
        cut = [score[rest[:n]] + best(rest[n:]) for n in range(1, len(rest) + 1) if rest[:n] in score]
        return max(cut, default=-np.inf)

    for word in ("talkers", "painting", "don't", "cooker", "wed"):
        (segment,) = found.segment([word])
        assert sum(score[found.vocabulary.words[i]] for i in segment) == pytest.approx(
            best(word + MARKER), abs=1e-4
        )


def test_what_cannot_be_spelt_is_unknown() -> None:
    found = small()
    assert found.segment(["walk", "x", "walkx", "<unk>", "</s>", "a▁b", "▁", "a\0a"])[1:] == [(UNK,)] * 7
    assert found.decode(found.encode(["a", "x", "walks"])) == ["a", "<unk>", "walks"]
    assert found.decode(found.encode(["a", "talkers"])[:3]) == [
        "a",
        found.vocabulary.words[found.encode(["talkers"])[1]],
    ]


def test_equal_counts_give_equal_bytes(tmp_path: Path) -> None:
    table = counts()
    backwards = dict(reversed(list(table.items())))
    assert pieces.train(backwards, 48).proto == small().proto
    assert pieces.train({w: c * 0.125 for w, c in table.items()}, 48).vocabulary.words[:3] == SPECIALS
    file = tmp_path / "pieces.model"
    file.write_bytes(small().proto)
    assert pieces.load(file) == small() and pieces.inventory(file, 48) == small()
    assert str(tmp_path).encode() not in small().proto


def test_counts_of_any_range_make_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """However common the commonest word is, the rarest is on a line of its own and no sum overflows."""
    monkeypatch.setattr(pieces, "from_table", lambda lines, size: lines)
    told: Counter[str] = Counter()
    for line in pieces.train({"a": 2.0**70, "b": 1.0}, 9):
        word, count = line.split("\t")
        told[word] += int(count)
    assert told["b"] == 1 and told["a"] == pytest.approx(2**40, rel=1e-3)


def test_counts_from_a_file(tmp_path: Path) -> None:
    table = tmp_path / "counts.tsv"
    lines = [f"{w}\t{c}" for w, c in counts().items()]
    table.write_text("# words counted\n" + "\n".join(lines) + "\n", "utf-8")
    assert pieces.read_counts(table) == {w: float(c) for w, c in counts().items()}
    assert pieces.inventory(table, 48) == small()


def test_pieces_of_words_outside_a_vocabulary() -> None:
    found, draw = small(), np.random.default_rng(0)
    names = [w for w in counts() if w not in SPECIALS] + ["x", "lookan", "wa"]
    known = vocabulary.build(dict.fromkeys(names[:40], 1), 0)
    text = [[names[i] for i in draw.integers(0, len(names), 7)] for _ in range(30)]
    tokens = np.concatenate([found.encode(s) for s in text])
    expected = []
    for sentence in text:
        spelt = found.segment(sentence)
        expected += [
            False,
            *(w not in known.index for w, s in zip(sentence, spelt, strict=True) for _ in s),
            False,
        ]
    assert found.outside(known, tokens).tolist() == expected
    assert 0 < sum(expected) < len(expected)


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match=r"9999 pieces are too many: the counts allow \d+"):
        pieces.train(counts(), 9999)
    with pytest.raises(TacitError, match=r"10 pieces are too few: the characters alone need \d+"):
        pieces.train(counts(), 10)
    with pytest.raises(TacitError, match="needs counted words"):
        pieces.train({"<unk>": 3, "a": 0}, 10)
    with pytest.raises(TacitError, match="count of 'a' is -1"):
        pieces.train({"a": -1}, 10)
    table = tmp_path / "counts.tsv"
    table.write_text("a\t3\nb three\n", "utf-8")
    with pytest.raises(TacitError, match="line 2: expected word<TAB>count, found 'b three'"):
        pieces.read_counts(table)
    with pytest.raises(TacitError, match=r"none\.tsv: cannot read these counts \(No such file"):
        pieces.read_counts(tmp_path / "none.tsv")
    table.write_bytes(b"\xff\t1\n")
    with pytest.raises(TacitError, match="not UTF-8"):
        pieces.read_counts(table)

    file = tmp_path / "pieces.model"
    with pytest.raises(TacitError, match="cannot read this inventory"):
        pieces.load(file)
    file.write_bytes(small().proto[:100])
    with pytest.raises(TacitError, match="damaged"):
        pieces.load(file)
    file.write_bytes(small().proto)
    with pytest.raises(TacitError, match=r"has 48 pieces, but text\.pieces is 80"):
        pieces.inventory(file, 80)
    other = io.BytesIO()
    lines = [f"{w}\t{int(c)}" for w, c in counts().items()]
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines), model_writer=other, input_format="tsv", vocab_size=60, minloglevel=2
    )
    file.write_bytes(other.getvalue())
    with pytest.raises(TacitError, match="marks the beginning of words"):
        pieces.load(file)


def test_examples() -> None:
    assert doctest.testmod(pieces).failed == 0


def test_a_word_that_is_nearly_all_of_the_text_does_not_take_for_ever() -> None:
    """Equal lines one after another are slow in sentencepiece: without a bound this takes minutes."""
    counts = dict.fromkeys(("home", "soon", "later", "see", "you", "today", "lunch"), 100.0) | {"ok": 9e18}
    lines = pieces._lines(counts, 1.0)
    assert 2 * sum(line.startswith("ok\t") for line in lines) <= len(lines)
