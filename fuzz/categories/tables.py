"""Small files that commands read: sweeps, word lists, counts, summaries of counts and results of experiments."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

from fuzz import mutate
from fuzz.box import Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, refusable
from tacit.counts import whitelist
from tacit.experiments import entry, results_page
from tacit.text import blocked, pieces, vocabulary

_VALUES = (
    "[]",
    "{}",
    "0",
    "-1",
    '""',
    "nan",
    "inf",
    "true",
    "[[1]]",
    "[1, 'a']",
    "9" * 30,
    '"{x}"',
    '"{:.9999999f}"',
)


def _sweep(draw: random.Random, good: str) -> str:
    lines = good.splitlines()
    for _ in range(draw.choice((1, 1, 2))):
        place = draw.randrange(len(lines))
        key, equals, _ = lines[place].partition("=")
        if equals and draw.random() < 0.8:
            lines[place] = f"{key}= {draw.choice((*_VALUES, json.dumps(mutate.text(draw, nul=False))))}"
        elif draw.random() < 0.5:
            lines[place] = lines[place].replace("[[", "[").replace("]]", "]")
        else:
            lines.insert(
                place,
                f'"{draw.choice(("kind", "preset", "title", "seeds", "a.b"))}" = {draw.choice(_VALUES)}',
            )
    return "\n".join(lines) + "\n"


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    words = b"are\nyou\ncoming\n# home\nnow\n"
    uses: dict[str, tuple[bytes, Callable[[Path], object]]] = {
        "counts.tsv": ((material.counts / "counts.tsv").read_bytes(), pieces.read_counts),
        "words.txt": (words, whitelist.read),
        "block.txt": (words, blocked.read),
        "vocabulary.txt": ((material.run / "vocabulary.txt").read_bytes(), vocabulary.load),
    }
    kind = draw.randrange(7)
    if kind < 2:
        path = box.work / "sweep.toml"
        text = _sweep(draw, material.sweep.read_text("utf-8"))
        path.write_bytes(text.encode() if kind else mutate.data(draw, text.encode()))
        with untouched(box):
            return refusable(lambda: entry.find(str(path)).hash)
    if kind == 2:
        folder = box.work / "results"
        folder.mkdir()
        content = (material.results / "quadratic.quick.json").read_bytes()
        text = mutate.json_text(draw, json.loads(content))
        (folder / "quadratic.json").write_bytes(text.encode("utf-8", "surrogatepass"))
        with untouched(box):
            return refusable(lambda: results_page.text(folder))
    name = draw.choice(sorted(uses))
    good, use = uses[name]
    path = box.work / name
    path.write_bytes(mutate.lines(draw, good) if draw.random() < 0.6 else mutate.data(draw, good))
    with untouched(box):
        return refusable(lambda: use(path))


CATEGORY = Category("sweeps, results, counts, word lists and vocabularies", trial, 1700)
