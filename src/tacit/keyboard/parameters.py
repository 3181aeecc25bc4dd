"""All parameters of the decoders in one place, shared by Python and the web page.

Costs are negative natural logarithms, lengths are in key widths. docs/keyboard.md explains the values.
"""

from __future__ import annotations

from typing import Any, NamedTuple


class Taps(NamedTuple):
    """The noisy channel of taps: how a word becomes taps, and the prior of words that nobody knows."""

    sigma_x: float = 0.56  # usual spread of taps around the centre of the intended key
    sigma_y: float = 0.68
    steady: float = 0.43  # weight of that spread beside the one that a word's own taps show, in taps,
    usual: float = 0.83  # where this is usual: 2 × the cost of the nearest key
    omission: float = 4.13  # a letter without a tap
    single: float = 2.15  # the second of two equal letters without a tap
    apostrophe: float = 3.96  # an apostrophe without a tap
    insertion: float = 6.66  # a tap without a letter,
    double: float = 4.28  # or this if it hits the key of the tap before
    edge: float = 3.46  # more, for a letter or a tap alone at either end of the word
    transposition: float = 4.44  # two letters tapped in the wrong order
    move: float = 8.35  # three letters, of which the first is tapped last or the last first
    slip: float = 8.88  # a neighbour of the key that was hit: at most this more than that key
    vowel: float = 8.38  # a vowel written for another one, after the first letter
    wrong: float = 10.71  # another letter written for a letter, after the first letter
    space: float = 6.36  # a space without a tap, between two words
    gap: float = 6.99  # a tap on the space bar inside a word
    beam: float = 18.0  # words that cost more than this above the lower bound are not considered
    unknown: float = 9.7  # a word that nobody knows: this,
    letter: float = 0.48  # plus this times −ln p of its letters
    listed: float = 8.29  # a word of the dictionary that the model does not know: this,
    spelt: float = 0.31  # plus this times −ln p of its letters
    stays: float = 6.19  # what a word must at most be ahead of a known one that was typed
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
