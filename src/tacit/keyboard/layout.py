"""Key positions of a phone keyboard, in units of a key's width, from the rows of a locale (`tacit.text.locale`).

Every row of letters is centred, so the second row of QWERTY starts half a key further in and the third one and a half
keys. The apostrophe is in the last row, right of the space bar. x runs to the right and y down, and (0, 0) is the upper
left corner of the keyboard. A key is 1 wide and 1.5 high, about the shape of keys on phones. A page that draws keys of
another shape scales its coordinates to these units before it asks for a word.

A word is typed with the keys of its letters, in lower case. A letter without a key of its own is typed with the key
that offers it on a long press (ł with l), or with that of the letter under its accents (é with e). A hyphen between
letters takes no key, so taps and glides reach words with one. A word with any other character, such as 7:30 or an
emoji, cannot be typed with these keys, so taps and glides never decode to it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit.base.arrays import Floats
from tacit.text.locale import APOSTROPHE as APOSTROPHE
from tacit.text.locale import ENGLISH, Locale

_HYPHEN = re.compile("(?<=[^-])-(?=[^-])")


class Layout(NamedTuple):
    """Keys by number: `centres[i]` is the centre of the key that types `letters[i]`."""

    letters: str
    centres: Floats  # [keys, 2]
    width: float  # of the whole keyboard, in keys
    height: float
    locale: Locale = ENGLISH  # whose long presses and capitals these are


def of_rows(rows: tuple[str, ...], locale: Locale = ENGLISH) -> Layout:
    """Returns the layout of rows of letters, with the apostrophe below them.

    >>> of_rows(("ab", "c")).centres.tolist()
    [[4.5, 0.75], [5.5, 0.75], [5.0, 2.25], [7.0, 3.75]]
    """
    width = max(10, *map(len, rows))
    keys = [
        (letter, (width - len(row)) / 2 + 0.5 + i, 0.75 + 1.5 * number)
        for number, row in enumerate(rows)
        for i, letter in enumerate(row)
    ]
    keys.append((APOSTROPHE, width - 3.0, 0.75 + 1.5 * len(rows)))
    centres = np.array([(x, y) for _, x, y in keys])
    return Layout("".join(c for c, _, _ in keys), centres, float(width), 1.5 * len(rows) + 1.5, locale)


def of_locale(locale: Locale) -> Layout:
    """Returns the layout of a locale.

    >>> from tacit.text.locale import find
    >>> of_locale(find("de")).letters[:11], of_locale(find("ru")).width
    ('qwertzuiopü', 11.0)
    """
    return of_rows(locale.rows, locale)


QWERTY = of_locale(ENGLISH)


def centre(letter: str, layout: Layout = QWERTY) -> tuple[float, float]:
    """Returns the centre of a letter's key.

    >>> centre("q"), centre("a"), centre("m")
    ((0.5, 0.75), (1.0, 2.25), (8.0, 3.75))
    """
    x, y = layout.centres[layout.letters.index(letter)]
    return float(x), float(y)


def nearest(points: ArrayLike, layout: Layout = QWERTY) -> str:
    """Returns the letters of the keys nearest to these points; of two equally near keys, the earlier one.

    >>> nearest([(0.6, 0.9), (8.0, 3.75)])
    'qm'
    """
    at = np.asarray(points, np.float64).reshape(-1, 1, 2)
    away = ((at - layout.centres) ** 2).sum(axis=2)  # [points, keys]
    return "".join(layout.letters[i] for i in away.argmin(axis=1).tolist())


def spell(word: str, layout: Layout = QWERTY) -> str:
    """Returns the keys that type a word, or "" if a character has no key.

    >>> spell("Don't"), spell("café"), spell("well-known"), spell("7:30"), spell("😀")
    ("don't", 'cafe', 'wellknown', '', '')
    >>> from tacit.text.locale import find
    >>> spell("Straße", of_locale(find("de"))), spell("Żółw", of_locale(find("pl")))
    ('strase', 'zolw')
    """
    return _spelt(word, layout.letters, layout.locale)


@lru_cache(maxsize=65_536)
def _spelt(word: str, letters: str, locale: Locale) -> str:
    plain = _HYPHEN.sub("", locale.lower(word).replace("’", APOSTROPHE))
    if plain.isascii():
        return plain if plain and all(c in letters for c in plain) else ""
    held = held_letters(locale)
    keys = []
    for c in unicodedata.normalize("NFC", plain):
        bare = c if c in letters or c in held else _without_marks(c)
        keys += [held.get(one, one) if one not in letters else one for one in bare]
    return "".join(keys) if keys and all(c in letters for c in keys) else ""


def _without_marks(character: str) -> str:
    parts = unicodedata.normalize("NFD", character)
    return "".join(c for c in parts if not unicodedata.category(c).startswith("M"))


@cache
def held_letters(locale: Locale) -> dict[str, str]:
    """Returns the letters that have no key of their own, with the key that offers each on a long press.

    >>> from tacit.text.locale import find
    >>> held_letters(find("de"))["ß"], "ö" in held_letters(find("de"))
    ('s', False)
    """
    keys = "".join(locale.rows)
    held: dict[str, str] = {}
    for key in keys:
        for letter in locale.long_press.get(key, ""):
            if letter not in keys and unicodedata.category(letter)[0] in "LM":
                held.setdefault(letter, key)
    return held


def as_json(layout: Layout = QWERTY) -> dict[str, Any]:
    """Returns the layout for the web page: each key's letter and centre, letters of long presses, and the size.

    >>> as_json()["keys"][0], as_json()["width"], as_json()["held"]["é"]
    ({'letter': 'q', 'x': 0.5, 'y': 0.75}, 10.0, 'e')
    """
    keys = [
        {"letter": letter, "x": float(x), "y": float(y)}
        for letter, (x, y) in zip(layout.letters, layout.centres, strict=True)
    ]
    return {
        "keys": keys,
        "held": held_letters(layout.locale),
        "width": layout.width,
        "height": layout.height,
        "key": {"width": 1.0, "height": 1.5},
    }
