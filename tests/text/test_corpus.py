"""Corpora: what each layout of file becomes, and one clear line for every way a file can be wrong."""

import gzip
import json

import numpy as np
import pytest

from tacit.base.errors import TacitError
from tacit.text.corpus import Corpus, SplitCorpus, fingerprint, from_messages, read
from tacit.text.encode import counts, everybody, of_people, splitter
from tacit.text.vocabulary import build


def write(path, content):
    data = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def jsonl(*records):
    return "".join(json.dumps(r) + "\n" for r in records)


def said(path, protocol="plain"):
    with pytest.raises(TacitError) as error:
        read(path, protocol)
    message = str(error.value)
    assert "\n" not in message
    return message


def words_of(corpus):
    text = everybody(corpus, lower=False)
    return counts(text, of_people(text, np.arange(len(corpus)), limit=0))


def texts(corpus, k=0):
    return [m.text for m in corpus.messages(k)]


@pytest.mark.parametrize("name", ["chat.jsonl", "chat.jsonl.gz", "chat.ndjson", "chat.dat"])
def test_json_lines_by_user(tmp_path, name):
    lines = jsonl(
        {"user": "bo", "text": "b2", "time": "2024-01-02"},
        {"user": "ana", "text": "a1"},
        {"user": "bo", "text": "b1", "time": "2024-01-01T09:00"},
        {"user": "ana", "text": "  "},
        {"user": "nobody", "text": ""},
        {"user": "ana", "text": "a2", "time": "2001-01-01"},
    )
    c = read(write(tmp_path / name, lines + "\n\n"))
    assert isinstance(c, Corpus)
    assert (c.name, len(c), c.pretokenized) == ("chat", 2, False)
    assert [c.user(k) for k in range(2)] == ["bo", "ana"]
    assert texts(c, 0) == ["b1", "b2"]  # all have a time: in its order
    assert texts(c, 1) == ["a1", "a2"]  # one has none: the file's order
    assert [m.time for m in c.messages(1)] == ["", "2001-01-01"]
    assert c.sizes().tolist() == [2, 2]
    assert c.sizes().dtype == np.int64


def test_whole_number_times_sort_as_numbers_and_ties_keep_their_order(tmp_path):
    lines = jsonl(
        *({"user": "u", "text": f"{t}{c}", "time": t} for t, c in [(10, "a"), (9, ""), (10, "b"), (-1, "")])
    )
    c = read(write(tmp_path / "a.jsonl", lines))
    assert texts(c) == ["-1", "9", "10a", "10b"]
    assert c.messages(0)[0].time == "-1"


def test_half_a_surrogate_pair_becomes_a_replacement(tmp_path):
    c = read(write(tmp_path / "a.jsonl", '{"user": "u", "text": "x \\ud800 y \\ud83d\\ude00"}\n'))
    assert texts(c)[0].encode()  # can be written again
    assert texts(c)[0].endswith("y 😀")


@pytest.mark.parametrize("name", ["pt.txt", "pt.txt.gz", "pt"])
def test_plain_text_is_one_person(tmp_path, name):
    c = read(write(tmp_path / name, "\ufeffOlá, você!\r\n\r\n  \nSegunda\u2028linha"))
    assert (len(c), c.user(0)) == (1, "all")
    assert texts(c) == ["Olá, você!", "Segunda\u2028linha"]
    assert splitter(False, c.pretokenized)("Olá, você!") == ["Olá", ",", "você", "!"]


