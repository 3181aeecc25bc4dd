"""Piece models and tables of counts that pieces are made from."""

from __future__ import annotations

import random

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, refusable
from tacit.text import pieces

_SENTENCES: tuple[list[str], ...] = (["see", "you"], ["xyzzy", "日本", ""], [])


def _use(model: pieces.Pieces) -> None:
    for words in _SENTENCES:
        model.decode(model.encode(words).tolist())


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    model, counts = material.pieces / "pieces.model", material.counts / "counts.tsv"
    if draw.random() < 0.75:
        path = box.work / "pieces.model"
        path.write_bytes(mutate.data(draw, model.read_bytes()))
        with untouched(box):
            return refusable(lambda: _use(pieces.load(path)))
    path = box.work / "counts.tsv"
    start = counts.read_bytes()
    path.write_bytes(mutate.lines(draw, start) if draw.random() < 0.7 else mutate.data(draw, start))
    with untouched(box):
        return refusable(lambda: _use(pieces.inventory(path, draw.choice((40, 40, 4, 1, 100_000)))))


CATEGORY = Category("damaged piece models, and tables of counts for new ones", trial, 1500)
