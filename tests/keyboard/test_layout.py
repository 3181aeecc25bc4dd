"""The layout against a picture of it, and spelling against the letters."""

from __future__ import annotations

import json
import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tacit.keyboard import parameters
from tacit.keyboard.layout import QWERTY, as_json, centre, nearest, spell

PICTURE = """\
q w e r t y u i o p
 a s d f g h j k l
   z x c v b n m
             '"""


def test_keys_are_where_the_picture_has_them():
    seen = 0
    for row, line in enumerate(PICTURE.split("\n")):
        for column, letter in enumerate(line):
            if letter != " ":
                assert centre(letter) == (column / 2 + 0.5, 1.5 * row + 0.75)
                seen += 1
    assert seen == len(QWERTY.letters) == 27


def test_keys_lie_inside_and_apart():
    x, y = QWERTY.centres.T
    assert (x >= 0.5).all() and (x <= QWERTY.width - 0.5).all() and (y >= 0.75).all()
    assert (y <= QWERTY.height - 0.75).all()
    apart = np.abs(QWERTY.centres[:, None] - QWERTY.centres)
    touching = (apart[..., 0] < 1) & (apart[..., 1] < 1.5)
    assert touching.sum() == len(x)  # each only with itself


@given(st.lists(st.tuples(st.floats(-3, 13), st.floats(-3, 9)), min_size=1, max_size=5))
def test_the_nearest_key(points):
    for point, letter in zip(points, nearest(points), strict=True):
        assert (
            math.dist(point, centre(letter))
            <= min(math.dist(point, centre(c)) for c in QWERTY.letters) + 1e-9
        )


@given(st.text(max_size=12))
def test_a_spelling_is_of_keys(word):
    keys = spell(word)
    assert set(keys) <= set(QWERTY.letters)
    assert spell(keys) == keys
    if word.isascii() and word.isalpha():
        assert keys == word.lower()


def test_words_that_can_be_typed():
    assert [spell(w) for w in ("Don’t", "naïve", "Ångström", "well-known", "rock'n'roll")] == [
        "don't",
        "naive",
        "angstrom",
        "wellknown",
        "rock'n'roll",
    ]
    assert not any(spell(w) for w in ("", "7:30", "😀", "日本", "שלום", "well--known", "-ed", "a b", "<unk>"))


def test_the_page_gets_the_same_numbers():
    told = json.loads(json.dumps({"layout": as_json(), "parameters": parameters.as_json()}))
    assert {k["letter"]: (k["x"], k["y"]) for k in told["layout"]["keys"]} == {
        letter: centre(letter) for letter in QWERTY.letters
    }
    assert parameters.Taps(**told["parameters"]["taps"]) == parameters.DEFAULT.taps
    assert parameters.Glide(**told["parameters"]["glide"]) == parameters.DEFAULT.glide
