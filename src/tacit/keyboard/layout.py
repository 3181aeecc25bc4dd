"""Key positions of a QWERTY phone keyboard, in units of a key's width.

The first row has ten letters; the second starts half a key further in, the third one and a half keys. The apostrophe
is in the last row, right of the space bar. x runs to the right and y down, and (0, 0) is the upper left corner of the
keyboard. A key is 1 wide and 1.5 high, about the shape of keys on phones. A page that draws keys of another shape
scales its coordinates to these units before it asks for a word.

A word is typed with the keys of its letters, in lower case and without accents. A word with any other character, such
as 7:30 or an emoji, cannot be typed with these keys, so taps and glides never decode to it.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit.base.arrays import Floats

APOSTROPHE = "'"


class Layout(NamedTuple):
    """Keys by number: `centres[i]` is the centre of the key that types `letters[i]`."""

    letters: str
    centres: Floats  # [keys, 2]
    width: float  # of the whole keyboard, in keys
    height: float


def _qwerty() -> Layout:
    rows = (
        ("qwertyuiop", 0.5, 0.75),
        ("asdfghjkl", 1.0, 2.25),
        ("zxcvbnm", 2.0, 3.75),
        (APOSTROPHE, 7.0, 5.25),
    )
    centres = [(left + i, y) for letters, left, y in rows for i in range(len(letters))]
    return Layout("".join(letters for letters, _, _ in rows), np.array(centres), 10.0, 6.0)


QWERTY = _qwerty()


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


@lru_cache(maxsize=65_536)
def spell(word: str, letters: str = QWERTY.letters) -> str:
    """Returns the keys that type a word, or "" if a character has no key.

    >>> spell("Don't"), spell("café"), spell("7:30"), spell("😀")
    ("don't", 'cafe', '', '')
    """
    plain = word.lower().replace("’", APOSTROPHE)
    if not plain.isascii():
        plain = "".join(
            c for c in unicodedata.normalize("NFD", plain) if not unicodedata.category(c).startswith("M")
        )
    return plain if plain and all(c in letters for c in plain) else ""


def as_json(layout: Layout = QWERTY) -> dict[str, Any]:
    """Returns the layout for the web page: each key's letter and centre, and the size of the keyboard.

    >>> as_json()["keys"][0], as_json()["width"]
    ({'letter': 'q', 'x': 0.5, 'y': 0.75}, 10.0)
    """
    keys = [
        {"letter": letter, "x": float(x), "y": float(y)}
        for letter, (x, y) in zip(layout.letters, layout.centres, strict=True)
    ]
    return {
        "keys": keys,
        "width": layout.width,
        "height": layout.height,
        "key": {"width": 1.0, "height": 1.5},
    }
