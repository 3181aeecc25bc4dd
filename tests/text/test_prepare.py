"""What is kept aside stays aside, and dealing text to clients loses and doubles nothing."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacit.base.errors import TacitError
from tacit.text import held_out
from tacit.text import prepare as module
from tacit.text.packed import Packed
from tacit.text.population import Message
from tacit.text.prepare import (
    PartitionConfig,
    Prepared,
    TextConfig,
    context,
    prepare,
    sequences,
    whole_corpus,
)
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import BOS, EOS, SPECIALS, UNK, Vocabulary

FEW = TypistsConfig(users=20, messages=10)


def sentences(text: Packed) -> list[tuple[int, ...]]:
    return [tuple(text.tokens[a:b].tolist()) for a, b in zip(text.offsets, text.offsets[1:], strict=False)]


def of_person(text: Packed, name: str) -> list[tuple[int, ...]]:
    k = text.names.index(name)
    return sentences(text)[text.owners[k] : text.owners[k + 1]]


def words_of(text: Packed, words: Vocabulary) -> list[str]:
    return [word for s in sentences(text) for word in words.decode(s)]


def corpus(path: Path, people: dict[str, list[str]]) -> str:
    """JSON lines in which time, not the order of lines, says what came first."""
    rows = [
        {"user": user, "text": text, "time": time_}
        for user, texts in people.items()
        for time_, text in enumerate(texts)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in reversed(rows)))
    return str(path)


def marked(path: Path, people: int = 10, messages: int = 10) -> str:
    """Every message holds a word that says whose it is and when it was typed."""
    return corpus(path, {f"u{p}": [f"hello u{p}m{m} there" for m in range(messages)] for p in range(people)})


def ready(path: str, seed: int = 0, text: dict[str, object] | None = None, **split: object) -> Prepared:
    config = TextConfig(**{"corpus": path, "vocabulary": 0, **(text or {})})
    return prepare(config, PartitionConfig(**split), FEW, seed)


# Nothing leaks.


@pytest.mark.parametrize("seed", range(4))
def test_held_out_people_are_never_trained_on(tmp_path: Path, seed: int) -> None:
    found = ready(marked(tmp_path / "a.jsonl"), seed, {"held_out_users": 0.2})
    train, valid, test = (set(part.names) for part in (found.clients, found.valid, found.test))
    assert len(valid) == 2 and len(test) == 2 and len(train) == 6
    assert not train & valid and not train & test and not valid & test
    assert train | valid | test == {f"u{p}" for p in range(10)}
    assert found.seen is not None and set(found.seen.names) == train


def test_other_seeds_keep_other_people() -> None:
    kept = {prepare(TextConfig(vocabulary=50), PartitionConfig(), FEW, seed).test.names for seed in range(6)}
    assert len(kept) > 1


def test_held_out_text_is_the_latest_of_each_person(tmp_path: Path) -> None:
    path = marked(tmp_path / "a.jsonl")
    marks = [f"u{p}m{m}" for p in range(10) for m in range(10)]
    words = Vocabulary((*SPECIALS, "hello", "there", *marks))  # nothing is unknown
    found = prepare(TextConfig(corpus=path, held_out_text=0.3), PartitionConfig(), FEW, 0, words)
    assert found.seen is not None
    for name in found.clients.names:
        earlier, later = (
            [words.decode(s)[1] for s in of_person(part, name)] for part in (found.clients, found.seen)
        )
        assert earlier == [f"{name}m{m}" for m in range(7)]
        assert later == [f"{name}m{m}" for m in range(7, 10)]


def test_the_vocabulary_is_of_training_text_only(tmp_path: Path) -> None:
    found = ready(marked(tmp_path / "a.jsonl"), text={"held_out_text": 0.3})
    trained = {f"{name}m{m}" for name in found.clients.names for m in range(7)}
    assert set(found.vocabulary.words) == {*SPECIALS, "hello", "there"} | trained
    assert UNK not in set(found.clients.tokens.tolist())
    # so what only others, or only later messages, say is unknown
    assert all(s[2] == UNK for part in (found.valid, found.test, found.seen) for s in sentences(part))


def test_with_a_given_vocabulary_the_split_is_the_same(tmp_path: Path) -> None:
    path = marked(tmp_path / "a.jsonl")
    first = ready(path)
    again = prepare(TextConfig(corpus=path, vocabulary=0), PartitionConfig(), FEW, 0, first.vocabulary)
    for a, b in zip(first[1:5], again[1:5], strict=True):  # the four texts
        assert (
            a.names == b.names and np.array_equal(a.tokens, b.tokens) and np.array_equal(a.owners, b.owners)
        )


def split_directory(path: Path) -> str:
    path.mkdir()
    for name, word in (("train", "apple"), ("valid", "banana"), ("test", "cherry")):
        lines = "\n".join(f"{word} number {i} . And More {word} ." for i in range(8))
        (path / f"{name}.txt").write_text(lines + "\n")
    return str(path)


def test_a_corpus_with_its_own_splits_keeps_them(tmp_path: Path) -> None:
    path = split_directory(tmp_path / "ptb")
    found = ready(path, clients=4)
    assert "apple" in found.vocabulary.words
    assert not {"banana", "cherry"} & set(found.vocabulary.words)
    assert (len(sentences(found.clients)), len(sentences(found.valid)), len(sentences(found.test))) == (
        8,
        8,
        8,
    )
    assert found.seen is None and len(found.clients) == 4


def test_the_fedatt_protocol_counts_all_splits(tmp_path: Path) -> None:
    found = ready(split_directory(tmp_path / "ptb"), text={"protocol": "fedatt"}, clients=4)
    assert {"apple", "banana", "cherry", "and"} <= set(found.vocabulary.words)
    assert len(sentences(found.test)) == 16  # " . " ends a sequence
    assert "cherry" in words_of(found.test, found.vocabulary)
    assert UNK not in set(found.test.tokens.tolist())


def test_one_voice_is_split_by_sentences(tmp_path: Path) -> None:
    lines = [f"word{i} here" for i in range(60)]
    (tmp_path / "all.txt").write_text("\n".join(lines))
    found = ready(str(tmp_path / "all.txt"), clients=5)
    count = [len(sentences(part)) for part in (found.clients, found.valid, found.test)]
    assert sum(count) == 60 and min(count) > 0
    assert set(found.vocabulary.words) - {*SPECIALS, "here"} <= {f"word{i}" for i in range(60)}
    assert len(found.vocabulary) == 4 + count[0]  # only what was trained on
    trained = set(words_of(found.clients, found.vocabulary))
    assert not trained & (set(words_of(found.test, found.vocabulary)) - {"here", "<unk>"})


# Who holds what.

SPLITS = [
    {"kind": "user"},
    {"kind": "iid", "clients": 7},
    {"kind": "shards", "clients": 6, "shards": 2},
    {"kind": "shards", "clients": 5, "by": "length"},
    {"kind": "dirichlet", "clients": 6, "alpha": 0.1},
    {"kind": "dirichlet", "clients": 4, "by": "user", "alpha": 10.0},
    {"kind": "quantity", "clients": 9, "sigma": 2.0},
]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=12)
@given(split=st.sampled_from(SPLITS), seed=st.integers(0, 100), words=st.sampled_from([0, 4]))
def test_dealing_loses_and_doubles_nothing(split: dict[str, object], seed: int, words: int) -> None:
    config = TextConfig(vocabulary=60, max_words=words)
    found = prepare(config, PartitionConfig(**split), FEW, seed)
    # everything that people who are not held out typed, less their latest share, encoded one by one
    cut, population = sequences(config, False), Typists(FEW)
    held = set(found.valid.names) | set(found.test.names)
    expected: Counter[tuple[int, ...]] = Counter()
    for k in range(FEW.users):
        if population.user(k) in held:
            continue
        mine = population.messages(k)
        mine = mine[: len(mine) - min(len(mine) - 1, round(config.held_out_text * len(mine)))]
        expected.update(tuple(found.vocabulary.encode(s).tolist()) for m in mine for s in cut(m))
    assert Counter(sentences(found.clients)) == expected
    assert found.clients.sizes.min() > 0
    if split["kind"] != "user":
        assert len(found.clients) == split["clients"]


def test_topics_deal_topics() -> None:
    """Shards by topic give a client few topics: fewer than dealing at random does."""
    many = TypistsConfig(users=30, messages=30)
    by_sentence: dict[tuple[int, ...], str] = {}
    config = TextConfig(vocabulary=0)
    shards = prepare(config, PartitionConfig(kind="shards", clients=12), many, 0)
    for k in range(many.users):
        for m in Typists(many).messages(k):
            for s in sequences(config, False)(m):
                by_sentence.setdefault(tuple(shards.vocabulary.encode(s).tolist()), m.topic)

    def topics(found: Prepared) -> float:
        each = [len({by_sentence[s] for s in of_person(found.clients, name)}) for name in found.clients.names]
        return float(np.mean(each))

    mixed = prepare(config, PartitionConfig(kind="iid", clients=12), many, 0)
    assert topics(shards) < 0.7 * topics(mixed)


def test_topics_must_be_known(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match=r"partition\.by = 'topic'"):
        ready(marked(tmp_path / "a.jsonl"), kind="shards", clients=3)


def test_more_clients_than_sentences_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TacitError, match=r"partition\.clients is 1000"):
        ready(marked(tmp_path / "a.jsonl"), kind="iid", clients=1000)


# Odd people.


def test_a_person_of_one_word_is_a_client(tmp_path: Path) -> None:
    people = {f"u{p}": ["hello there", "see you"] for p in range(8)} | {"one": ["hi"], "space": ["\u200b"]}
    path = corpus(tmp_path / "a.jsonl", people)
    trained = 0
    for seed in range(5):
        found = ready(path, seed)
        for name in {"one", "space"} & set(found.clients.names):
            trained += 1
            assert len(of_person(found.clients, name)) == 1 and len(of_person(found.clients, name)[0]) == 3
    assert trained


def test_no_held_out_text_means_no_seen_figures(tmp_path: Path) -> None:
    assert ready(marked(tmp_path / "a.jsonl"), text={"held_out_text": 0.0}).seen is None
    single = corpus(tmp_path / "b.jsonl", {f"u{p}": [f"only this {p}"] for p in range(10)})
    assert ready(single).seen is None


@pytest.mark.parametrize("people", [2, 3])
def test_the_fewest_people(tmp_path: Path, people: int) -> None:
    path = marked(tmp_path / "a.jsonl", people)
    if people == 2:
        with pytest.raises(TacitError, match=r"2 people and text\.held_out_users"):
            ready(path)
    else:
        assert len(ready(path).clients) == 1


# A million.


def test_a_million_typists_are_ready_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(held_out, "_LAZY_HELD_OUT", 20)
    monkeypatch.setattr(module, "_LAZY_VOCABULARY", 60)
    million = TypistsConfig(users=1_000_000, messages=8)
    visited: list[int] = []
    made = Typists.messages
    monkeypatch.setattr(Typists, "messages", lambda self, k: visited.append(k) or made(self, k))
    found = prepare(TextConfig(vocabulary=150), PartitionConfig(), million, 0)
    assert len(visited) == 60 + 2 * 20  # nobody's text is made but of those counted and those kept apart
    assert len(found.clients) == 800_000 == len(found.clients.sizes)
    some = np.array([0, 5, 799_999])
    gathered = found.clients.gather(some)
    assert len(gathered) == 3 and gathered.sizes.min() > 0
    assert len(found.valid) == len(found.test) == 20
    assert not set(gathered.names) & (set(found.valid.names) | set(found.test.names))
    again = found.clients.gather(some[::-1])
    assert again.names == gathered.names[::-1]
    assert of_person(again, gathered.names[0]) == of_person(gathered, gathered.names[0])
    found.vocabulary.save(tmp_path / "words")
    visited.clear()
    prepare(TextConfig(vocabulary=150, words=str(tmp_path / "words")), PartitionConfig(), million, 0)
    assert len(visited) == 2 * 20  # with a list nobody has to be counted


def test_lazy_text_is_the_eager_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config, everyone = TextConfig(vocabulary=80), TypistsConfig(users=30, messages=6)
    eager = prepare(config, PartitionConfig(), everyone, 0)
    monkeypatch.setattr(held_out, "LAZY_ABOVE", 29)
    assert isinstance(prepare(config, PartitionConfig(), everyone, 0).clients, Packed)  # few messages
    monkeypatch.setattr(held_out, "LAZY_MESSAGES", 29)
    lazy = prepare(config, PartitionConfig(), everyone, 0)
    assert not isinstance(lazy.clients, Packed) and lazy.vocabulary == eager.vocabulary
    everybody = np.arange(len(eager.clients))
    made = lazy.clients.gather(everybody)
    assert len(lazy.clients) == len(eager.clients) and made.names == eager.clients.names
    assert np.array_equal(made.tokens, eager.clients.tokens)
    assert np.array_equal(made.offsets, eager.clients.offsets)
    assert np.array_equal(made.owners, eager.clients.owners)
    assert (lazy.test.names, sentences(lazy.test)) == (eager.test.names, sentences(eager.test))
    eager.vocabulary.save(tmp_path / "words")
    given = prepare(TextConfig(vocabulary=80, words=str(tmp_path / "words")), PartitionConfig(), everyone, 0)
    assert given.vocabulary == eager.vocabulary and not isinstance(given.clients, Packed)
    assert np.array_equal(given.clients.gather(everybody).tokens, eager.clients.tokens)
    with pytest.raises(TacitError, match=r"partition\.kind = 'iid' needs all text in memory"):
        prepare(config, PartitionConfig(kind="iid"), everyone, 0)


# What a model reads.


def test_long_messages_go_on_in_new_sequences() -> None:
    cut = sequences(TextConfig(max_words=3), False)
    assert cut(Message("One two three four")) == [["one", "two", "three"], ["four"]]
    assert sequences(TextConfig(max_words=0, case="keep"), False)(Message("One two")) == [["One", "two"]]
    assert cut(Message("")) == []
    assert sequences(TextConfig(), True)(Message("don't <unk> N")) == [["don't", "<unk>", "n"]]


def test_context_is_the_start_and_the_latest_words() -> None:
    words = Vocabulary((*SPECIALS, "are", "you", "ok"))
    config = TextConfig(max_words=3)

    def ids(text: str) -> list[int]:
        found = context(text, words, config)
        assert found.dtype == np.int32
        return found.tolist()

    assert ids("") == ids("  ") == [BOS]
    assert ids("Are you") == [BOS, 3, 4]
    assert ids("are they") == [BOS, 3, UNK]
    assert ids("are you ok are you") == [BOS, 5, 3, 4]  # the last max_words words
    assert EOS not in ids("</s> ok")


def test_a_whole_corpus_is_every_split_and_everybody(tmp_path: Path) -> None:
    words = Vocabulary((*SPECIALS, "hello"))
    path = marked(tmp_path / "a.jsonl")
    everybody = whole_corpus(TextConfig(corpus=path), FEW, words)
    assert len(everybody) == 10 and len(sentences(everybody)) == 100
    splits = whole_corpus(TextConfig(corpus=split_directory(tmp_path / "ptb")), FEW, words)
    assert len(sentences(splits)) == 24 and splits.owners.tolist() == [0, 8, 16, 24]
    assert splits.offsets[-1] == len(splits.tokens)


def test_text_that_is_scored_is_not_cut(tmp_path: Path) -> None:
    """A cut would score an end of message that nobody typed."""
    lines = [{"user": f"u{k}", "text": " ".join(["long"] * 7)} for k in range(10) for _ in range(10)]
    file = tmp_path / "long.jsonl"
    file.write_text("\n".join(map(json.dumps, lines)))
    config = TextConfig(corpus=str(file), vocabulary=0, max_words=3)
    ready = prepare(config, PartitionConfig(), TypistsConfig(), 0)
    assert isinstance(ready.clients, Packed) and ready.seen is not None
    assert ready.clients.lengths.max() == 4  # three words and an end
    for part in (
        ready.valid,
        ready.test,
        ready.seen,
        whole_corpus(config, TypistsConfig(), ready.vocabulary),
    ):
        assert set(part.lengths.tolist()) == {8}


@pytest.mark.parametrize("people", [1, 10])
def test_with_a_list_of_words_nothing_of_the_text_is_in_the_vocabulary(tmp_path: Path, people: int) -> None:
    """Otherwise every word is counted, also those that one person alone has typed."""
    text = marked(tmp_path / "messages.jsonl", people, messages=150)
    (tmp_path / "words").write_text("there\nzebra\nhello\n")
    config = TextConfig(corpus=text, vocabulary=0)
    counted = prepare(config, PartitionConfig(), TypistsConfig(), seed=0).vocabulary.words
    assert any("u0m" in word for word in counted)
    found = prepare(
        TextConfig(corpus=text, vocabulary=0, words=str(tmp_path / "words")),
        PartitionConfig(),
        TypistsConfig(),
        seed=0,
    )
    assert found.vocabulary.words == (*SPECIALS, "there", "zebra", "hello")
    assert isinstance(found.clients, Packed)
    assert set(words_of(found.clients, found.vocabulary)) == {"there", "<unk>", "hello"}
