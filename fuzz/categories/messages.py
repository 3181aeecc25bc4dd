"""Malformed answers to a round of a federation, each through Flower's own format, the reader, the checks and the sum.

A trial is a round with an honest answer and fifty malformed ones.
"""

from __future__ import annotations

import random

from fuzz import messages
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    with untouched(box):
        messages.one_round(draw)
    return "refused"


CATEGORY = Category(
    "rounds of a federation, each with an honest answer and fifty malformed ones",
    trial,
    300,
    plain=lambda box, m: messages.undisturbed(),
)
