"""Hostile variations of a command line."""

from __future__ import annotations

import random

from fuzz import mutate
from fuzz.box import Box

_OPTIONS = [
    "--out",
    "--corpus",
    "--rounds",
    "--seed",
    "--set",
    "--data",
    "--json",
    "--k",
    "--user",
    "--people",
    "--messages",
    "--noisy",
    "--host",
    "--port",
    "--block",
    "--order",
    "--max-ngrams",
    "--topology",
    "--cased",
    "--pieces",
    "--unigrams",
    "--client-counts",
    "--sentences",
    "--locale",
    "--date",
    "--skip",
    "--lambda",
    "--cohort",
    "--capacity",
    "--whitelist",
    "--supplement",
    "--batch",
    "--lr",
    "--max-tokens",
    "--epochs",
    "--users",
    "--margin",
    "--strategies",
    "--keep",
    "--quick",
    "--seeds",
    "--only",
    "--again",
    "--minutes",
    "--docs",
    "--resume",
    "--coordinator",
    "--processes",
    "--process",
    "--wait",
    "--workload",
    "--precision",
    "--executor",
    "--repeats",
    "--keyboard",
    "--held-out",
    "--tensorboard",
    "--version",
    "--help",
    "-x",
    "--no-such",
]


def varied(draw: random.Random, arguments: list[str], box: Box, nul: bool = True) -> list[str]:
    """Returns arguments with some replaced, removed, repeated or added. No path among them leads out of the box."""
    given = list(arguments)
    for _ in range(draw.choice((1, 1, 2, 3))):
        place = draw.randrange(1, len(given) + 1)
        awkward = draw.choice(
            (
                mutate.text(draw, nul),
                mutate.number(draw),
                str(box.outside / "secret.jsonl"),
                str(box.outside),
                str(box.endless),
                "no/such/thing",
                ".",
                "",
            )
        )
        kind = draw.randrange(5)
        if kind == 0 and place < len(given):
            given[place] = awkward
        elif kind == 1 and place < len(given):
            del given[place]
        elif kind == 2 and place < len(given):
            given.insert(place, given[place])
        elif kind == 3:
            given[place:place] = [draw.choice(_OPTIONS), awkward]
        else:
            given.insert(place, awkward)
    return given
