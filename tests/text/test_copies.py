"""Copies of people are found, and those of known corpora are left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from commands import Commands
from tacit.text import catalogue, copies, corpora
from tacit.text.corpus import Corpus, from_messages
from tacit.text.prepare import TextConfig, read_population
from tacit.text.typists import TypistsConfig


def said(person: str, count: int, words: int = 7) -> list[str]:
    return [" ".join([person, str(k), *["so"] * (words - 2)]) for k in range(count)]


def test_a_copy_is_the_smaller_of_two_that_share_their_messages():
    ana, bo = said("ana", 41), said("bo", 40)
    people = {
        "ana": ana,
        "half": [*ana[:20], *said("half", 20)],
        "less": [*ana[:19], *said("less", 21)],
        "of two": [*ana[:11], *bo[:12]],
        "bo": bo,
        "few": ana[:9],
        "short": said("ana", 40, words=5),
        "short too": said("ana", 30, words=5),
    }
    found = copies.find(from_messages("made", people))
    assert [(c.user, c.of, round(c.share, 3)) for c in found] == [
        ("of two", "bo", round(12 / 23, 3)),
        ("half", "ana", 0.5),
    ]


def test_of_two_alike_one_is_the_copy_and_of_three_all_but_one():
    ana = said("ana", 30)
    pair = copies.find(from_messages("made", {"a": ana, "b": ana}))
    assert [(c.user, c.of) for c in pair] == [("a", "b")]
    three = copies.find(from_messages("made", {"a": ana[:15], "b": ana[:20], "c": ana}))
    assert {c.user for c in three} == {"a", "b"}
    assert copies.find(from_messages("made", {"a": ana, "b": said("b", 30)})) == []


def test_ten_messages_of_six_words_are_enough():
    ana = said("ana", 12, words=6)
    found = copies.find(from_messages("made", {"ana": ana, "bo": ana[:10]}))
    assert [(c.user, c.of) for c in found] == [("bo", "ana")]


def test_without_somebody_the_others_are_as_they_were():
    everybody = from_messages("made", {"a": ["one", "two"], "b": ["three"], "c": [], "d": ["fôur", "five"]})
    some = everybody.without(["b", "nobody"])
    assert some.users == ("a", "c", "d")
    np.testing.assert_array_equal(some.sizes(), [2, 0, 2])
    assert [[m.text for m in some.messages(k)] for k in range(3)] == [["one", "two"], [], ["fôur", "five"]]
    assert len(everybody) == 4


@pytest.fixture
def known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A known corpus of which one name is to be left out."""
    entry = next(e for e in corpora.ENTRIES if e.name == "nus-sms")
    (tmp_path / entry.folder).mkdir()
    file = tmp_path / entry.folder / entry.files[0].name
    people = {"ana": said("ana", 12), "bo": said("bo", 15), "copy": said("ana", 11)}
    lines = [json.dumps({"user": u, "text": t}) for u, texts in people.items() for t in texts]
    file.write_text("\n".join(lines) + "\n")
    changed = tuple(replace(e, aside=("copy",)) if e is entry else e for e in corpora.ENTRIES)
    monkeypatch.setattr(catalogue, "ENTRIES", changed)
    return tmp_path


def test_a_known_corpus_is_read_without_them_and_a_path_as_it_is(
    known: Path, monkeypatch: pytest.MonkeyPatch
):
    file = known / "nus-sms" / "nus_sms_en.jsonl"
    for name, expected in (("nus-sms", ("ana", "bo")), (str(file), ("ana", "bo", "copy"))):
        found = read_population(TextConfig(corpus=name), TypistsConfig(), known)
        assert isinstance(found, Corpus) and found.users == expected
    monkeypatch.chdir(known)  # where a path of that name is, it is meant
    assert catalogue.aside("nus-sms") == () and catalogue.aside("ptb") == ()


def test_copies_are_told_and_who_was_left_out(known: Path, tacit: Commands):
    file = known / "nus-sms" / "nus_sms_en.jsonl"
    told = tacit.ok("data", "describe", file)
    assert "100% of the longer messages of copy are also those of ana" in told
    assert "left out" not in told
    told = tacit.ok("data", "describe", "nus-sms", "--data", known)
    assert "left out (copies, or not a single person): copy" in told and "also those" not in told
    found = json.loads(tacit.ok("data", "describe", file, "--json"))
    assert found["copies"] == [{"user": "copy", "of": "ana", "share": 1.0}] and found["left_out"] == []
    found = json.loads(tacit.ok("data", "describe", "nus-sms", "--data", known, "--json"))
    assert found["copies"] == [] and found["left_out"] == ["copy"]


def test_what_was_not_looked_for_is_not_called_none(
    known: Path, tacit: Commands, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(copies, "MOST", 37)
    file = known / "nus-sms" / "nus_sms_en.jsonl"
    assert "more than 37 messages: no search for duplicated people" in tacit.ok("data", "describe", file)
    assert json.loads(tacit.ok("data", "describe", file, "--json"))["copies"] is None


def test_one_message_that_everybody_has_costs_little():
    """Pairs are counted of people with many messages only."""
    people = {str(k): ["sent from my very own little telephone"] for k in range(5000)}
    assert copies.find(from_messages("made", people)) == []
