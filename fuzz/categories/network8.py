"""8-bit networks: headers, scales, words and weights changed, mostly with a checksum that fits."""

from __future__ import annotations

import random

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.models import ask, sealed, sections
from fuzz.trial import Ending, refusable

_FACTS = (
    (b'"hidden": 8', b'"hidden": 9'),
    (b'"layers": 1', b'"layers": 20000'),
    (b'"embedding": 8', b'"embedding": 2147483648'),
    (b'"max_words": 30', b'"max_words": 1e99'),
    (b'"max_words": 30', b'"max_words": -1'),
    (b'"groups": 1', b'"groups": 0'),
    (b'"kind": "gru"', b'"kind": "lstm"'),
    (b'"tied": true', b'"tied": null'),
    (b'"case"', b'"case\\u0000"'),
    (b'"vocabulary": 20', b'"vocabulary": 2e1'),
    (b'"vocabulary": 20', b'"vocabulary": true'),
)


def damaged(draw: random.Random, good: bytes) -> bytes:
    """Returns a network file with some of its bytes changed."""
    from tacit.lm.network8.reader import FORM

    content = bytearray(good)
    for _ in range(draw.choice((1, 1, 2))):
        kind = draw.random()
        start, size = draw.choice(sections(good, FORM.entry))
        if kind < 0.35 and size >= 4:
            place = start + draw.randrange(size // 4) * 4
            huge = (
                b"\0\0\x80\x7f",
                b"\0\0\xc0\x7f",
                b"\xff\xff\x7f\x7f",
                b"\0\0\x80\xbf",
                b"\1\0\0\0",
                b"\0" * 4,
            )
            content[place : place + 4] = draw.choice((*huge, draw.randbytes(4)))
        elif kind < 0.6:
            old, new = draw.choice(_FACTS)
            if draw.random() < 0.7:  # keep the length, so that other sections stay where they are
                new = new[: len(old)].ljust(len(old))
            content = bytearray(bytes(content).replace(old, new, 1))
        elif kind < 0.75:
            place = 24 + draw.randrange(FORM.entry.size * len(sections(good, FORM.entry)))
            content[place : place + 1] = bytes([draw.randrange(256)])
        else:
            content = bytearray(mutate.data(draw, bytes(content)))
    return sealed(bytes(content)) if draw.random() < 0.85 else bytes(content)


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    path = box.work / "network.tacit"
    path.write_bytes(damaged(draw, material.network8.read_bytes()))
    with untouched(box):
        return refusable(lambda: ask(path))


CATEGORY = Category(
    "damaged 8-bit networks, most with a checksum that fits",
    trial,
    1700,
    plain=lambda box, m: ask(m.network8),
)
