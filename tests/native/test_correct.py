"""Corrections of the C reader are those of Python's keyboard, with the same numbers."""

from __future__ import annotations

import ctypes
from math import inf

import numpy as np
import pytest
from reader_c import Key, Reader, Taps, Typed, opened

from tacit.keyboard import layout
from tacit.keyboard.layout import QWERTY
from tacit.keyboard.parameters import DEFAULT
from tacit.keyboard.suggestions import Part, Suggester, over
from tacit.ngram.compact import reader
from tacit.ngram.compact.model import CompactSource

Points = list[tuple[float, float]]
CENTRES = dict(zip(QWERTY.letters, map(tuple, QWERTY.centres.tolist()), strict=True))


def plain(source: CompactSource, blocked: list[str]) -> Suggester:
    """Python's keyboard without what C leaves to the caller: capitals, and a dictionary."""
    return Suggester(over(source, block=blocked).source, QWERTY, DEFAULT, capitals=False)


def python_s() -> dict[str, float]:
    """Python's numbers; an operation that it does not have costs infinity."""
    return {name: getattr(DEFAULT.taps, name, inf) for name, _ in Taps._fields_}


def agree(c: Reader, asked: Suggester, context: list[str], typed: str, taps: Points | None) -> str | None:
    """What C writes for a word, after it has been compared with Python."""
    at = [CENTRES[x] for x in layout.spell(typed)] if taps is None else taps
    told = asked.correct(context, at, k=5000, typed=typed)
    found = c.correct(context, typed, taps, k=5000)
    assert (found.word or typed, found.known) == (told.best, told.known), (context, typed, taps)
    single = [one for one in told.words if " " not in one.word]
    assert [score for _, score, _ in found.candidates] == pytest.approx([one.score for one in single])
    price = {one.word: (one.score, one.cost) for one in single}
    for word, score, cost in found.candidates:  # in the same order, up to ties
        assert (score, cost) == pytest.approx(price[word], abs=1e-9), (typed, word)
    return found.word


def test_the_numbers_are_python_s(library: ctypes.CDLL) -> None:
    """If this fails, tools/native_taps.py writes them anew."""
    taps = library.tacit_default_taps()
    assert {name: getattr(taps, name) for name, _ in Taps._fields_} == python_s()


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
            word, taps = str(draw.choice(words)), None
            letters = list(layout.spell(word))
            at = int(draw.integers(len(letters)))
            match trial % 8:
                case 0:
                    letters.insert(at, str(draw.choice(list("etaoinq'"))))
                case 1:
                    letters.pop(at)
                case 2:
                    letters[at : at + 2] = letters[at : at + 2][::-1]
                case 3:
                    letters[at] = str(draw.choice(list("aeiouywk")))
                case 4:
                    letters += list(layout.spell(str(draw.choice(words))))
                case 5:
                    letters.insert(at, letters[at])
                case 6:
                    taps = [
                        (CENTRES[x][0] + draw.normal(0, 0.5), CENTRES[x][1] + draw.normal(0, 0.5))
                        for x in letters
                    ]
                case _:
                    letters = list(word)
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
    assert changed > 60 and pairs > 3 and kept > 15


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
            part = Part([CENTRES[x] for x in layout.spell(parts[0])], parts[0])
            taps = [CENTRES[x] for x in layout.spell(parts[1])]
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
