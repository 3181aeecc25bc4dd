"""Finds and reads the supplemental corpus: text that a server may have, never the clients' text.

It provides the whitelist of words to count, the n-grams of a topology and the capitals. For clients that are built-in
typists, it is the text of other typists, none of whom is a client.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import NamedTuple

from tacit.base.errors import TacitError
from tacit.text import catalogue
from tacit.text.corpus import SplitCorpus
from tacit.text.encode import splitter
from tacit.text.packed import Packed
from tacit.text.prepare import TextConfig, read_population, whole_corpus
from tacit.text.typists import TypistsConfig
from tacit.text.vocabulary import Vocabulary

OTHERS = 100  # typists in the default supplemental corpus; none is a client


class Supplement(NamedTuple):
    """A supplemental corpus: its name and how to read it."""

    name: str
    text: TextConfig
    typists: TypistsConfig
    data: Path | None

    def packed(self, words: Vocabulary) -> Packed:
        """Returns all of its text under a vocabulary."""
        return whole_corpus(self.text, self.typists, words, self.data)

    def written(self) -> list[list[str]]:
        """Returns its messages as words, with capitals."""
        source = read_population(self.text, self.typists, self.data)
        messages: list[list[str]] = []
        for part in source if isinstance(source, SplitCorpus) else (source,):
            split = splitter(False, getattr(part, "pretokenized", False), self.text.locale)
            messages += [split(m.text) for k in range(len(part)) for m in part.messages(k)]
        return [message for message in messages if message]


def find(
    config: TextConfig, typists: TypistsConfig, given: str | None, data: Path | None
) -> Supplement | None:
    """Returns the given corpus; without one, other typists if the clients are typists, else None."""
    clients = config.corpus
    if given is None and clients != "typists":
        return None
    if given in (None, "typists"):
        others = dataclasses.replace(typists, users=OTHERS, seed=typists.seed + 1)
        text = config.of("typists")
        return Supplement(f"{OTHERS} other typists", text, others, data)
    assert given is not None
    path = catalogue.resolve(given, data)
    if catalogue.same_corpus(given, clients, data):
        raise TacitError(
            f"--supplement {given} is the clients' own text, which no server has; give another corpus"
        )
    name = str(path.resolve()) if catalogue.user_path(given).exists() else str(given)
    text = config.of(name)
    return Supplement(given, text, typists, data)
