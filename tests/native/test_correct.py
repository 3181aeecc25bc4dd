"""Corrections of the C reader are those of Python's keyboard, with the same numbers."""

from __future__ import annotations

import ctypes
import unicodedata
from dataclasses import replace
from math import inf
from pathlib import Path

import numpy as np
import pytest
from reader_c import Key, Reader, Refused, Taps, Typed, keys_of, opened

import locale_models
from tacit.base.errors import TacitError
from tacit.keyboard import dictionary, layout
from tacit.keyboard.layout import QWERTY
from tacit.keyboard.parameters import DEFAULT
from tacit.keyboard.suggestions import Part, Suggester, over
from tacit.ngram.compact import reader
from tacit.ngram.compact.model import CompactSource
from tacit.text import locale

Points = list[tuple[float, float]]


def plain(source: CompactSource, blocked: list[str] | None = None) -> Suggester:
    """Python's keyboard without capitals, which C leaves to the caller, and without a dictionary."""
    asked = over(source, block=blocked, capitals=False)
    return Suggester(asked.source, asked.layout, DEFAULT, capitals=False, locale=asked.locale)


def listed(source: CompactSource) -> Suggester:
    """Python's keyboard without capitals."""
    return over(source, capitals=False)


def python_s() -> dict[str, float]:
    """Python's numbers; an operation that it does not have costs infinity."""
    return {name: getattr(DEFAULT.taps, name, inf) for name, _ in Taps._fields_}


def agree(c: Reader, asked: Suggester, context: list[str], typed: str, taps: Points | None) -> str | None:
    """What C writes for a word, after it has been compared with Python."""
    spelt = layout.spell(typed, asked.layout)
    at = [layout.centre(x, asked.layout) for x in spelt] if taps is None else taps
    told = asked.correct(context, at, k=5000, typed=typed)
    found = c.correct(context, typed, taps, k=5000)
    single = [one for one in told.words if " " not in one.word]
    assert [score for _, score, _ in found.candidates] == pytest.approx([one.score for one in single])
    price = {one.word: (one.score, one.cost) for one in single}
    written = found.word or typed.replace("’", "'")
    assert found.known == told.known, (context, typed, taps)
    if written != told.best:  # of two words with one score, either is the best
        assert price[written][0] == pytest.approx(price[told.best][0], abs=1e-9), (context, typed, taps)
    for word, score, cost in found.candidates:  # in the same order, up to ties
        assert (score, cost) == pytest.approx(price[word], abs=1e-9), (typed, word)
    return found.word


def test_the_numbers_are_python_s(library: ctypes.CDLL) -> None:
    """If this fails, tools/native_taps.py writes them anew."""
    taps = library.tacit_default_taps()
    assert {name: getattr(taps, name) for name, _ in Taps._fields_} == python_s()


def slip(draw: np.random.Generator, kind: int, letters: list[str], keys: str, other: str) -> None:
    """Changes letters in place: one more, one less, two crossed, another one, a missed space, one twice."""
    at = int(draw.integers(len(letters)))
    match kind:
        case 0:
            letters.insert(at, str(draw.choice(list(keys))))
        case 1:
            letters.pop(at)
        case 2:
            letters[at : at + 2] = letters[at : at + 2][::-1]
        case 3:
            letters[at] = str(draw.choice(list(keys)))
        case 4:
            letters += other
        case 5:
            letters.insert(at, letters[at])


def scattered(draw: np.random.Generator, letters: str, keys: layout.Layout) -> Points:
    """Taps beside the middles of the keys."""
    centres = [layout.centre(x, keys) for x in letters]
    return [(x + draw.normal(0, 0.5), y + draw.normal(0, 0.5)) for x, y in centres]


def test_corrections_are_python_s(library: ctypes.CDLL, typed: Typed) -> None:
    """Slips of letters and of fingers, words without their space, capitals, accents, words that nobody knows."""
    source = CompactSource(reader.open(typed.path))
    blocked = ["tonight", "SATURDAY"]
    asked, draw = plain(source, blocked), np.random.default_rng(2)
    words = [w for w in asked.source.words[3:] if layout.spell(w) and len(w) < 11]
    changed, pairs, kept = 0, 0, 0
    with opened(library, typed.path.read_bytes(), blocked) as c:
        c.open_keys(taps=Taps(*python_s().values()))
        for trial in range(160):
            context = typed.contexts[trial][-4:]
            word = str(draw.choice(words))
            letters = list(word if trial % 8 == 7 else layout.spell(word))
            taps = scattered(draw, "".join(letters), QWERTY) if trial % 8 == 6 else None
            slip(draw, trial % 8, letters, "etaoinuwk'", layout.spell(str(draw.choice(words))))
            written = agree(c, asked, context, "".join(letters) or "a", taps)
            changed, kept = changed + (written is not None), kept + (written is None)
            pairs += " " in (written or "")
        for text in (
            "Tonight",
            "saturday",
            "7:30",
            "h3Llo",
            "wellknown",
            "éte",
            "x",
            "q-w",
            "'",
            "zzzzzz",
            "dont",
            "Ok",
        ):
            agree(c, asked, context, text, None)
        agree(c, asked, [], "x", [(-3.0, 99.0)])
        agree(c, asked, [], "the", [(4.4, 0.9), (6.1, 2.0), (2.6, 0.5)])
    assert changed > 60 and pairs > 3 and kept > 10


