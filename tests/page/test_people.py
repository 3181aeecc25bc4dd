"""Titles of personal models."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tacit.ngram import automaton, kneser_ney
from tacit.ngram.compact import reader, writer
from tacit.page import people
from tacit.text.vocabulary import SPECIALS, Vocabulary

WORDS = Vocabulary((*SPECIALS, "garden", "i", "like", "tea", "trains", "tuesdays"))


def model(path: Path, text: str) -> Path:
    lines = [line.split() for line in text.splitlines()]
    ids = [WORDS.encode(line) for line in lines]
    fitted = kneser_ney.fit(np.concatenate(ids), np.cumsum([0, *map(len, ids)]), len(WORDS), 2)
    writer.write(path, WORDS, automaton.from_kneser_ney(fitted), name="toy")
    return path


@pytest.fixture
def everybody(tmp_path):
    return reader.open(
        model(tmp_path / "all.tacit", "i like tea\ni like trains\ni like garden\ntuesdays i like tea")
    )


def test_a_number_becomes_the_words_that_the_person_is_fonder_of(tmp_path, everybody):
    own = model(tmp_path / "own.tacit", "trains tuesdays\ntrains trains\ni like trains\ntea")
    wanted = "Person 2 of 3, who often writes “trains”"
    assert people.title("typist-000401", 2, 3, own, everybody) == wanted


def test_a_name_stays_and_somebody_like_all_has_no_words(tmp_path, everybody):
    assert people.title("ana", 1, 1, tmp_path / "not read", everybody) == "Personal: ana"
    assert people.title("user7", 1, 1, tmp_path / "all.tacit", everybody) == "Person 1 of 1"
