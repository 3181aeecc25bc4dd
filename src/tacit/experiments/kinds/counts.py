"""Counts the tokens of a corpus (papers 1 and 2, Table 1).

Tokens are separated by white space. `ends` adds one for each line, including empty ones, as in the published count of
WikiText-2; that of Penn Treebank has no line ends. For a corpus split by people, the words of training, validation and
test people are counted.
"""

from __future__ import annotations

from pathlib import Path

from tacit.experiments.data import locate
from tacit.experiments.entry import Settings
from tacit.experiments.results import Measured
from tacit.experiments.runner import Place
from tacit.text.catalogue import opened
from tacit.text.packed import Packed
from tacit.text.prepare import PartitionConfig, TextConfig, prepare
from tacit.text.typists import TypistsConfig

PARTS = ("train", "valid", "test")


def tokens(path: Path, ends: bool) -> int:
    """Returns the number of tokens in a text file."""
    with opened(path) as file:
        return sum(len(line.split()) + ends for line in file)


def measure(settings: Settings, seed: int, place: Place) -> Measured:
    """Settings: `corpus`, and `ends`, or `people` for a corpus that is split by people."""
    if settings.get("stand_in"):
        lines = "a few words\n\nand an empty line before\n"
        for part in PARTS:
            (place.folder / f"{part}.txt").write_text(lines, "utf-8")
        folder = place.folder
    elif settings.get("people"):
        text = TextConfig(corpus=str(locate(settings["corpus"], place.data)), max_words=0, vocabulary=0)
        ready = prepare(text, PartitionConfig(), TypistsConfig(), seed)
        parts = (ready.clients, ready.valid, ready.test)
        # Every message has an end `</s>`, which is not counted.
        return Measured(
            {
                name: float(part.lengths.sum() - len(part.lengths))
                for name, part in zip(PARTS, parts, strict=True)
                if isinstance(part, Packed)
            }
        )
    else:
        folder = locate(settings["corpus"], place.data)
    files = {p: next(f for f in (folder / f"{p}.txt", folder / f"{p}.txt.gz") if f.is_file()) for p in PARTS}
    return Measured({p: float(tokens(f, settings["ends"])) for p, f in files.items()})
