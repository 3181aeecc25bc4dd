"""Reading a file block by block, in flat arrays, gives what reading it all at once would."""

from __future__ import annotations

import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commands import file_size_limit
from tacit.base.errors import TacitError
from tacit.text import corpus, encode, flat, lines, spill
from tacit.text.packed import Packed
from tacit.text.prepare import PartitionConfig, Prepared, TextConfig, prepare
from tacit.text.tokens import tokenize
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import Vocabulary, build

NOBODY = TypistsConfig()


@contextmanager
def small_pieces(helpers: int = 1) -> Iterator[None]:
    """Everything that is done in pieces is done in pieces of next to nothing, and on disk."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "_PIECE", 50)
        patch.setattr(corpus, "blocks", partial(lines.blocks, size=90))
        patch.setattr(spill, "_IN_MEMORY", 40)
        patch.setattr(encode, "_TOGETHER", 3)
        patch.setattr(encode, "_MADE_TOGETHER", 10)
        patch.setattr(flat, "AT_ONCE", 7)
        for module in (corpus, encode):
            patch.setattr(module, "_LARGE", -1)
            patch.setattr(module, "cores", lambda: helpers)
        yield


# The obvious reading: everything a Python object, one after another.


def obvious(path: Path) -> dict[str, list[str]]:
    people: dict[str, list[tuple[Any, str]]] = {}
    for line in path.read_text("utf-8").splitlines():
        record = json.loads(line)
        people.setdefault(record["user"], []).append((record.get("time"), record["text"]))
    return {
        user: [text for _, text in (mine if None in dict(mine) else sorted(mine, key=lambda m: m[0]))]
        for user, mine in people.items()
    }


def obvious_ids(texts: list[str], words: Vocabulary, limit: int) -> list[list[int]]:
    found = []
    for text in texts:
        tokens = tokenize(text.lower())
        for start in range(0, len(tokens), limit or len(tokens)):
            piece = tokens[start : start + (limit or len(tokens))]
            found.append([0, *(words.index.get(token, 2) for token in piece), 1])
    return found


def held(text: Packed) -> dict[str, list[list[int]]]:
    sentences = [text.tokens[a:b].tolist() for a, b in zip(text.offsets, text.offsets[1:], strict=False)]
    return {name: sentences[text.owners[k] : text.owners[k + 1]] for k, name in enumerate(text.names)}


def expected(
    people: dict[str, list[str]], ready: Prepared, limit: int
) -> tuple[Vocabulary, dict[str, dict[str, list[list[int]]]]]:
    """What `ready` must hold, given only who is in which of its parts; a tenth of everybody's text is later."""
    trained = [user for user in people if user not in (*ready.valid.names, *ready.test.names)]
    cut = {u: len(people[u]) - min(len(people[u]) - 1, round(0.1 * len(people[u]))) for u in trained}
    counted = Counter(t for u in trained for text in people[u][: cut[u]] for t in tokenize(text.lower()))
    words = build(counted, 0)
    scored = 1000 if limit else 0
    return words, {
        "clients": {u: obvious_ids(people[u][: cut[u]], words, limit) for u in trained},
        "seen": {u: obvious_ids(people[u][cut[u] :], words, scored) for u in trained},
        "valid": {u: obvious_ids(people[u], words, scored) for u in ready.valid.names},
        "test": {u: obvious_ids(people[u], words, scored) for u in ready.test.names},
    }


def check(path: Path, limit: int) -> None:
    people = obvious(path)
    source = corpus.read(path)
    assert [source.user(k) for k in range(len(source))] == list(people)
    assert [[m.text for m in source.messages(k)] for k in range(len(source))] == list(people.values())
    ready = prepare(
        TextConfig(corpus=str(path), vocabulary=0, max_words=limit), PartitionConfig(), NOBODY, seed=1
    )
    words, parts = expected(people, ready, limit)
    assert ready.vocabulary == words
    for name, part in parts.items():
        text = getattr(ready, name)
        if text is None:
            assert name == "seen" and not any(part.values())
            continue
        assert held(text) == part and list(text.names) == list(part), name
        assert (text.tokens.dtype, text.offsets.dtype, text.owners.dtype) == (np.int32, np.int64, np.int64)


# A person's times are all numbers, all dates, or not all there.
NUMBER = st.integers(-3, 12) | st.integers(-(10**22), 10**22)
DATES = st.sampled_from(
    ["2024-05", "2024-05-01", "2024-05-01 09:00", "2024-05-01T09:00", "1999-12-31", "2024-05-01T09:00é"]
)
KINDS = {"number": NUMBER, "date": DATES, "gaps": st.none() | NUMBER | DATES, "none": st.none()}
WORDS = st.sampled_from(
    ["Hi", "hi", "you,", "don’t", ":)", "3.50", "<unk>", "</s>", "é😀", "a\u2028b", "\u200b"]
)
MESSAGE = st.lists(WORDS, min_size=1, max_size=7).map(" ".join)