@pytest.mark.parametrize("code", [code for code in locale.codes() if code != "zh"])
def test_corrections_are_python_s_in_every_language(library: ctypes.CDLL, tmp_path: Path, code: str) -> None:
    """The same slips over the keys of each locale, in words as they are written and as their keys spell them."""
    path = locale_models.write(tmp_path, code)
    source = CompactSource(reader.open(path))
    asked, draw = plain(source), np.random.default_rng(len(code) + ord(code[0]))
    assert asked.locale is locale.find(code) and asked.layout.letters[:3] == asked.locale.rows[0][:3]
    words = [w for w in source.words[3:] if layout.spell(w, asked.layout)]
    changed, kept = 0, 0
    with opened(library, path.read_bytes()) as c:
        c.open_keys(keys_of(asked.layout))
        for trial in range(40):
            word, other = (str(w) for w in draw.choice(words, 2))
            shown = word if trial % 3 else layout.spell(word, asked.layout)
            taps = scattered(draw, shown, asked.layout) if trial % 8 == 6 and trial % 3 == 0 else None
            letters = list(shown)
            slip(draw, trial % 8, letters, asked.layout.letters, other)
            text = unicodedata.normalize("NFC", "".join(letters)) or word
            written = agree(c, asked, [other], text, taps) or text
            changed, kept = changed + (written != text), kept + (written == text)
        for word in draw.choice(words, 10).tolist():
            agree(c, asked, [], asked.locale.upper(word), None)
            agree(c, asked, [], asked.locale.capitalise(word), None)
    assert changed > 9 and kept > 3


NAMES = """
kettle kettles kettle's Martha's churchs potatos flies bus don’ts Ängste thatch quill moss wren grove tramp latch
thrush lark barn sheep tunic plum cork gravel spruce marsh Perth Nadia ham peat clove rind tar hoof fern wick vole
"""


def test_words_of_a_dictionary_are_python_s(library: ctypes.CDLL, typed: Typed) -> None:
    """Words that the model does not know: of the dictionary, plurals and possessives of known ones, and of nobody."""
    source = CompactSource(reader.open(typed.path))
    without, asked, draw = plain(source), listed(source), np.random.default_rng(4)
    assert len(asked.dictionary.hashes) > 90_000
    words = [w for w in source.words[3:] if layout.spell(w)]
    every = [*NAMES.split(), *(f"{w}{end}" for w in draw.choice(words, 60) for end in ("s", "'s"))]
    with opened(library, typed.path.read_bytes()) as c:
        c.open_keys()
        before = [agree(c, without, ["the"], word, None) for word in every]
        c.read_dictionary(dictionary.raw_of(locale.ENGLISH))
        after = [agree(c, asked, ["the"], word, None) for word in every]
        assert sum(a is not None and b is None for a, b in zip(before, after, strict=True)) > 2
        for word in (*words[:40], *draw.choice(words, 20)):
            letters = list(layout.spell(str(word)))
            slip(draw, int(draw.integers(6)), letters, QWERTY.letters, "cat")
            agree(c, asked, [], "".join(letters) or "a", None)
        # prices that nobody would take, so that it matters which of them counts
        for listed_at, spelt, unknown in ((0.0, 0.0, 99.0), (0.0, 3.0, 0.0), (30.0, 0.0, 0.0)):
            prices = {"listed": listed_at, "spelt": spelt, "unknown": unknown, "letter": 0.01}
            strange = replace(asked, parameters=DEFAULT._replace(taps=DEFAULT.taps._replace(**prices)))
            taps = library.tacit_default_taps()
            for name, price in prices.items():
                setattr(taps, name, price)
            c.c.tacit_keys_close(c.keys)
            c.open_keys(taps=taps)
            c.read_dictionary(dictionary.raw_of(locale.ENGLISH))
            for word in (*every, "mes", "of's", "if's", "ofs", "sees"):
                agree(c, strange, ["the"], word, None)


