"""The measurement of the decoders: what it counts, and that the language model halves the errors of the keys alone."""

from __future__ import annotations

import numpy as np
import pytest
from key_models import flat, talk

from tacit.keyboard.measures import accuracy, noise
from tacit.keyboard.suggestions import over
from tacit.ngram import automaton, kneser_ney
from tacit.ngram.model import automaton_source
from tacit.text import vocabulary
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig

SAID = [[["the", "Vampire", "!"], ["me", "too"]], [], [["don't", "go", "home", "😀", "zzyzx"]]]


@pytest.mark.parametrize("measure", [accuracy.tap_accuracy, accuracy.glide_accuracy])
def test_every_word_that_can_be_typed_is_counted_once(measure):
    found = measure(talk(), SAID, seed=3)
    assert sorted(zip(found.person.tolist(), found.words, strict=True)) == [
        (0, "me"),
        (0, "the"),
        (0, "too"),
        (0, "vampire"),
        (2, "don't"),
        (2, "go"),
        (2, "home"),
        (2, "zzyzx"),
    ]
    assert [w for w, known in zip(found.words, found.known, strict=True) if not known] == ["zzyzx"]
    right = [a == b.lower() for a, b in zip(found.words, found.guesses, strict=True)]
    assert found.decoded.tolist() == right and len(found.seconds) == 8 and (found.seconds > 0).all()
    again = measure(talk(), SAID, seed=3)
    assert again.guesses == found.guesses and measure(talk(), SAID, seed=3, limit=5).words == found.words[:5]


def test_without_noise_everything_is_right():
    still = noise.TAPPING._replace(level=0.0, extra=0.0, missed=0.0, swapped=0.0)
    found = accuracy.tap_accuracy(talk(), SAID, still)
    assert found.decoded.all() and found.spatial.tolist() == found.known.tolist()
    figures = found.figures()
    assert figures["errors"] == figures["spatial_errors"] == figures["errors_unknown"] == 0
    assert figures["words"] == 7 and figures["unknown"] == 1 / 8


def test_figures_are_shares():
    outcome = accuracy.Outcomes(
        person=np.zeros(5, np.int64),
        words=("a",) * 5,
        guesses=("a",) * 5,
        known=np.array([1, 1, 1, 1, 0], bool),
        spatial=np.array([0, 0, 1, 1, 0], bool),
        decoded=np.array([0, 1, 1, 1, 1], bool),
        seconds=np.ones(5),
    )
    assert outcome.figures() == {
        "words": 4.0,
        "unknown": 0.2,
        "spatial_errors": 0.5,
        "errors": 0.25,
        "ratio": 0.5,
        "errors_unknown": 0.0,
    }


def test_equally_likely_words_are_found_by_the_keys_alone():
    """With a model that knows nothing the two must differ only by the literal channel, of which glides have none."""
    words = sorted({w.lower() for person in SAID for said in person for w in said if w.isalpha()})
    found = accuracy.glide_accuracy(flat(words), SAID, noise.GLIDING._replace(level=1.5))
    assert found.spatial.tolist() == found.decoded.tolist()


def test_the_language_model_halves_the_errors_on_built_in_typists():
    people = Typists(TypistsConfig(users=100, messages=60))
    said = [[tokenize(m.text.lower()) for m in people.messages(k)] for k in range(len(people))]
    counts: dict[str, int] = {}
    for person in said[20:]:
        for message in person:
            for word in message:
                counts[word] = counts.get(word, 0) + 1
    words = vocabulary.build(counts, 2500)
    ids = [words.encode(message) for person in said[20:] for message in person]
    fitted = kneser_ney.fit(np.concatenate(ids), np.cumsum([0, *map(len, ids)]), len(words), 3)
    asked = over(automaton_source(words, automaton.from_kneser_ney(fitted)))
    for measure in (accuracy.tap_accuracy, accuracy.glide_accuracy):
        figures = measure(asked, said[:20], limit=450).figures()
        assert 0.10 < figures["spatial_errors"] < 0.35, figures
        assert figures["ratio"] < 0.5, figures