@st.composite
def interleaved(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Messages of a few people, through one another."""
    kinds = draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=3, max_size=8))
    rows = []
    for k, kind in enumerate(kinds):
        moments = draw(st.lists(KINDS[kind], min_size=1, max_size=6))
        for moment in [*moments, None] if kind == "gaps" else moments:
            row = {"user": f"ü{k}", "text": f"{draw(MESSAGE)} m{len(rows)}"}
            rows.append(row if moment is None else row | {"time": moment})
    return draw(st.permutations(rows))


@settings(max_examples=60)
@given(rows=interleaved(), limit=st.sampled_from([0, 2, 30]))
def test_streamed_is_what_the_obvious_reading_gives(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]], limit: int
) -> None:
    path = tmp_path_factory.mktemp("stream") / "m.jsonl"
    # U+2028 is escaped, for `splitlines` takes it for the end of a line
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    with small_pieces():
        check(path, limit)


def rows_of(people: int, messages: int, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    words = [f"{a}{b}" for a in "bcdfgh" for b in ("a", "e's", "i,", "o")]
    return [
        json.dumps(
            {
                "user": f"u{draw.integers(people)}",
                "time": int(draw.integers(1000)),
                "text": " ".join(draw.choice(words, 1 + draw.integers(12))),
            }
        )
        for _ in range(messages)
    ]


def test_helpers_change_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join(rows_of(9, 120)).encode()))
    plain = tmp_path / "m.jsonl"
    plain.write_bytes(gzip.decompress(path.read_bytes()))
    with small_pieces(helpers=2):
        check(plain, 4)
        found = prepare(TextConfig(corpus=str(path), vocabulary=0), PartitionConfig(), NOBODY, 0)
        made = prepare(TextConfig(vocabulary=40), PartitionConfig(), TypistsConfig(users=6, messages=3), 0)
    alone = prepare(TextConfig(corpus=str(path), vocabulary=0), PartitionConfig(), NOBODY, 0)
    made_alone = prepare(TextConfig(vocabulary=40), PartitionConfig(), TypistsConfig(users=6, messages=3), 0)
    for a, b in ((found, alone), (made, made_alone)):
        assert a.vocabulary == b.vocabulary
        for name in ("clients", "valid", "test", "seen"):
            assert held(getattr(a, name)) == held(getattr(b, name)), name


def test_plain_text_in_pieces(tmp_path: Path) -> None:
    path = tmp_path / "all.txt"
    path.write_text("\ufeff" + "".join(f" Línea {i} . And {i % 7}! \r\n\n" for i in range(90)), "utf-8")
    whole = [prepare(TextConfig(corpus=str(path), vocabulary=0, protocol=p), PartitionConfig(clients=5), NOBODY, 0)
             for p in ("plain", "fedatt")]  # fmt: skip
    with small_pieces():
        pieces = [prepare(TextConfig(corpus=str(path), vocabulary=0, protocol=p), PartitionConfig(clients=5), NOBODY, 0)
                  for p in ("plain", "fedatt")]  # fmt: skip
        said = [m.text for m in corpus.read(path).messages(0)]
    assert said == [f"Línea {i} . And {i % 7}!" for i in range(90)]
    for a, b in zip(whole, pieces, strict=True):
        assert (
            a.vocabulary == b.vocabulary
            and held(a.clients) == held(b.clients)
            and held(a.test) == held(b.test)
        )
    assert sum(len(s) for s in held(pieces[1].clients).values()) > sum(
        len(s) for s in held(pieces[0].clients).values()
    )


# What is wrong is told as before: the earliest mistake, by its line.


@pytest.mark.parametrize("helpers", [1, 2])
def test_the_earliest_mistake_is_told(tmp_path: Path, helpers: int) -> None:
    rows = rows_of(5, 60)
    whole = "\n".join(rows).encode() + b"\n"

    def said(raw: bytes, name: str = "m.jsonl") -> str:
        (tmp_path / name).write_bytes(raw)
        with small_pieces(helpers), pytest.raises(TacitError) as error:
            corpus.read(tmp_path / name)
        return str(error.value)

    start = whole.index(rows[40].encode())
    bad_byte = whole[:start] + b"\xff" + whole[start:]
    assert f"m.jsonl, line 41: byte {start} is not UTF-8" in said(bad_byte)
    bad_line = bad_byte.replace(rows[30].encode(), b"{no", 1)
    assert "m.jsonl, line 31: not valid JSON" in said(bad_line)
    cut = gzip.compress(b"{no\n" + os.urandom(5000).hex().encode())[:-2000]
    assert "line 1: not valid JSON" in said(cut, "m.jsonl.gz")
    with pytest.raises(TacitError, match="line 1: not valid JSON"):  # all in one block, too
        corpus.read(tmp_path / "m.jsonl.gz")
    both = whole + b'{"user": "u0", "time": "2024-01-01", "text": "x"}\n'
    assert "m.jsonl, line 61: \"time\" of 'u0' is both dates and numbers" in said(both)


def test_a_disk_without_room_for_the_corpus(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text("\n".join(rows_of(5, 400)))
    with small_pieces(), file_size_limit(4096), pytest.raises(TacitError, match="TMPDIR") as error:
        corpus.read(path)
    assert "\n" not in str(error.value)


def test_how_far_it_is_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_text("\n".join(rows_of(9, 200)))
    told: list[tuple[str, float]] = []
    with small_pieces():
        prepare(
            TextConfig(corpus=str(path), vocabulary=0),
            PartitionConfig(),
            NOBODY,
            0,
            progress=lambda *t: told.append(t),
        )
    for what in ("reading", "splitting into words"):
        shares = [share for w, share in told if w == what]
        assert len(shares) > 20 and shares == sorted(shares) and shares[-1] == 1.0, what
