"""The block list: what it takes and refuses, and that nothing on it is ever suggested."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_models import TALK, model_of, talk, taps_of

from tacit.base.errors import TacitError
from tacit.keyboard import suggestions
from tacit.keyboard.layout import spell
from tacit.keyboard.lexicon import polyline
from tacit.ngram.compact import writer
from tacit.text import blocked

WORDS = sorted(set(TALK.split()))


def test_a_file(tmp_path):
    file = tmp_path / "words.txt"
    file.write_text("\ufeff# not these\nDamn\n\n  don’t \nStraße\n", "utf-8")
    assert blocked.read(file) == {"damn", "don't", "strasse"}


@pytest.mark.parametrize(
    ("data", "wrong"),
    [
        (b"two words\n", "line 1: 'two words' is not one word"),
        (b"ok\n\xff\n", "byte 3 is not UTF-8"),
        (None, "cannot read"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, data, wrong):
    file = tmp_path / "words.txt"
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(TacitError, match=wrong) as error:
        blocked.read(file)
    assert "\n" not in str(error.value) and str(file) in str(error.value)


@given(st.sets(st.sampled_from(WORDS), max_size=len(WORDS)), st.data())
def test_nothing_blocked_is_suggested(words, data):
    asked = talk(block=[data.draw(st.sampled_from([w, w.upper(), w.capitalize()])) for w in sorted(words)])
    context = data.draw(st.lists(st.sampled_from([*WORDS, "."]), max_size=3))
    word = data.draw(st.sampled_from(WORDS))
    found = [s.word for s in asked.next_words(context, k=len(WORDS))]
    assert {w.lower() for w in found} == set(WORDS) - words  # and all others are
    found = [s.word for s in asked.complete(context, word[:2].upper(), k=9)]
    found += [c.word for c in asked.correct(context, taps_of(word), k=99).words]
    found += [c.word for c in asked.glide(context, taps_of(polyline(spell(word), False)), k=99)]
    assert not {w.lower() for w in found} & words


def test_what_a_person_types_is_not_taken_away():
    asked = talk(block=["vampire"])
    found = asked.correct("the", taps_of("vampire"))
    assert found.best == found.literal == "vampire" and not found.known
    assert "vampire" not in [c.word for c in found.words]
    asked = talk(30 * "they drove the car\n" + "a cat", block=["CAT"])
    for typed in (None, "cat", "Cat"):  # whatever is likelier here
        assert asked.correct("they drove the", taps_of("cat"), typed=typed).best.lower() == "cat"
    blurred = taps_of("cat") + np.array([(0, 0), (0, 0), (-0.45, 0)])
    assert asked.correct("they drove the", blurred, typed="cat").best == "car"


def test_a_compact_file_is_blocked_too_and_probabilities_stay(tmp_path):
    file = tmp_path / "model.tacit"
    writer.write(file, *model_of(), name="talk")
    (tmp_path / "words.txt").write_text("THE\n", "utf-8")
    free, asked = suggestions.open(file), suggestions.open(file, block=tmp_path / "words.txt")
    before, after = (s.next_words("good value for", k=30) for s in (free, asked))
    assert before[0].word == "the" and after[:29] == before[1:]
    assert [s.word for s in asked.complete("", "the")] == ["they"]
    assert np.isfinite(asked.log_probs("", ["the"])).all()  # asked for, not suggested
