"""Opens a corpus for inspection: its people, their messages, and statistics.

`tacit.corpus` opens one in a notebook; `tacit data describe` prints the same statistics.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.settings import build
from tacit.base.table import Table
from tacit.text import catalogue, copies, statistics
from tacit.text.copies import Copy
from tacit.text.corpus import Corpus, SplitCorpus
from tacit.text.locale import DEFAULT, find
from tacit.text.population import Message, Population
from tacit.text.prepare import TextConfig, read_population
from tacit.text.statistics import Statistics
from tacit.text.typists import TypistsConfig


class Person(NamedTuple):
    """One person of a corpus, with their messages, oldest first."""

    name: str
    messages: Sequence[Message]

    def __repr__(self) -> str:
        return f"Person({self.name!r}, {len(self.messages):,} messages)"


class Description(NamedTuple):
    """Statistics of one part of a corpus."""

    statistics: Statistics
    copies: list[Copy] | None  # users who are copies of others; None: not searched
    too_large: bool  # whether the part has too many messages to search for copies
    left_out: tuple[str, ...]  # users excluded from a known corpus: copies, or not a single person

    def notes(self) -> list[str]:
        """Returns notes on the script, copies and excluded users, a line each."""
        notes = [self.statistics.remark] if self.statistics.remark else []
        notes += [
            f"{copy.share:.0%} of the longer messages of {copy.user} are also those of {copy.of}"
            for copy in self.copies or ()
        ]
        if self.left_out:
            notes.append(f"left out (copies, or not a single person): {', '.join(self.left_out)}")
        return notes


class CorpusView:
    """People and their messages, decoded on access.

    A corpus with fixed splits has one person in each, called train, valid and test.

    Example:
        corpus = tacit.corpus("typists", users=50)
        len(corpus)                              # people
        corpus[0].messages[0].text               # what the first one typed first
        [person.name for person in corpus]
        corpus.describe()
    """

    def __init__(self, name: str, source: Population | SplitCorpus, locale: str = DEFAULT) -> None:
        self._name, self._locale = name, locale
        self._parts = parts_of(name, source)
        self._split = isinstance(source, SplitCorpus)

    @property
    def name(self) -> str:
        """The name or path that was opened.

        Example:
            tacit.corpus("typists").name   # 'typists'
        """
        return self._name

    def __len__(self) -> int:
        return sum(map(len, self._parts.values()))

    def __iter__(self) -> Iterator[Person]:
        for part, people in self._parts.items():
            for k in range(len(people)):
                yield Person(part if self._split else people.user(k), people.messages(k))

    def __getitem__(self, person: int | str) -> Person:
        """Returns a person by number or by name."""
        if isinstance(person, str):
            for one in self:
                if one.name == person:
                    return one
            raise TacitError(f"{self.name}: nobody is called {person!r}; list(corpus) names everybody")
        k = range(len(self))[operator.index(person)]
        for part, people in self._parts.items():
            if k < len(people):
                return Person(part if self._split else people.user(k), people.messages(k))
            k -= len(people)
        raise IndexError(person)

    def describe(self) -> Table:
        """Returns statistics of people, words and non-IID skew, as `tacit data describe` prints them.

        Example:
            tacit.corpus("messages.jsonl").describe()
        """
        parts = describe(self._name, self._parts, self._locale)
        columns = {part: dict(statistics.rows(figures.statistics)) for part, figures in parts.items()}
        for part, figures in parts.items():
            if notes := figures.notes():
                columns[part]["notes"] = "; ".join(notes)
        labels = dict.fromkeys(label for column in columns.values() for label in column)
        cells = {part: [column.get(label, "") for label in labels] for part, column in columns.items()}
        return Table({"figure": list(labels)} | cells)

    def __repr__(self) -> str:
        messages = sum(int(people.sizes().sum()) for people in self._parts.values())
        return f"{self.name}: {len(self):,} people, {messages:,} messages"


def corpus(
    name: str | Path, *, data: str | Path | None = None, locale: str = DEFAULT, **typists: Any
) -> CorpusView:
    """Opens a corpus for inspection: the built-in "typists", a known corpus by name, or a file by path.

    A known corpus must already be in the directory `data` (default: $TACIT_DATA or ~/.cache/tacit), for example by
    `tacit data get`. Statistics follow the rules of `locale`, the language of the text. Other keywords are settings of
    the built-in typists, such as `users` and `messages`.

    Example:
        tacit.corpus("typists", users=50, messages=20).describe()
        tacit.corpus("messages.jsonl")["ana"].messages[0].text
    """
    named = str(name)
    if typists and named != "typists":
        raise TacitError(
            f"{next(iter(typists))} is a setting of the built-in typists, not of {named}; leave it out"
        )
    config: TypistsConfig = build(TypistsConfig, typists, "typists.")
    directory = None if data is None else Path(data)
    text = TextConfig(corpus=named, locale=find(locale).code)
    return CorpusView(named, read_population(text, config, directory), text.locale)


def parts_of(name: str, source: Population | SplitCorpus) -> dict[str, Population]:
    """Returns the parts of a corpus by name: train, valid and test, or all of it under its own name."""
    if isinstance(source, SplitCorpus):
        return {"train": source.train, "valid": source.valid, "test": source.test}
    return {name: source}


def describe(name: str, parts: Mapping[str, Population], locale: str = DEFAULT) -> dict[str, Description]:
    """Describes each part of a corpus by the rules of a locale.

    Copies are searched for in parts of at most `copies.MOST` messages.
    """
    left_out = tuple(catalogue.aside(name))

    def one(part: Population) -> Description:
        collected = isinstance(part, Corpus)  # simulated typists are never copies
        too_large = collected and bool(part.sizes().sum() > copies.MOST)
        copied = copies.find(part) if collected and not too_large else None
        return Description(statistics.describe(part, locale=locale), copied, too_large, left_out)

    return {key: one(part) for key, part in parts.items()}
