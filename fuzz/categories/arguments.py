"""Command-line arguments of every command, in this process: hostile values, unknown and repeated options.

Commands that compute get something that stops them before they do, so that thousands can be tried.
"""

from __future__ import annotations

import random

from fuzz.box import Box, untouched
from fuzz.called import called, judged
from fuzz.categories import Category
from fuzz.commands import PLAIN
from fuzz.material import Material
from fuzz.trial import Ending
from fuzz.varied import varied

_STOPS = {
    "data describe": ["--set", "typists.users=9"],  # without a corpus it would describe 400 typists
    "train": ["--set", "text.corpus=no/such.jsonl"],
    "bench": ["--executor", "none"],
    "demo": ["--set", "client.epochs=many"],
    "evaluate": ["--corpus", "no/such.jsonl"],
    "count": ["--supplement", "no/such.jsonl"],
    "distill": ["--supplement", "no/such.jsonl"],
    "personalize": ["--corpus", "no/such.jsonl"],
    "serve": ["--block", "no/such.txt"],
    "export": ["--out", "no/such/folder/x.tacit"],
    "reproduce": ["no-such-table"],
    "federation demo": ["--rounds", "0"],
}


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    name = draw.choice(sorted(PLAIN))
    out = box.work / f"out{PLAIN[name].suffix}"
    arguments = varied(draw, PLAIN[name].arguments(material, out), box)
    if stop := _STOPS.get(name):
        arguments += stop
    with untouched(box, (box.work, box.outside / "ptb")):  # the arguments may name any path for results
        return judged(arguments, box)


CATEGORY = Category(
    "command-line arguments of every command", trial, 1200, plain=lambda box, m: called(["presets"])
)
