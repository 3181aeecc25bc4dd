"""Compact n-gram files: bytes and whole sections changed, mostly with a checksum that fits."""

from __future__ import annotations

import random

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.models import ask, sealed, sections
from fuzz.trial import Ending, refusable


def damaged(draw: random.Random, good: bytes) -> bytes:
    """Returns a compact file with some of its bytes changed."""
    from tacit.ngram.compact.reader import FORM

    content = bytearray(good)
    for _ in range(draw.choice((1, 1, 2, 3))):
        kind = draw.random()
        start, size = draw.choice(sections(good, FORM.entry))
        if kind < 0.3 and size:
            place = start + draw.randrange(size)
            content[place : place + 1] = bytes([draw.choice((0, 1, 127, 128, 255, draw.randrange(256)))])
        elif kind < 0.55 and size >= 4:
            place = start + draw.randrange(size // 4) * 4
            awkward = (
                b"\0\0\x80\x7f",
                b"\0\0\xc0\x7f",
                b"\0\0\x80\xff",
                b"\0\0\x96\x43",
                b"\xff" * 4,
                b"\0" * 4,
            )
            content[place : place + 4] = draw.choice((*awkward, draw.randbytes(4)))
        elif kind < 0.7:
            entry = 24 + FORM.entry.size * draw.randrange(len(sections(good, FORM.entry)))
            place = entry + draw.randrange(FORM.entry.size)
            content[place : place + 1] = bytes([draw.randrange(256)])
        elif kind < 0.8:
            place = start + draw.randrange(size + 1)
            old, new = draw.choice(
                ((b"3", b"9"), (b"1", b"-"), (b"ngrams", b"ngramz"), (b"2", b"0"), (b'"', b"{"))
            )
            content = bytearray(bytes(content).replace(old, new, draw.randint(1, 3)))
        else:
            content = bytearray(mutate.data(draw, bytes(content)))
    return sealed(bytes(content)) if draw.random() < 0.85 else bytes(content)


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    path = box.work / "model.tacit"
    path.write_bytes(damaged(draw, material.compact.read_bytes()))
    with untouched(box):
        return refusable(lambda: ask(path))


CATEGORY = Category(
    "damaged compact n-gram files, most with a checksum that fits",
    trial,
    2000,
    plain=lambda box, m: ask(m.compact),
)
