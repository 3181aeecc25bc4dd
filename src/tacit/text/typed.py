"""Who types in a measurement, and what: some people of a corpus, with the words of some of their messages.

Measures of typing need words as they are written, the unknown ones too, which packed text no longer has. So the text
is read again here. Held-out people (or sentences, of a corpus of one voice) are those of tacit.text.held_out; nobody
else is visited, so that this is quick in a population of any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.text import held_out
from tacit.text.corpus import SplitCorpus
from tacit.text.encode import splitter
from tacit.text.held_out import LONGEST_SCORED
from tacit.text.population import Population
from tacit.text.prepare import TextConfig, read_population
from tacit.text.typists import TypistsConfig

Words = Sequence[str]


class Typed(NamedTuple):
    """What some people typed: `messages[k]` are those of the person `names[k]`, each a list of tokens."""

    names: tuple[str, ...]
    messages: tuple[tuple[Words, ...], ...]

    def limited(self, people: int = 0, messages: int = 0) -> Typed:
        """At most so many people, and of each as many messages, spread over all of theirs; 0: all.

        >>> Typed(("ana",), (tuple([str(i)] for i in range(5)),)).limited(messages=3).messages
        ((['0'], ['2'], ['4']),)
        """
        kept = self.messages[: people or None]
        some = tuple(tuple(said[i] for i in spread(len(said), messages)) for said in kept)
        return Typed(self.names[: len(kept)], some)


def spread(count: int, most: int) -> list[int]:
    """At most so many of `count` places, at equal distances, the first and the last among them; 0: all.

    >>> spread(10, 4), spread(2, 4)
    ([0, 3, 6, 9], [0, 1])
    """
    return (
        list(range(count))
        if not most or count <= most
        else np.linspace(0, count - 1, most).astype(int).tolist()
    )


def read(
    config: TextConfig,
    typists: TypistsConfig,
    seed: int | None,
    people: int = 0,
    messages: int = 0,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Typed:
    """Of a run (its seed) the held-out part, of a corpus (no seed) everybody; limited as `Typed.limited` says.

    >>> few = read(TextConfig(), TypistsConfig(users=10, messages=4), seed=0)
    >>> len(few.names), all(map(len, few.messages))
    (1, True)
    """
    source = read_population(config, typists, data, progress)
    lower = config.case == "lower"
    if isinstance(source, SplitCorpus):
        found = [
            _of(part, [0], lower, 0, messages, progress) for part in (source if seed is None else source[2:])
        ]
        typed = Typed(("",), (tuple(m for part in found for m in part.messages[0]),))
    elif seed is None:
        typed = _of(source, range(min(len(source), people or len(source))), lower, people, messages, progress)
    elif len(source) == 1:
        kept = held_out.sentences(len(source.messages(0)), config.held_out_users, seed)
        typed = _of(source, [0], lower, 0, messages, progress, kept.test.tolist())
    else:
        kept = held_out.people(source, config.held_out_users, seed, config.corpus)
        typed = _of(source, kept.test.tolist(), lower, people, messages, progress)
    if not any(map(len, typed.messages)):
        raise TacitError(f"{config.corpus}: no message to type; give a corpus with text")
    return typed.limited(people, messages)


def _of(
    source: Population,
    people: Sequence[int],
    lower: bool,
    most: int,
    messages: int,
    progress: Progress,
    which: Sequence[int] | None = None,
) -> Typed:
    """The messages of these people that have a word in them, split; no more than are wanted."""
    split = splitter(lower, getattr(source, "pretokenized", False))
    chosen = people[: most or None]
    said = []
    for done, k in enumerate(chosen):
        every = source.messages(k)
        texts = [every[i].text for i in (range(len(every)) if which is None else which)]
        tokens = [words for i in spread(len(texts), messages) if (words := split(texts[i]))]
        said.append(
            tuple(
                words[i : i + LONGEST_SCORED]
                for words in tokens
                for i in range(0, len(words), LONGEST_SCORED)
            )
        )
        progress("reading what they typed", (done + 1) / len(chosen))
    return Typed(tuple(source.user(k) for k in chosen), tuple(said))
