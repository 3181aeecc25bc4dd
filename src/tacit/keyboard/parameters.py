"""All parameters of the decoders in one place, shared by Python and the web page.

Costs are negative natural logarithms, lengths are in key widths. docs/keyboard.md explains the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Taps(NamedTuple):
    """The noisy channel of taps: how a word becomes taps, and the prior of words that nobody knows."""

    sigma_x: float = 0.72  # usual spread of taps around the centre of the intended key
    sigma_y: float = 0.92
    steady: float = 0.29  # weight of that spread beside the one that a word's own taps show, in taps,
    usual: float = 0.37  # where this is usual: 2 × the cost of the nearest key
    omission: float = 2.4  # a letter without a tap
    single: float = 1.07  # the second of two equal letters without a tap
    apostrophe: float = 2.07  # an apostrophe without a tap
    insertion: float = 3.73  # a tap without a letter,
    double: float = 2.34  # or this if it hits the key of the tap before
    edge: float = 1.68  # more, for a letter or a tap alone at either end of the word
    transposition: float = 2.41  # two letters tapped in the wrong order
    vowel: float = 4.54  # a vowel written for another one, after the first letter
    wrong: float = 5.52  # another letter written for a letter, after the first letter
    space: float = 3.38  # a space without a tap, between two words
    beam: float = 10.0  # words that cost more than this above the lower bound are not considered
    unknown: float = 4.31  # a word that nobody knows: this,
    letter: float = 0.256  # plus this times −ln p of its letters
    listed: float = 2.77  # a word of the dictionary that the model does not know: this,
    spelt: float = 0.222  # plus this times −ln p of its letters
    stays: float = 1.94  # what a word must at most be ahead of a known one that was typed
    language: float = 0.88  # λ, weight of the language model


class Glide(NamedTuple):
    """The spatial model of glides."""

    points: int = 32  # of a trail and of a word's path, at equal distances
    sigma_location: float = 0.24  # of the mean distance between trail and path
    sigma_shape: float = 0.11  # of the mean distance after both are centred and scaled
    sigma_ends: float = 0.6  # of the distance of both ends
    reach: float = 2.0  # a word's first and last key are at most this far from the ends of the trail
    stretch: float = 1.5  # the longer of trail and path is at most this many times the shorter,
    slack: float = 2.0  # plus this
    beam: float = 12.0  # words that cost more than this above the best are dropped
    language: float = 1.0  # λ
    nothing: float = 17.0  # no word fits if every score is below minus this


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
