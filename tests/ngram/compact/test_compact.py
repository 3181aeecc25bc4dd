"""The compact file: by its written layout, against brute force on the same weights, and damaged in every way."""

from __future__ import annotations

import doctest
import json
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from file_models import any_weights, flat, kneser, refused, saved, sentences, vocabulary
from tacit.base.sections import assemble, map_file
from tacit.lm.protocol import suggest
from tacit.ngram import validity
from tacit.ngram.automaton import Automaton, Topology, distribution, log_probs
from tacit.ngram.compact import arrays, reader, search, writer
from tacit.ngram.compact import words as compact_words
from tacit.ngram.compact.model import CompactSource
from tacit.ngram.compact.search import best
from tacit.ngram.grams import grams, words
from tacit.text.vocabulary import SPECIALS, Vocabulary, by_bytes

files = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)


def complete(small, context, prefix, k: int = 3) -> list[tuple[str, float]]:
    return suggest(CompactSource(small), context, k, prefix)


def next_words(small, context, k: int = 3) -> list[tuple[str, float]]:
    return complete(small, context, "", k)


def by_the_layout(
    path: Path,
) -> tuple[list[str], dict[tuple[int, ...], float], dict[tuple[int, ...], float], dict]:
    """The file read as its description says, byte by byte: words, log p of n-grams, backoff of histories, meta."""
    data = path.read_bytes()
    magic, version, count, length, crc = struct.unpack_from("<8sIIII", data)
    assert (magic, version, length, crc) == (b"TacitNG\n", 1, len(data), zlib.crc32(data[:20] + data[24:]))
    section = {}
    for i in range(count):
        name, offset, size = struct.unpack_from("<8sII", data, 24 + 16 * i)
        assert offset % 8 == 0
        section[name.rstrip(b"\0").decode()] = data[offset : offset + size]

    def numbers(name: str, kind: str) -> tuple:
        return struct.unpack(f"<{len(section[name]) // struct.calcsize(kind)}{kind}", section[name])

    def bit(name: str, i: int) -> int:
        return section[name][i // 8] >> (i % 8) & 1

    meta = json.loads(section["meta"])
    text, at, spelt, word = section["text"], 0, [], b""
    while at < len(text):
        shared = 0
        if len(spelt) % 16:
            shared, at = text[at], at + 1
        size, at = text[at], at + 1
        word, at = word[:shared] + text[at : at + size], at + size
        spelt.append(word.decode())
    sizes = [None, *meta["ngrams"]]
    common, start2 = numbers("common", "I"), numbers("start2", "I")
    p = {(i,): numbers("tp1", "f")[c] for i, c in enumerate(section["p1"])}
    backoff, rows = {}, []
    for c, w in enumerate(common):
        if start2[c] < start2[c + 1]:
            backoff[(w,)] = numbers("tb1", "f")[section["b1"][c]]
        rows += [(w,)] * (start2[c + 1] - start2[c])  # the history of each bigram
    for n in range(2, meta["order"] + 1):
        assert len(rows) == sizes[n]
        grams = [(*h, common[x]) for h, x in zip(rows, numbers(f"label{n}", "H"), strict=True)]
        p |= {g: numbers(f"tp{n}", "f")[c] for g, c in zip(grams, section[f"p{n}"], strict=True)}
        if n == meta["order"]:
            break
        deep = [g for i, g in enumerate(grams) if bit(f"deep{n}", i)]
        backoff |= {g: numbers(f"tb{n}", "f")[c] for g, c in zip(deep, section[f"b{n}"], strict=True)}
        assert numbers(f"rank{n}", "I") == tuple(
            sum(bit(f"deep{n}", j) for j in range(i)) for i in range(0, len(grams), 512)
        )
        heads = [i for i in range(sizes[n + 1]) if bit(f"head{n + 1}", i)]
        assert numbers(f"pick{n + 1}", "I") == (*heads[::64], sizes[n + 1])
        rows = [
            h for h, a, b in zip(deep, heads, [*heads[1:], sizes[n + 1]], strict=True) for _ in range(b - a)
        ]
    return spelt, p, backoff, meta


@files
@given(st.integers(0, 9999), st.integers(1, 5))
def test_the_file_is_as_described(tmp_path: Path, seed: int, order: int) -> None:
    """Few weights, so that the tables hold them all: what is in the file is the model, but for float32."""
    v, model = vocabulary(20), any_weights(seed, 20, order, 12)
    saved(tmp_path, model, v, source="dreams")
    spelt, p, backoff, meta = by_the_layout(tmp_path / "m.tng")
    assert spelt == sorted(v.words[3:], key=str.encode)
    assert meta["name"] == "a model" and meta["source"] == "dreams"
    assert meta["cased"] is any(word != word.lower() for word in v.words)
    ids = [0, 1, 2, *(3 + spelt.index(word) for word in v.words[3:])]
    found = grams(model.topology)
    want_p, want_backoff = {}, {}
    for n in range(1, found.trie.order + 1):
        rows = [tuple(ids[w] for w in row) for row in words(found.trie, n).tolist()]
        want_p |= {g: model.log_p[a] for g, a in zip(rows, found.arcs[n], strict=True) if a >= 0}
        want_backoff |= {
            g: model.log_backoff[q] for g, q in zip(rows, found.states[n], strict=True) if q >= 0
        }
    assert p.pop((0,)) == -np.inf
    assert p.keys() == want_p.keys() and backoff.keys() == want_backoff.keys()
    assert meta["ngrams"] == [len(level) for level in found.trie.keys[1:]]
    np.testing.assert_allclose([p[g] for g in want_p], list(want_p.values()), rtol=1e-5)
    np.testing.assert_allclose(
        [backoff[g] for g in want_backoff], list(want_backoff.values()), rtol=1e-4, atol=1e-5
    )


def test_the_file_is_as_described_with_many_histories(tmp_path: Path) -> None:
    model = kneser(3, 300, 4, 900)
    saved(tmp_path, model, vocabulary(300))
    _, p, backoff, meta = by_the_layout(tmp_path / "m.tng")
    assert meta["ngrams"][1] > 1024 and len(backoff) > 1000  # several blocks of both kinds
    assert len(p) == len(model.log_p) + 1 and len(backoff) == len(model.topology) - 1


@files
@given(st.integers(0, 9999), st.integers(1, 5), st.integers(10, 200))
def test_it_says_what_its_automaton_says(tmp_path: Path, seed: int, order: int, count: int) -> None:
    v, model = vocabulary(40), kneser(seed, 40, order, count)
    small = saved(tmp_path, model, v)
    back, rounded = small.to_automaton()
    ids = by_bytes(v).ids
    assert [back.words[i] for i in ids] == list(v.words)
    assert len(rounded.log_p) == len(model.log_p) and not validity.check(rounded.topology).problems
    for body in [*sentences(seed + 1, 6, 40), [39, 2, 38]]:
        spelt = [v.words[i] if i > 2 else "never seen" for i in body]
        tokens, offsets = flat([[back.index.get(w, 2) for w in spelt]])
        states = rounded.topology.states_along(tokens, offsets)
        for at in range(1, len(tokens)):
            state = CompactSource(small).state(spelt[: at - 1]).histories
            every = log_probs(rounded, np.full(40, states[at]), np.arange(40))
            found = [small.log_prob(state, i) for i in range(1, 40)]
            np.testing.assert_allclose(found, every[1:], rtol=1e-12)
            assert small.state(tokens[:at].tolist()) == state


def brute(small: reader.Compact, state: reader.State, ids: list[int], k: int) -> list[tuple[int, float]]:
    scored = sorted((-small.log_prob(state, i), i) for i in ids if not small.hidden[i])
    return [(i, -cost) for cost, i in scored if cost < np.inf][:k]


@files
@given(
    st.integers(0, 9999),
    st.integers(1, 4),
    st.sampled_from([1, 2, 3, 7, 60]),
    st.sampled_from(["", "b", "be", "w", "w1", "日", "é", "x", "a"]),
    st.booleans(),
)
@example(0, 3, 60, "", True)
def test_suggestions_are_those_of_brute_force(
    tmp_path: Path, seed: int, order: int, k: int, prefix: str, any_: bool
) -> None:
    v = vocabulary(60)
    model = (any_weights if any_ else kneser)(seed, 60, order, 80)
    small = saved(tmp_path, model, v, hidden=["be", "w7919", "no such word"])
    for body in sentences(seed + 1, 8, 60):
        context = [v.words[i] if i > 2 else "?" for i in body]
        state = CompactSource(small).state(context).histories
        ids = [i for i in range(3, 60) if small.word(i).startswith(prefix)]
        want = [(small.word(i), pytest.approx(np.exp(p))) for i, p in brute(small, state, ids, k)]
        assert complete(small, context, prefix, k) == want
        assert best(small, state, k) == brute(small, state, list(range(60)), k)
    assert "be" not in dict(complete(small, [], "b", 60)) and "bee" in dict(complete(small, [], "b", 60))


@files
@given(st.integers(0, 9999), st.integers(1, 9))
def test_few_favourites_suffice(tmp_path: Path, seed: int, favourites: int) -> None:
    """Where all favourites follow the history, all unigrams are looked at."""
    v, model = vocabulary(40), any_weights(seed, 40, 3, 150)
    with pytest.MonkeyPatch.context() as patch:
        for module in (arrays, search):
            patch.setattr(module, "FAVOURITES", favourites)
        patch.setattr(search, "_FIRST", 1)
        small = saved(tmp_path, model, v)
        for body in sentences(seed + 1, 8, 40):
            context = [v.words[i] for i in body if i > 2]
            state = CompactSource(small).state(context).histories
            for k in (1, 3, 8, 40):
                assert best(small, state, k) == brute(small, state, list(range(40)), k)
                wanted = [small.word(i) for i, _ in brute(small, state, list(range(3, 40)), k)]
                assert [word for word, _ in next_words(small, context, k)] == wanted


def test_ties_go_to_the_lower_id(tmp_path: Path) -> None:
    shape = Topology(7, np.array([0, 6]), np.arange(1, 7), np.array([-1, 0, 0, 0, 0, 0]), np.array([-1]), 0)
    model = Automaton(shape, np.log([0.1, 0.1, 0.2, 0.2, 0.2, 0.2]), np.zeros(1))
    small = saved(tmp_path, model, Vocabulary((*SPECIALS, "d", "b", "c", "a")))
    assert [w for w, _ in next_words(small, [])] == ["a", "b", "c"]
    assert complete(small, ["d"], "d") == [("d", pytest.approx(0.2))]


@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), unique=True), st.text(max_size=2)
)
@example(["a" * 300, "a" * 300 + "b", "a" * 129], "a")
def test_front_coded_words(spelt: list[str], prefix: str) -> None:
    try:
        prefix.encode()
    except UnicodeEncodeError:
        prefix = ""
    ordered = sorted(spelt, key=str.encode)
    packed = compact_words.pack(ordered)
    assert packed.every() == tuple(ordered) and [packed[i] for i in range(len(ordered))] == ordered
    assert [packed.find(word) for word in ordered] == list(range(len(ordered)))
    assert packed.find(prefix + "\U0010ffff") == (
        ordered.index(w) if (w := prefix + "\U0010ffff") in ordered else -1
    )
    first, last = packed.starting(prefix)
    assert ordered[first:last] == [word for word in ordered if word.startswith(prefix)]
    with pytest.raises(IndexError):
        packed[len(ordered)]


