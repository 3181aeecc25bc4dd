"""All parameters of the decoders in one place, shared by Python and the web page.

Costs are negative natural logarithms, lengths are in key widths. docs/keyboard.md explains the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Taps(NamedTuple):
    """The spatial model of taps, and the rule by which the literal stays."""

    sigma_x: float = 0.42  # spread of taps around the centre of the intended key
    sigma_y: float = 0.50
    omission: float = 4.6  # a letter without a tap: −ln 0.01
    apostrophe: float = 0.7  # an apostrophe without a tap: −ln 0.5
    insertion: float = 6.9  # a tap without a letter: −ln 0.01, landing anywhere in nine keys
    transposition: float = 4.6  # two letters tapped in the wrong order: −ln 0.01
    beam: float = 17.0  # words that cost more than this above the lower bound are not considered
    clear: float = 0.3  # a tap is clear if the key that it hit costs at most this
    unknown: float = 4.0  # a literal that is not a known word: −ln 0.018,
    letter: float = 1.2  # plus this for each letter with a clear tap,
    unclear: float = 8.0  # or this for each letter without
    language: float = 1.0  # λ, weight of the language model


class Glide(NamedTuple):
    """The spatial model of glides."""

    points: int = 32  # of a trail and of a word's path, at equal distances
    sigma_location: float = 0.24  # of the mean distance between trail and path
    sigma_shape: float = 0.11  # of the mean distance after both are centred and scaled
    reach: float = 2.0  # a word's first and last key are at most this far from the ends of the trail
    stretch: float = 1.5  # the longer of trail and path is at most this many times the shorter,
    slack: float = 2.0  # plus this
    beam: float = 12.0  # words that cost more than this above the best are dropped
    language: float = 1.0  # λ


class Parameters(NamedTuple):
    """Parameters of taps and of glides."""

    taps: Taps = Taps()
    glide: Glide = Glide()


DEFAULT = Parameters()


def as_json(parameters: Parameters = DEFAULT) -> dict[str, Any]:
    """Returns the parameters for the web page.

    >>> as_json()["glide"]["points"]
    32
    """
    return {"taps": parameters.taps._asdict(), "glide": parameters.glide._asdict()}