def test_gzip_is_known_by_its_content(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(gzip.compress(b"hello\n"))
    assert texts(read(path)) == ["hello"]


def test_tsv_takes_the_last_column(tmp_path):
    assert texts(read(write(tmp_path / "s.tsv.gz", "ham\tok lar\nspam\tWIN\n"))) == ["ok lar", "WIN"]


@pytest.mark.parametrize(
    "names",
    [
        ("train.txt", "valid.txt", "test.txt"),
        ("train.txt.gz", "valid.txt.gz", "test.txt.gz"),
        ("ptb.train.txt", "ptb.valid.txt", "ptb.test.txt"),
        ("wiki.train.tokens", "wiki.valid.tokens", "wiki.test.tokens"),
        ("wiki.train.raw", "wiki.validation.raw", "wiki.test.raw"),
        ("my_train.txt", "my_dev.txt.gz", "my_test.txt"),
        ("train", "val", "test"),
    ],
)
def test_splits_under_any_common_name(tmp_path, names):
    for name, word in zip(names, ("one", "two", "three"), strict=True):
        write(tmp_path / name, f" {word} do n't \n \n")
    write(tmp_path / "README.md", "not text")
    write(tmp_path / "training-notes.txt", "nor this")
    s = read(tmp_path)
    assert isinstance(s, SplitCorpus)
    assert [texts(c) for c in s] == [["one do n't"], ["two do n't"], ["three do n't"]]
    assert all(c.pretokenized for c in s)
    assert splitter(False, s.train.pretokenized)("do n't 3 @.@ 5") == ["do", "n't", "3", "@.@", "5"]
    assert s.train.name == f"{tmp_path.name}/train"


def test_a_packed_copy_beside_the_plain_one_is_no_doubt(tmp_path):
    for name in ("train.txt", "train.txt.gz", "valid.txt", "test.txt"):
        write(tmp_path / name, "x\n")
    assert texts(read(tmp_path).train) == ["x"]


def test_fedatt_protocol_step_by_step(tmp_path):
    write(tmp_path / "train.txt", " \n = Heading = \n The cat sat . The <unk> ran . \nEnds bare .\n")
    write(tmp_path / "valid.txt", "a . . b . c\n")
    write(tmp_path / "test.txt", "U.S. . N\n")
    s = read(tmp_path, "fedatt")
    assert texts(s.train) == ["= heading =", "the cat sat", "the <unk> ran", "ends bare ."]
    assert texts(s.valid) == ["a", ". b", "c"]
    assert texts(s.test) == ["u.s.", "n"]
    found = dict.fromkeys(word for c in s for word in words_of(c))
    types = {w for c in s for t in texts(c) for w in t.split()}
    assert set(found) == types
    # `<unk>` is one of the types and one of the specials: the two others are what is added.
    assert len(build(dict.fromkeys(found, 1), 0)) == len(types) + 2


def test_fedatt_on_one_file(tmp_path):
    c = read(write(tmp_path / "a.txt", "A b . C\n"), "fedatt")
    assert texts(c) == ["a b", "c"]
    assert c.pretokenized


def test_words_are_counted_as_the_corpus_is_split():
    assert words_of(from_messages("m", {"u": ["don't!", "!"]})) == {"don't": 1, "!": 2}
    assert words_of(from_messages("m", {"u": ["don't!"]}, pretokenized=True)) == {"don't!": 1}


def test_messages_are_a_sequence():
    mine = from_messages("m", {"o": ["x"], "u": [f"m{i}" for i in range(5000)]}).messages(1)
    assert len(mine) == 5000 and mine[0].text == "m0" and mine[-1].text == "m4999"
    assert [m.text for m in mine[1:3]] == ["m1", "m2"] and [m.text for m in mine[4::2000]] == [
        "m4",
        "m2004",
        "m4004",
    ]
    assert [m.text for m in mine] == [f"m{i}" for i in range(5000)] and mine[7:3] == []
    with pytest.raises(IndexError):
        mine[5000]


def test_missing_file(tmp_path):
    assert "tacit data list" in said(tmp_path / "none.txt")


def test_unknown_protocol(tmp_path):
    assert "did you mean 'fedatt'" in said(write(tmp_path / "a.txt", "x"), "fedat")


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a"])
@pytest.mark.parametrize("content", ["", "\n \n\t\n"])
def test_nothing_in_it(tmp_path, name, content):
    assert "there is no text in it" in said(write(tmp_path / name, content))


def test_only_blank_messages(tmp_path):
    assert "there is no text in it" in said(write(tmp_path / "a.jsonl", jsonl({"user": "u", "text": " \n"})))


def test_invalid_utf8(tmp_path):
    message = said(write(tmp_path / "a.txt", b"good\nbad \xff\n"))
    assert "a.txt, line 2: byte 9 is not UTF-8" in message
    assert "line 1" in said(write(tmp_path / "b.txt", "hi".encode("utf-16")))


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("{nope", "not valid JSON"),
        ('{"user": "a", "text": "b"} {}', "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[1]", "expected an object"),
        ('{"text": "b"}', '"user" is missing'),
        ('{"user": "a"}', '"text" is missing'),
        ('{"user": 3, "text": "b"}', '"user" must be a string, found a number'),
        ('{"user": "a", "text": null}', '"text" must be a string, found null'),
        ('{"user": "a", "text": ["b"]}', '"text" must be a string, found a list'),
        ('{"user": "a", "text": "b", "time": 1.5}', '"time" must be'),
        ('{"user": "a", "text": "b", "time": true}', '"time" must be'),
        ('{"user": "a", "text": "b", "time": "yesterday"}', "'yesterday'"),
        ('{"user": "a", "text": "b", "time": "2024-01-01"}', "both dates and numbers"),
    ],
)
def test_bad_json_lines(tmp_path, line, part):
    first = '{"user": "a", "text": "ok", "time": 1}\n'
    message = said(write(tmp_path / "a.jsonl", first + line + "\n"))
    assert "a.jsonl, line 2: " in message
    assert part in message


def test_fedatt_refuses_json(tmp_path):
    assert "text.protocol" in said(write(tmp_path / "a.jsonl", jsonl({"user": "u", "text": "x"})), "fedatt")


def test_truncated_and_damaged_gzip(tmp_path):
    rng = np.random.default_rng(0)
    data = gzip.compress("\n".join(map(str, rng.integers(0, 10**9, 20_000))).encode())
    path = tmp_path / "a.txt.gz"
    path.write_bytes(data[: len(data) // 2])
    assert "ends early" in said(path)
    path.write_bytes(data[:5000] + b"\x00" * 50 + data[5050:])
    assert "damaged gzip" in said(path)
    path.write_bytes(b"plain text\n")
    assert "damaged gzip" in said(path)


def test_directories_without_splits(tmp_path):
    write(tmp_path / "train.txt", "x")
    assert "no valid and no test text" in said(tmp_path)
    write(tmp_path / "valid.txt", "x")
    write(tmp_path / "test.txt", "x")
    write(tmp_path / "dev.txt", "x")
    assert "dev.txt and valid.txt" in said(tmp_path)


def test_a_big_file(tmp_path):
    line = json.dumps({"user": "u%d", "text": "some words of a message", "time": "2024-01-01"})
    path = write(tmp_path / "big.jsonl.gz", "".join(line % (i % 500) + "\n" for i in range(50_000)))
    c = read(path)
    assert c.sizes().sum() == 50_000


def test_a_fingerprint_tells_whose_a_message_is():
    texts = ["oi", "yo", "hi"]
    one, other = (from_messages("made", {"ana": texts[:n], "bo": texts[n:]}) for n in (1, 2))
    assert fingerprint(one) != fingerprint(other)


def test_the_case_of_a_files_name_is_no_matter(tmp_path):
    found = read(write(tmp_path / "LABELLED.TSV", "ham\tsee you\n"))
    assert [m.text for m in found.messages(0)] == ["see you"]
