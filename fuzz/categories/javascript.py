"""The page's readers of compact files and 8-bit networks, in node: they refuse what Python refuses, and no more."""

from __future__ import annotations

import random

from fuzz.box import Box, untouched
from fuzz.categories import Category, network8
from fuzz.categories.compact import damaged
from fuzz.material import Material
from fuzz.models import ask
from fuzz.node import verdict
from fuzz.trial import Ending, Fault, refusable


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    path = box.work / "model.tacit"
    if number % 2:
        path.write_bytes(network8.damaged(draw, material.network8.read_bytes()))
    else:
        path.write_bytes(damaged(draw, material.compact.read_bytes()))
    with untouched(box):
        ending, told = verdict("verdicts.mjs", str(path))
        if ending in ("crash", "nonsense"):
            raise Fault(ending, told)
        try:
            python: str = refusable(lambda: ask(path))
        except Fault as fault:  # `compact` and `network8` report what Python does wrong
            python = fault.kind
        if python in ("ok", "refused") and python != ending:
            raise Fault("disagree", f"Python: {python}, the page: {ending} {told}")
    return "ok" if ending == "ok" else "refused"


def _plain(box: Box, material: Material) -> None:
    for path in (material.compact, material.network8):
        ask(path)
        assert verdict("verdicts.mjs", str(path)) == ("ok", "")


CATEGORY = Category(
    "the page's readers in node, against Python's verdict on the same damaged files",
    trial,
    3000,
    plain=_plain,
)
