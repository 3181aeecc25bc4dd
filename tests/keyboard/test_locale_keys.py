"""The keys of each locale: every letter by tap, long press and glide, and ten sentences."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from key_models import flat

from locale_models import model_of
from locale_sentences import sentences
from tacit.keyboard.capitals import starts_sentence, written
from tacit.keyboard.layout import Layout, centre, of_locale, spell
from tacit.keyboard.suggestions import Suggester, over
from tacit.lm.dense import dense
from tacit.ngram.model import automaton_source
from tacit.text import locale
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import SPECIALS

CODES = locale.codes()


def points(word: str, layout: Layout) -> np.ndarray:
    return np.array([centre(c, layout) for c in spell(word, layout)])


def trail(word: str, layout: Layout) -> np.ndarray:
    """A finger that moves straight from key to key."""
    at = points(word, layout)
    steps = [np.linspace(a, b, 8, endpoint=False) for a, b in itertools.pairwise(at)]
    return np.concatenate([*steps, at[-1:]])


@pytest.mark.parametrize("code", CODES)
def test_keys_lie_inside_and_apart(code):
    layout = of_locale(locale.find(code))
    x, y = layout.centres.T
    assert (x >= 0.5).all() and (x <= layout.width - 0.5).all()
    assert (y >= 0.75).all() and (y <= layout.height - 0.75).all()
    apart = np.abs(layout.centres[:, None] - layout.centres)
    assert ((apart[..., 0] < 1) & (apart[..., 1] < 1.5)).sum() == len(x)
    *_, last, space = sorted(set(y.tolist()))
    ends = x[y == last]
    assert ends.min() >= 1.5 and ends.max() <= layout.width - 1.5  # room for shift and backspace
    assert x[y == space].tolist() == [layout.width - 3]


@pytest.mark.parametrize("code", CODES)
def test_every_letter_is_tapped_held_or_glided(code):
    """A letter has a key or is offered by one; a word that begins with it is found by taps and by a glide."""
    found = locale.find(code)
    layout, size = of_locale(found), len(found.letters)
    words = [letter + found.letters[(i + 7) % size] for i, letter in enumerate(found.letters)]
    log_p = np.full(len(words) + len(SPECIALS), -np.log(len(words) + 1.0))
    asked = over(dense([*SPECIALS, *words], lambda context: log_p, locale=code))
    assert isinstance(asked, Suggester) and asked.layout.letters == layout.letters
    for letter, word in zip(found.letters, words, strict=True):
        key = spell(letter, layout)
        assert len(key) == 1 and key in layout.letters
        assert key == letter or letter in found.long_press[key]
        everything = len(words)
        tapped = asked.correct(["x"], points(word, layout), k=everything)
        assert word in [candidate.word for candidate in tapped.words if candidate.cost == 0]
        glided = asked.glide(["x"], trail(word, layout), k=everything)
        assert word in [candidate.word for candidate in glided if candidate.cost < 1e-9]


@pytest.mark.parametrize("code", CODES)
def test_ten_sentences_by_taps_and_by_glides(code):
    """Taps in the middles of the keys, and glides over them: the model finds the words, accents and hyphens too."""
    found = locale.find(code)
    asked = over(automaton_source(*model_of(code)), capitals=False, locale=found)
    count = 0
    for sentence in sentences(code):
        context = tokenize(sentence, found)
        for i, word in enumerate(context):
            if not spell(word, asked.layout):
                assert code == "zh"  # no key types a character
                continue
            count += 1
            assert asked.correct(context[:i], points(word, asked.layout)).best == word
            if len(set(spell(word, asked.layout))) > 1:
                glided = [c.word for c in asked.glide(context[:i], trail(word, asked.layout), k=1)]
                assert glided == [word]
    assert count >= (0 if code == "zh" else 30)


def test_a_letter_of_a_long_press_is_meant():
    log_p = np.log([1e-9, 0.1, 0.1, 0.7, 0.1])
    words = over(dense([*SPECIALS, "a", "à"], lambda context: log_p, locale="fr"))
    at = [centre("a", words.layout)]
    assert words.correct(["il"], at).best == "a"
    assert words.correct(["il"], at, typed="à").best == "à"


def test_a_word_with_a_hyphen_is_reached_without_one():
    asked = flat(["well-known", "well", "known"])
    assert asked.correct(["a"], points("wellknown", asked.layout)).best == "well-known"
    assert asked.glide(["a"], trail("wellknown", asked.layout))[0].word == "well-known"


@pytest.mark.parametrize(
    ("code", "word", "typed", "form"),
    [
        ("en", "i", "", "I"),
        ("pl", "i", "", "i"),
        ("sv", "i", "", "i"),
        ("tr", "istanbul", "İ", "İstanbul"),
        ("tr", "ışık", "IŞ", "IŞIK"),
        ("de", "straße", "STR", "STRASSE"),
    ],
)
def test_words_are_written_as_their_language_does(code, word, typed, form):
    assert written(word, False, False, typed, locale.find(code)) == form


def test_opening_marks_stand_before_a_sentence():
    spanish = locale.find("es")
    assert starts_sentence(["hola", ".", "¿"], spanish) and starts_sentence(["¡"], spanish)
    assert not starts_sentence(["hola", "¿"], spanish)


def test_completions_know_turkish_capitals():
    asked = over(automaton_source(*model_of("tr")), locale=locale.find("tr"))
    assert [s.word for s in asked.complete("hava ", "İST", k=1)] == ["İSTANBUL'DA"]
    assert [s.word for s in asked.complete("", "I", k=2)] in (["Işık", "Ilık"], ["Ilık", "Işık"])
    assert asked.log_probs("", ["IŞIK"])[0] > -20
