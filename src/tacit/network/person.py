"""Reads the text of one person on that person's device, as tasks need it.

A client decides with its own copy of Tacit what a task may ask for. It reads the configuration as data and refuses
anything that it does not know.
"""

from __future__ import annotations

import tomllib
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.network.settings import check_config
from tacit.network.work import Refusal
from tacit.runs.config import Config, from_tables
from tacit.text import corpus
from tacit.text.encode import Numbered, cut, everybody, packed
from tacit.text.held_out import LONGEST_SCORED
from tacit.text.packed import Packed
from tacit.text.vocabulary import SPECIALS, Vocabulary


class Device(NamedTuple):
    """Holds the text of one person, on that person's device."""

    messages: corpus.Corpus


def open_device(data: Path) -> Device:
    """Reads a person's text file, as `tacit train --corpus` would."""
    messages = corpus.read(data)
    if isinstance(messages, corpus.SplitCorpus) or len(messages) != 1:
        people = (
            "a corpus with splits" if isinstance(messages, corpus.SplitCorpus) else f"{len(messages)} people"
        )
        raise TacitError(
            f"{data} holds the text of {people}, but a client is one person; give a file with one person's text"
        )
    return Device(messages)


class Text(NamedTuple):
    """Holds a person's text as a model reads it."""

    training: Packed
    held_out: Packed  # the latest messages


def person_text(numbered: Numbered, config: Config, words: Vocabulary) -> Text:
    """Returns a person's earlier messages for training and the latest ones for evaluation."""
    count = len(numbered.offsets) - 1
    later = min(max(count - 1, 0), round(config.text.held_out_text * count))
    order, name = np.arange(count), numbered.names[:1]

    def part(messages: np.ndarray, limit: int) -> Packed:
        return packed(numbered, cut(numbered, messages, np.array([len(messages)]), name, limit), words)

    scored = LONGEST_SCORED if config.text.max_words else 0
    return Text(part(order[: count - later], config.text.max_words), part(order[count - later :], scored))


class Person:
    """Reads a device's text for tasks, and remembers the last reading."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.numbered = lru_cache(maxsize=2)(self._numbered)
        self.memory: dict[str, Any] = {}  # what kinds of work keep from one task to the next

    def _numbered(self, lower: bool, locale: str) -> Numbered:
        return everybody(self.device.messages, lower, locale=locale)

    def text(self, config: Config, words: Vocabulary) -> Text:
        """Returns the text as a configuration reads it."""
        return person_text(self.numbered(config.text.case == "lower", config.text.locale), config, words)


def understood(config_toml: str) -> Config:
    """Returns the configuration of a task, which a client reads as data."""
    try:
        config = from_tables(tomllib.loads(config_toml))
    except (ValueError, RecursionError):
        raise Refusal("config", "it is not valid TOML") from None
    check_config(config)
    return config


def read_words(content: bytes) -> Vocabulary:
    """Returns the words of a task."""
    try:
        words = Vocabulary(tuple(content.decode().split("\n")))
    except UnicodeDecodeError:
        raise Refusal("schema", "its words are not UTF-8") from None
    if words.words[: len(SPECIALS)] != SPECIALS or len(set(words.words)) != len(words):
        raise Refusal("schema", "its words are not a vocabulary")
    return words
