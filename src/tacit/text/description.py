"""Describes a corpus: statistics of each of its parts, and people who are copies of other people."""

from __future__ import annotations

from typing import NamedTuple

from tacit.text import copies, statistics
from tacit.text.copies import Copy
from tacit.text.corpus import Corpus, SplitCorpus
from tacit.text.population import Population
from tacit.text.statistics import Statistics


class Description(NamedTuple):
    """Numbers about one part of a corpus."""

    statistics: Statistics
    copies: list[Copy] | None  # None: not looked for
    too_large: bool  # whether that is because it has more messages than are looked through


def describe(source: Population | SplitCorpus, name: str) -> dict[str, Description]:
    """Returns a description of each part: train, valid and test, or the whole corpus under its name."""
    parts: dict[str, Population]
    if isinstance(source, SplitCorpus):
        parts = {"train": source.train, "valid": source.valid, "test": source.test}
    else:
        parts = {name: source}
    return {part: _described(population) for part, population in parts.items()}


def _described(population: Population) -> Description:
    collected = isinstance(population, Corpus)  # generated typists are no copies
    too_large = collected and bool(population.sizes().sum() > copies.MOST)
    copied = copies.find(population) if collected and not too_large else None
    return Description(statistics.describe(population), copied, too_large)
