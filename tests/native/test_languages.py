"""The C reader follows the language of a file: lower case and capitals of Turkish, and the keys of every locale."""

from __future__ import annotations

import ctypes
import random
from math import exp
from pathlib import Path

import numpy as np
import pytest
from reader_c import keys_of, opened

from locale_sentences import sentences
from networks8 import KINDS
from networks8 import saved as network_saved
from tacit.keyboard import layout
from tacit.keyboard.suggestions import over
from tacit.lm.network8 import reader as network8
from tacit.ngram import kneser_ney
from tacit.ngram.automaton import from_kneser_ney
from tacit.ngram.compact import reader, writer
from tacit.ngram.compact.model import CompactSource
from tacit.text import locale
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import SPECIALS, Vocabulary


def written(path: Path, texts: list[str], code: str) -> None:
    messages = [tokenize(text, locale.find(code)) for text in texts]
    words = Vocabulary((*SPECIALS, *dict.fromkeys(w for m in messages for w in m)))
    ids = [words.encode(m) for m in messages]
    fitted = kneser_ney.fit(np.concatenate(ids), np.cumsum([0, *map(len, ids)]), len(words), order=2)
    writer.write(path, words, from_kneser_ney(fitted), name="x", locale=code)


@pytest.mark.parametrize("code", ["tr", "tr_CY", "en"])
@pytest.mark.parametrize("cased", [False, True])
def test_capitals_of_the_language(library: ctypes.CDLL, tmp_path: Path, code: str, cased: bool) -> None:
    texts = ["ışık iyi istanbul ıssız", "iyi ışık ilk", "straße i ı isin", "ıi ii ıı"]
    texts += [text.upper() for text in texts] + ["Işık İyi İstanbul Issız İI"] if cased else []
    texts = texts if cased else [locale.find(code).lower(text) for text in texts]
    written(tmp_path / "m", texts, code)
    asked = over(CompactSource(reader.open(tmp_path / "m")), capitals=False)
    with opened(library, (tmp_path / "m").read_bytes()) as c:
        assert c.facts.language.decode() == code
        for context in (["IŞIK"], ["İYİ"], ["I"], ["STRASSE", "Iyi"], []):
            for typed in ("", "i", "I", "ı", "İ", "IŞ", "Iş", "ii", "İS", "iS", "STRASSE", "straß"):
                found = [(c.word(i), exp(p)) for i, p in c.complete(context, typed, 5)]
                assert found == asked.complete(context, typed, 5), (context, typed)


def test_a_network_has_a_language_too(library: ctypes.CDLL, tmp_path: Path) -> None:
    path = network_saved(tmp_path / "n.tacit", KINDS["gru"], 30)
    assert "locale" not in network8.open(path).facts
    with opened(library, path.read_bytes()) as c:
        assert c.facts.language == b"en"


@pytest.mark.parametrize("code", [code for code in locale.codes() if code != "zh"])
def test_the_keys_of_a_locale_type_its_words(library: ctypes.CDLL, tmp_path: Path, code: str) -> None:
    """Words with the same keys cost nothing, others do: letters with a key, on a long press, and with accents."""
    found = locale.find(code)
    keys = layout.of_locale(found)
    texts = [*sentences(code), "well-known -a a- ab--c"]
    written(tmp_path / "m", texts, code)
    words = [w for w in CompactSource(reader.open(tmp_path / "m")).words[3:] if layout.spell(w, keys)]
    asked = random.Random(code).sample(words, min(12, len(words)))
    with opened(library, (tmp_path / "m").read_bytes()) as c:
        c.open_keys(keys_of(keys))
        for word in asked:
            spelt = layout.spell(word, keys)
            for typed in (word, found.upper(word), spelt):
                if layout.spell(typed, keys) != spelt:  # of a capital that is two letters
                    continue
                told = c.correct([], typed, k=50)
                same = {w for w in words if layout.spell(w, keys) == spelt}
                assert told.known, (typed, spelt)
                assert {w for w, _, cost in told.candidates if cost == 0} == same, typed
    assert len(asked) > 9
