"""Configuration files and `--set` values: wrong types, huge and tiny numbers, unknown and nested keys."""

from __future__ import annotations

import random

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, refusable
from tacit.models import language_model
from tacit.runs.config import presets, resolve


def _assignment(draw: random.Random, keys: list[str]) -> str:
    key = draw.choice(keys) if draw.random() < 0.85 else mutate.text(draw)
    value = mutate.number(draw) if draw.random() < 0.6 else mutate.text(draw)
    if draw.random() < 0.15:
        value = draw.choice(
            ("[" * 5000, "{a = 1}", "[1, 2]", '"""', "1979-05-27", "true", "0b1", "+1", "'x'")
        )
    return f"{key}={value}" if draw.random() < 0.95 else key + value


def _keys(config: bytes) -> list[str]:
    table, keys = "", list[str]()
    for line in config.decode().splitlines():
        if line.startswith("["):
            table = line.strip("[]") + "."
        elif "=" in line:
            keys.append(table + line.partition("=")[0].strip())
    return keys


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    good = (material.run / "config.toml").read_bytes()
    assignments = [_assignment(draw, _keys(good)) for _ in range(draw.choice((1, 1, 2, 4)))]
    source = draw.choice(presets())
    if draw.random() < 0.4:
        path = box.work / "my.toml"
        path.write_bytes(mutate.lines(draw, good) if draw.random() < 0.7 else mutate.data(draw, good))
        source, assignments = str(path), assignments[: draw.choice((0, 0, 1))]

    def settle() -> None:
        config = resolve(source, assignments)
        language_model(config.model, max(4, min(config.text.vocabulary, 100)))  # what a run does first

    with untouched(box):
        return refusable(settle)


CATEGORY = Category("configuration files and values of --set", trial, 2300)
