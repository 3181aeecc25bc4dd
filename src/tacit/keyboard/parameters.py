"""Every number that the decoders go by, in one place: Python and the page read the same ones.

Costs are negative natural logarithms, lengths are in key widths. Why these values: docs/keyboard.md.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Taps(NamedTuple):
    """The spatial model of taps, and when what was typed stays as it is."""

    sigma_x: float = 0.42  # spread of taps around the middle of the key that was meant
    sigma_y: float = 0.50
    omission: float = 4.6  # a letter without a tap: −ln 0.01
    apostrophe: float = 0.7  # an apostrophe without a tap: −ln 0.5
    insertion: float = 6.9  # a tap without a letter: −ln 0.01, and it lands anywhere in nine keys
    transposition: float = 4.6  # two letters tapped in the wrong order: −ln 0.01
    beam: float = 17.0  # words that cost more than this above the best imaginable are not looked at
    clear: float = 0.3  # a tap is clear if the key that it hit costs no more
    unknown: float = 4.0  # what is typed is no known word: −ln 0.018,
    letter: float = 1.2  # and this for each letter whose tap is clear
    unclear: float = 8.0  # or this where it is not
    language: float = 1.0  # λ, weight of the language model


class Glide(NamedTuple):
    """The spatial model of a trail over the keys."""

    points: int = 32  # of a trail and of a word's path, at equal distances
    sigma_location: float = 0.24  # of the mean distance between them
    sigma_shape: float = 0.11  # of the mean distance when both are moved and scaled onto each other
    reach: float = 2.0  # a word's first and last key are at most this far from the ends of the trail
    stretch: float = 1.5  # the longer of trail and path is at most this many times the shorter,
    slack: float = 2.0  # and this much longer
    beam: float = 12.0  # words that cost more than this above the best are not looked at
    language: float = 1.0  # λ


class Parameters(NamedTuple):
    """Both."""

    taps: Taps = Taps()
    glide: Glide = Glide()


DEFAULT = Parameters()


def as_json(parameters: Parameters = DEFAULT) -> dict[str, Any]:
    """The same for the page.

    >>> as_json()["glide"]["points"]
    32
    """
    return {"taps": parameters.taps._asdict(), "glide": parameters.glide._asdict()}