def test_only_what_is_common_needs_to_be(tmp_path: Path) -> None:
    """70,000 words; with 65,536 of them in bigrams there is room, with one more there is not."""
    size = 70_000
    v = Vocabulary((*SPECIALS, *(f"{i:05}" for i in range(size - 3))))

    def chain(common: int) -> Automaton:
        """`<s>` goes on with the words 2 … common, 3 with one of them."""
        follow = np.arange(2, common + 1)
        labels = np.concatenate([np.arange(1, size), follow[1:], [2]])
        starts = np.array([0, size - 1, size - 2 + len(follow), size - 1 + len(follow)])
        targets = np.where(labels == 1, -1, np.where(labels == 3, 2, 0))
        shape = Topology(size, starts, labels, targets, np.array([-1, 0, 0]), 1)
        p = np.full(len(labels), -np.log(size))
        return Automaton(shape, p, np.array([0.0, -0.7, -0.5]))

    small = saved(tmp_path, chain(65_536), v)  # 0, 2, 3 … 65,536
    assert len(small.common) == 65_536 and small.levels[0].labels.max() == 65_535
    last = v.words[65_536]
    state = CompactSource(small).state([]).histories
    assert small.log_prob(state, small.id(last)) == pytest.approx(-np.log(size), abs=1e-5)
    assert small.log_prob(state, small.id(v.words[65_537])) == pytest.approx(-np.log(size) - 0.7, abs=1e-5)
    assert complete(small, [], last) == [(last, pytest.approx(1 / size))]
    assert [w for w, _ in complete(small, [], "6553")] == ["65530", "65531", "65532"]
    with pytest.raises(Exception, match="65,537 words are in n-grams of order 2"):
        saved(tmp_path, chain(65_537), v)


