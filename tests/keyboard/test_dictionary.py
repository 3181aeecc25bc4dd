"""The dictionary of words that a model may not know: its file, read as it is described, and what it answers."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from key_models import talk, taps_of

from tacit.base.errors import TacitError
from tacit.keyboard import dictionary
from tacit.text.locale import ENGLISH, find

WORDS = st.sets(st.text("abcdefgh", min_size=1, max_size=6), max_size=60)


def described(data: bytes) -> list[int]:
    """The hashes of a file, bit by bit, as the module says that they are stored."""
    magic, version, count, _, k = struct.unpack_from("<8s4I", data)
    assert (magic, version) == (b"TACITDIC", 1)
    bits = [byte >> i & 1 for byte in data[24:] for i in range(8)]
    rest = bits[8 * ((count * k + 7) // 8) :]
    hashes, last, at = [], 0, 0
    for i in range(count):
        high = rest.index(1, at) - at
        at += high + 1
        last += (high << k) + sum(bits[i * k + b] << b for b in range(k))
        hashes.append(last)
    return hashes


@given(WORDS, st.integers(2, 300))
def test_a_file_holds_the_hashes_as_it_is_described(words, per_word):
    made = dictionary.build(words, per_word)
    data = dictionary.to_bytes(made)
    assert described(data) == made.hashes.tolist() == dictionary.from_bytes(data, "made").hashes.tolist()
    assert dictionary.from_bytes(data, "made").range == made.range
    assert all(dictionary.has(made, word) for word in words)


def test_english_words_are_in_it_and_few_others():
    english = dictionary.of_locale(ENGLISH)
    assert len(dictionary.raw_of(ENGLISH)) <= 100_000
    words = ("kettle", "kettles", "edinburgh", "windsor", "saxophone", "windowsill")
    assert [dictionary.lists(english, word, lambda one: False) for word in words] == [True] * 6
    draw = np.random.default_rng(0)
    other = ["".join(draw.choice([*"bcdfghjklmnpqrtvwx"], 9)) for _ in range(4000)]
    passed = np.mean([dictionary.has(english, word) for word in other])
    assert 0.5 / 92 < passed < 1.5 / 92
    assert dictionary.of_locale(find("de")) == dictionary.EMPTY


def test_a_word_of_the_dictionary_stays_where_a_slip_is_mended():
    asked = talk(30 * "they drove the car home\n" + "a cat")
    for typed, wanted in (("cart", "cart"), ("hone", "hone"), ("hoem", "home")):
        assert asked.correct("they drove the", taps_of(typed), typed=typed).best == wanted


@pytest.mark.parametrize("cut", [slice(0, 20), slice(0, 3001), slice(0, -8), slice(1, None)])
def test_a_damaged_dictionary_is_refused(cut):
    with pytest.raises(TacitError, match="dictionary"):
        dictionary.from_bytes(dictionary.raw_of(ENGLISH)[cut], "en.hashes")


def test_a_newer_dictionary_is_refused():
    data = bytearray(dictionary.to_bytes(dictionary.build(["tea"], 8)))
    data[8] = 2
    with pytest.raises(TacitError, match="has version 2, and this Tacit reads 1"):
        dictionary.from_bytes(bytes(data), "en.hashes")
