"""ARPA files: fields that are no numbers, orders that do not fit, weights that are no probabilities."""

from __future__ import annotations

import random

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.models import ask
from fuzz.trial import Ending, refusable


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    good = material.arpa.read_bytes()
    content = mutate.data(draw, good) if draw.random() < 0.35 else mutate.lines(draw, good)
    path = box.work / "model.arpa"
    path.write_bytes(content)
    with untouched(box):
        return refusable(lambda: ask(path))


CATEGORY = Category(
    "damaged ARPA files: numbers, words, orders, counts", trial, 2500, plain=lambda box, m: ask(m.arpa)
)
