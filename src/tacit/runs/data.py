"""Prepares the text of a configuration: the only module that passes its tables to `tacit.text`."""

from __future__ import annotations

from pathlib import Path

from tacit.base.progress import Progress, no_progress
from tacit.runs.config import Config
from tacit.text import prepare as text
from tacit.text.corpus import SplitCorpus
from tacit.text.pieces import Spelling
from tacit.text.population import Population
from tacit.text.prepare import Prepared
from tacit.text.vocabulary import Vocabulary


def prepare(
    config: Config,
    words: Vocabulary | Spelling | None = None,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Prepared:
    """Reads the corpus of a configuration, splits it and packs it.

    Without `words` the vocabulary is built from the training text. A finished run passes its own (`Run.prepare`).

    >>> from tacit.runs.config import resolve
    >>> small = ["typists.users=20", "typists.messages=10", "text.vocabulary=200"]
    >>> ready = prepare(resolve("fedavg", small))
    >>> len(ready.vocabulary), len(ready.clients)
    (200, 16)
    """
    return text.prepare(config.text, config.partition, config.typists, config.seed, words, data, progress)


def read_population(
    config: Config, data: Path | None = None, progress: Progress = no_progress
) -> Population | SplitCorpus:
    """Reads the corpus of a configuration as people and messages."""
    return text.read_population(config.text, config.typists, data, progress)