def test_a_damaged_dictionary_is_refused(library: ctypes.CDLL, typed: Typed) -> None:
    """C refuses what Python refuses, and a range of nothing; of what both read, they find the same."""
    made = dictionary.build([f"{a}{b}" for a in "abcdefgh" for b in "ijklmn"], 64)
    good, draw = dictionary.to_bytes(made), np.random.default_rng(5)
    both, refused = 0, 0
    with opened(library, typed.path.read_bytes()) as c:
        c.open_keys()
        for trial in range(300):
            data = bytearray(good)
            for at in draw.integers(len(data) if trial % 2 else 24, size=trial % 4):
                data[at] = int(draw.integers(256)) if trial % 3 else data[at] ^ 1 << int(draw.integers(8))
            data = data[: int(draw.integers(len(data)))] if trial % 7 == 6 else data
            try:
                found = dictionary.from_bytes(bytes(data), "x")
            except TacitError:
                found = None
            if found is None or not found.range:
                refused += 1
                with pytest.raises(Refused, match="copy it again"):
                    c.read_dictionary(bytes(data))
                continue
            c.read_dictionary(bytes(data))
            both += 1
            asked = replace(plain(CompactSource(reader.open(typed.path))), dictionary=found)
            if trial < 40:
                agree(c, asked, [], "aj", None)
                agree(c, asked, [], "xq", None)
    assert both > 50 and refused > 50


def test_a_space_inside_a_word_is_python_s(library: ctypes.CDLL, typed: Typed) -> None:
    source = CompactSource(reader.open(typed.path))
    asked, draw = plain(source, ["tonight"]), np.random.default_rng(3)
    words = [w for w in asked.source.words[3:] if layout.spell(w) == w and 2 < len(w) < 11]
    together, apart = 0, 0
    with opened(library, typed.path.read_bytes(), ["tonight"]) as c:
        c.open_keys(taps=Taps(*python_s().values()))
        for trial in range(60):
            context, word = typed.contexts[trial][-4:], str(draw.choice(words))
            at = int(draw.integers(1, len(word)))
            parts = (word[:at], word[at:]) if trial % 2 else (word, str(draw.choice(words)))
            if trial == 3:
                parts = ("tonight", "tonight")
            elif trial == 5:
                parts = ("é", "te")  # a letter of a long press is meant
            part = Part([layout.centre(x) for x in layout.spell(parts[0])], parts[0])
            taps = [layout.centre(x) for x in layout.spell(parts[1])]
            told = asked.correct(context, taps, k=5000, typed=parts[1], part=part)
            second, one, wins = c.join(context, parts)
            assert wins == told.joins, (context, parts)
            if wins:
                assert one is not None and c.word(one.id) == told.best
            else:
                assert (second.word or parts[1]) == told.best, (context, parts)
            for found in told.words:
                if found.joins:
                    assert one is not None
                    assert (one.score, one.cost) == pytest.approx((found.score, found.cost), abs=1e-9)
            together, apart = together + wins, apart + (not wins)
    assert together > 15 and apart > 25


def test_other_keys_and_other_numbers(library: ctypes.CDLL, typed: Typed) -> None:
    """A layout of two keys types words of these letters only; a price of nothing finds what a high one does not."""
    with opened(library, typed.path.read_bytes()) as c:
        c.open_keys([("o", 0.0, 0.0), ("n", 1.0, 0.0)])
        assert {layout.spell(w) for w, _, _ in c.correct([], "on", k=50).candidates} <= {
            "on",
            "no",
            "o",
            "n",
            "noo",
            "noon",
        }
        c.c.tacit_keys_close(c.keys)
        taps = library.tacit_default_taps()
        taps.beam = 0.5
        c.open_keys(taps=taps)
        strict = {w for w, _, _ in c.correct([], "goung", k=50).candidates}
        c.c.tacit_keys_close(c.keys)
        c.open_keys()
        assert "going" in {w for w, _, _ in c.correct([], "goung", k=50).candidates} and not strict
        assert c.correct([], "a" * 60).word is None
        with pytest.raises(Exception, match="a tap is no point"):
            c.correct([], "no", [(float("nan"), 1.0)])
        with pytest.raises(Exception, match="give 1 to 255 keys"):
            c._do(
                c.c.tacit_keys_open(
                    c.model, (Key * 1)(), 0, None, ctypes.byref(c.keys), ctypes.byref(c.error)
                )
            )