def test_equal_models_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a", "b"):
        writer.write(tmp_path / name, vocabulary(20), kneser(5), name="x")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_damage_is_told(tmp_path: Path) -> None:
    path = tmp_path / "m.tng"
    saved(tmp_path, kneser(1, 20, 3, 10), vocabulary(20))
    good = path.read_bytes()
    for end in [0, 1, 7, 8, 23, 24, 100, *range(200, len(good), 97)]:
        path.write_bytes(good[:end])
        refused(lambda: reader.open(path), "copy it again" if end else "the file is empty", tmp_path)
    draw = np.random.default_rng(0)
    for at in [8, 12, 16, 20, *draw.integers(24, len(good), 60).tolist()]:
        path.write_bytes(good[:at] + bytes([good[at] ^ 1 << int(draw.integers(8))]) + good[at + 1 :])
        refused(lambda: reader.open(path), "m.tng: ", tmp_path)
    path.write_bytes(good + b"\0")
    refused(lambda: reader.open(path), "bytes, but .* were written")
    path.write_bytes(b"PK" + good[2:])
    refused(lambda: reader.open(path), "not a compact n-gram file")
    path.write_bytes(good[:8] + struct.pack("<I", 2) + good[12:])
    refused(lambda: reader.open(path), "format version 2, but this Tacit reads version 1; update")
    refused(lambda: reader.open(tmp_path / "none"), "cannot read")
    refused(lambda: reader.open(tmp_path), "cannot read")


