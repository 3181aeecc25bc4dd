"""Reads the messages that a typing measurement types, as words.

Typing measures need words as written, including unknown ones, and packed text no longer has those. So this module
reads the corpus again. For a run it takes the held-out people (or sentences, of a corpus of one person) that
tacit.text.held_out draws, and reads nobody else's text, so the time does not depend on the size of the population.
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
    """Messages by person: `messages[k]` are those of the person `names[k]`, each a list of tokens."""

    names: tuple[str, ...]
    messages: tuple[tuple[Words, ...], ...]

    def limited(self, people: int = 0, messages: int = 0) -> Typed:
        """Keeps at most `people` people and `messages` messages of each, evenly spaced; 0 keeps all.

        >>> Typed(("ana",), (tuple([str(i)] for i in range(5)),)).limited(messages=3).messages
        ((['0'], ['2'], ['4']),)
        """
        chosen = self.messages[: people or None]
        kept = tuple(tuple(typed[i] for i in spread(len(typed), messages)) for typed in chosen)
        return Typed(self.names[: len(chosen)], kept)


def spread(count: int, most: int) -> list[int]:
    """Returns at most `most` of `count` indices, evenly spaced from the first to the last; 0 returns all.

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
    """Reads the held-out part of a run's corpus (by its seed) or all of a corpus (None), limited as in `Typed.limited`.

    >>> few = read(TextConfig(), TypistsConfig(users=10, messages=4), seed=0)
    >>> len(few.names), all(map(len, few.messages))
    (1, True)
    """
    source = read_population(config, typists, data, progress)
    if isinstance(source, SplitCorpus):
        splits = [
            _of(part, [0], config, 0, messages, progress) for part in (source if seed is None else source[2:])
        ]
        typed = Typed(("",), (tuple(m for part in splits for m in part.messages[0]),))
    elif seed is None:
        typed = _of(
            source, range(min(len(source), people or len(source))), config, people, messages, progress
        )
    elif len(source) == 1:
        kept = held_out.sentences(len(source.messages(0)), config.held_out_users, seed)
        typed = _of(source, [0], config, 0, messages, progress, kept.test.tolist())
    else:
        kept = held_out.people(source, config.held_out_users, seed, config.corpus)
        typed = _of(source, kept.test.tolist(), config, people, messages, progress)
    if not any(map(len, typed.messages)):
        raise TacitError(f"{config.corpus}: no message to type; give a corpus with text")
    return typed.limited(people, messages)


def _of(
    source: Population,
    people: Sequence[int],
    config: TextConfig,
    most: int,
    messages: int,
    progress: Progress,
    which: Sequence[int] | None = None,
) -> Typed:
    """Returns the messages of these people, split into words; empty ones are skipped."""
    split = splitter(config.case == "lower", getattr(source, "pretokenized", False), config.locale)
    chosen = people[: most or None]
    typed = []
    for done, k in enumerate(chosen):
        every = source.messages(k)
        texts = [every[i].text for i in (range(len(every)) if which is None else which)]
        tokens = [words for i in spread(len(texts), messages) if (words := split(texts[i]))]
        typed.append(
            tuple(
                words[i : i + LONGEST_SCORED]
                for words in tokens
                for i in range(0, len(words), LONGEST_SCORED)
            )
        )
        progress("reading what they typed", (done + 1) / len(chosen))
    return Typed(tuple(source.user(k) for k in chosen), tuple(typed))
