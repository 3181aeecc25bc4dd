"""Text that a server may have: a supplemental corpus, which is never the clients' own.

It gives the words that may be counted, the n-grams of a topology and the capitals. The built-in typists have other
typists for it, whom no client knows.
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

OTHERS = 100  # typists whose text stands in for a supplemental corpus: no client among them


class Supplement(NamedTuple):
    """A supplemental corpus, by name, and how it is read."""

    name: str
    text: TextConfig
    typists: TypistsConfig
    data: Path | None

    def packed(self, words: Vocabulary) -> Packed:
        """All of it under a vocabulary."""
        return whole_corpus(self.text, self.typists, words, self.data)

    def written(self) -> list[list[str]]:
        """Its messages as words, with their capitals."""
        source = read_population(self.text, self.typists, self.data)
        found: list[list[str]] = []
        for part in source if isinstance(source, SplitCorpus) else (source,):
            split = splitter(lower=False, pretokenized=getattr(part, "pretokenized", False))
            found += [split(m.text) for k in range(len(part)) for m in part.messages(k)]
        return [message for message in found if message]


def find(
    config: TextConfig, typists: TypistsConfig, given: str | None, data: Path | None
) -> Supplement | None:
    """The corpus that was given; without one, other typists, if the clients are such."""
    own = config.corpus
    if given is None and own != "typists":
        return None
    if given in (None, "typists"):
        others = dataclasses.replace(typists, users=OTHERS, seed=typists.seed + 1)
        text = config.of("typists")
        return Supplement(f"{OTHERS} other typists", text, others, data)
    assert given is not None
    path = catalogue.resolve(given, data)
    if own != "typists" and path.samefile(catalogue.resolve(own, data)):
        raise TacitError(
            f"--supplement {given} is the clients' own text, which no server has; give another corpus"
        )
    at = str(path.resolve()) if catalogue.user_path(given).exists() else given
    text = config.of(at)
    return Supplement(given, text, typists, data)