@pytest.mark.parametrize(
    "name", ["meta", "p1", "common", "start2", "label2", "pick3", "deep2", "hidden", "blocks"]
)
def test_sections_that_do_not_fit_are_told(tmp_path: Path, name: str) -> None:
    """A file whose CRC is right and whose sections are not: one is renamed, then one is shortened."""
    path = tmp_path / "m.tng"
    saved(tmp_path, kneser(1), vocabulary(20))
    good = path.read_bytes()
    at = good.index(name.encode().ljust(8, b"\0"), 24)

    def sealed(table: bytes) -> bytes:
        body = good[24:at] + table + good[at + 16 :]
        return good[:20] + struct.pack("<I", zlib.crc32(good[:20] + body)) + body

    path.write_bytes(sealed(b"else\0\0\0\0" + good[at + 8 : at + 16]))
    refused(lambda: reader.open(path), f"its sections do not fit together .*{name}")
    offset, size = struct.unpack("<II", good[at + 8 : at + 16])
    path.write_bytes(sealed(good[at : at + 8] + struct.pack("<II", offset, size - 1)))
    refused(lambda: reader.open(path), "its sections do not fit together")
    path.write_bytes(sealed(good[at : at + 8] + struct.pack("<II", len(good), size)))
    refused(lambda: reader.open(path), "its sections do not fit together")


@pytest.mark.parametrize(
    ("name", "kind", "at", "value", "told"),
    [
        ("start2", "<u4", 1, 2**31, "'start2' is not in order"),
        ("common", "<u4", 0, 2**31, "'common' is not in order"),
        ("common", "<u4", -1, 2**31, "'common' is not in order"),
        ("label2", "<u2", 0, 2**16 - 1, "'label2' refers to words outside 'common'"),
        ("rank2", "<u4", 0, 7, "'rank2' does not match 'deep2'"),
        ("pick3", "<u4", 0, 7, "'pick3' does not match 'head3'"),
        ("deep2", "u1", 0, 255, "'rank2'|'b2'"),
        ("blocks", "<u4", 0, 2**31, "'blocks' is not in order"),
        ("tp2", "<f4", 5, np.nan, "'tp2' has NaN"),
        ("tb1", "<f4", 5, np.nan, "'tb1' has NaN"),
        ("tb2", "<f4", 5, np.nan, "'tb2' has NaN"),
    ],
)
def test_numbers_that_lead_nowhere_are_told(
    tmp_path: Path, name: str, kind: str, at: int, value: float, told: str
) -> None:
    """A CRC tells damage, not malice: whoever makes a file makes its CRC."""
    path = tmp_path / "m.tng"
    saved(tmp_path, kneser(1), vocabulary(20))
    data, places = map_file(path, reader.FORM, True)
    sections = {k: bytes(data[offset : offset + size]) for k, (offset, size) in places.items()}
    path.write_bytes(assemble(reader.FORM, sections))
    reader.open(path)
    numbers = np.frombuffer(sections[name], kind).copy()
    numbers[at] = value
    path.write_bytes(assemble(reader.FORM, sections | {name: numbers.tobytes()}))
    refused(lambda: reader.open(path), told)


def test_facts_that_are_nested_without_end_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.tng"
    path.write_bytes(assemble(reader.FORM, {"meta": b"[" * 100_000}))
    refused(lambda: reader.open(path), "its sections do not fit together")


def test_bad_questions(tmp_path: Path) -> None:
    path, small = tmp_path / "x.tng", saved(tmp_path, kneser(1), vocabulary(20))
    refused(lambda: next_words(small, [], 0), "at least 1")
    refused(lambda: writer.write(path, vocabulary(19), kneser(1), name="x"), "vocabulary 19", tmp_path)
    shape = Topology(3, np.array([0, 2]), np.array([1, 2]), np.array([-1, 0]), np.array([-1]), 0)
    empty = Automaton(shape, np.log([0.5, 0.5]), np.zeros(1))
    refused(lambda: writer.write(path, Vocabulary(SPECIALS), empty, name="x"), "is empty", tmp_path)
    assert distribution(empty, 0).sum() == 1
    assert complete(small, ["to"], "no such beginning") == []


def test_examples() -> None:
    for module in (reader, search, compact_words, writer):
        assert doctest.testmod(module).failed == 0
