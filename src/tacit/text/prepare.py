"""Prepares a corpus for training: builds the vocabulary, assigns text to clients and holds out validation and test.

- A corpus with users: a share of the people is held out for validation and as many for the test (held-out typists).
  The latest messages of everybody else are held out too (held-out text of seen typists).
- A corpus with train, valid and test files keeps its splits.
- A corpus of one person is split by sentence.

Validation selects, the test reports; neither is trained on. The vocabulary comes from training text only (except in
the FedAtt protocol, which counts all splits) or from a word list.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.base.randomness import generator, stream
from tacit.base.settings import number
from tacit.text import catalogue, corpus, held_out, partition, vocabulary
from tacit.text.encode import (
    Numbered,
    Sequences,
    counts,
    cut,
    everybody,
    numbered,
    of_people,
    packed,
    splitter,
)
from tacit.text.flat import cells, ends
from tacit.text.held_out import LAZY_ABOVE, LAZY_MESSAGES, LONGEST_SCORED
from tacit.text.lazy import LazyText
from tacit.text.locale import DEFAULT
from tacit.text.packed import ClientText, Packed, join
from tacit.text.partition import PartitionConfig as PartitionConfig
from tacit.text.pieces import Spelling, inventory
from tacit.text.population import Message, Population
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import EOS, Vocabulary

CLIENTS = "clients"  # as `text.corpus`: the text is on the clients of a network
_DEAL = stream("deal examples")
LESS_TEXT = f"use at most {LAZY_ABOVE:,} people, or {LAZY_MESSAGES:,} messages in all"
_LAZY_VOCABULARY = 3000  # people whose words are counted in a population that is generated on demand


@dataclass(frozen=True)
class TextConfig:
    """Selects the text and what to hold out: the table [text] of a configuration."""

    corpus: str = "typists"  # "typists", a name of `tacit data list`, a path; "clients": see tacit.network
    protocol: Literal["plain", "fedatt"] = "plain"  # fedatt: as papers 1 and 2 (see tacit.text.corpus)
    locale: str = DEFAULT  # the language: letters, capitals and words; a name of docs/locales.md
    case: Literal["lower", "keep"] = "lower"
    vocabulary: int = number(5000, 0)  # number of words, including <s> </s> <unk>; 0 keeps all
    words: str = ""  # a file with the words, most frequent first; "" counts the training text
    # number of word-pieces, instead of words; 0: words. See tacit.text.pieces
    pieces: int = number(0, 0, 1_000_000, "every piece has a row of weights")
    inventory: str = ""  # where pieces come from: counts of words (`tacit count`), or a .model file
    # training: a longer message is split into sequences; 0: no limit
    max_words: int = number(30, 0, 100_000, "a batch is as long as its longest sequence")
    held_out_users: float = number(0.1, 0, 0.45)  # share of people for validation, and as many for the test
    held_out_text: float = number(0.1, 0, 0.9)  # share of each training person's messages, the latest
    # hash of the corpus, or for a private run of its people, stored in a run; if set, other text is refused
    fingerprint: str = ""

    def of(self, corpus: str, protocol: Literal["plain", "fedatt"] = "plain") -> TextConfig:
        """Returns the same settings for another corpus."""
        return replace(self, corpus=corpus, protocol=protocol, fingerprint="")


class Prepared(NamedTuple):
    """The data of a run: everything that training and evaluation read."""

    vocabulary: Vocabulary
    clients: ClientText
    valid: Packed
    test: Packed  # held-out typists, or the corpus's own test split
    seen: Packed | None  # held-out text of typists who were trained on
    spelling: Spelling | None = None  # only for a piece model, whose `vocabulary` is its pieces
    fingerprint: str = ""  # hash of the corpus; "" for the built-in typists
    people: str = ""  # hash of its people's names alone


def sequences(config: TextConfig, pretokenized: bool) -> Callable[[Message], list[list[str]]]:
    """Returns the function that splits one message into sequences of words; `encode` does this for many at once.

    >>> sequences(TextConfig(max_words=2), False)(Message("Hi Ana, ok?"))
    [['hi', 'ana'], [',', 'ok'], ['?']]
    """
    split = splitter(config.case == "lower", pretokenized, config.locale)

    def cut(message: Message) -> list[list[str]]:
        words = split(message.text)
        limit = config.max_words or max(1, len(words))
        return [words[i : i + limit] for i in range(0, len(words), limit)]

    return cut


def read_population(
    config: TextConfig, typists: TypistsConfig, data: Path | None = None, progress: Progress = no_progress
) -> Population | corpus.SplitCorpus:
    """Reads the corpus that `text.corpus` names: the built-in typists, a known corpus, or a path."""
    if config.corpus == "typists":
        if config.protocol != "plain":
            raise TacitError(
                "text.protocol = 'fedatt' is for text in files; the built-in typists take 'plain'"
            )
        return Typists(typists)
    if config.corpus == CLIENTS:
        raise TacitError(
            "the text of this run stays on its clients, so there is none here; give the text of other people, "
            "as with --corpus FILE"
        )
    population = corpus.read(catalogue.resolve(config.corpus, data), config.protocol, progress)
    aside = catalogue.aside(config.corpus)
    population = population.without(aside) if aside and isinstance(population, corpus.Corpus) else population
    if config.fingerprint and not corpus.fits(population, config.fingerprint):
        raise TacitError(
            f"{config.corpus} is not the text that the run was trained on: its people or messages have changed, so "
            "other people would be held out; restore that text, or train again"
        )
    return population


def whole_corpus(
    config: TextConfig,
    typists: TypistsConfig,
    words: Vocabulary | Spelling,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Packed:
    """Reads and encodes all of a corpus, to evaluate a model on a corpus it was not trained on."""
    source = read_population(config, typists, data, progress)
    texts = []
    for part in source if isinstance(source, corpus.SplitCorpus) else [source]:
        messages = everybody(part, config.case == "lower", progress, config.locale)
        texts.append(packed(messages, of_people(messages, np.arange(len(part)), _scored(config)), words))
    text = texts[0] if len(texts) == 1 else join(texts)
    if len(text.offsets) < 2:
        raise TacitError(f"{config.corpus}: no message has a word in it; give a corpus with text")
    return text


def prepare(
    config: TextConfig,
    split: PartitionConfig,
    typists: TypistsConfig,
    seed: int,
    words: Vocabulary | Spelling | None = None,
    data: Path | None = None,
    progress: Progress = no_progress,
) -> Prepared:
    """Reads a corpus, builds the vocabulary unless `words` is given, and packs the text of clients and held-out sets.

    >>> few = TypistsConfig(users=20, messages=10)
    >>> ready = prepare(TextConfig(vocabulary=200), PartitionConfig(), few, seed=0)
    >>> len(ready.vocabulary), len(ready.clients)
    (200, 16)
    """
    source = read_population(config, typists, data, progress)
    fingerprint = people = ""  # the built-in typists need none: the configuration determines their text
    if isinstance(source, corpus.Corpus | corpus.SplitCorpus):
        fingerprint, people = corpus.fingerprint(source), corpus.people_fingerprint(source)
    lower = config.case == "lower"
    if isinstance(source, corpus.SplitCorpus):
        texts = [everybody(part, lower, progress, config.locale) for part in source]
        parts = [_Part(text, np.arange(len(text.offsets) - 1)) for text in texts]
        ready = _prepare_split(parts, config, split, seed, words)
    elif len(source) == 1:
        parts = _split_sentences(everybody(source, lower, progress, config.locale), config, seed)
        ready = _prepare_split(parts, config, split, seed, words)
    else:
        ready = _prepare_people(source, config, split, seed, words, progress)
    if ready.seen is not None and len(ready.seen.offsets) < 2:  # held_out_text = 0, or one message each
        ready = ready._replace(seen=None)
    return ready._replace(fingerprint=fingerprint, people=people)


class _Part(NamedTuple):
    """Messages of a corpus of one person."""

    text: Numbered
    messages: np.ndarray

    def cut(self, limit: int) -> Sequences:
        return cut(self.text, self.messages, np.array([len(self.messages)]), self.text.names, limit)


def _prepare_split(
    parts: list[_Part],
    config: TextConfig,
    split: PartitionConfig,
    seed: int,
    words: Vocabulary | Spelling | None,
) -> Prepared:
    """Prepares a corpus of one person in three parts: training, validation and test."""
    if words is None:
        words = _words(config, lambda: _counted(parts if config.protocol == "fedatt" else parts[:1]))
    train, *others = parts
    dealt = _deal(train.cut(config.max_words), split, seed, known_users=False)
    valid, test = (packed(part.text, part.cut(_scored(config)), words) for part in others)
    return _prepared(words, packed(train.text, dealt, words), valid, test, None)


def _split_sentences(text: Numbered, config: TextConfig, seed: int) -> list[_Part]:
    """Splits the messages of one person at random into training, validation and test."""
    messages = len(text.offsets) - 1
    parts = [_Part(text, kept) for kept in held_out.sentences(messages, config.held_out_users, seed)]
    for name, chosen in zip(("training", "validation", "the test"), parts, strict=True):
        if not len(chosen.messages):
            raise TacitError(f"{config.corpus}: {messages} sentences leave none for {name}; give more text")
    return parts


def _prepare_people(
    population: Population,
    config: TextConfig,
    split: PartitionConfig,
    seed: int,
    words: Vocabulary | Spelling | None,
    progress: Progress,
) -> Prepared:
    sizes, lower = population.sizes(), config.case == "lower"
    train, valid, test = held_out.people(population, config.held_out_users, seed, config.corpus)
    later = np.minimum(np.maximum(sizes - 1, 0), np.round(config.held_out_text * sizes).astype(np.int64))
    kept = sizes - later  # [people] messages to train on, at least one
    lazy = held_out.is_lazy(population)
    read = train
    if lazy:
        _refuse_lazy(config, split)
        read = train[: _LAZY_VOCABULARY if words is None and not config.words else 0]
    who = np.concatenate([read, valid, test])
    text = numbered(population, who, sizes[who], lower, progress, config.locale)
    first, count, names = text.owners[: len(read)], kept[read], text.names[: len(read)]
    earlier = cut(text, cells(first, count), count, names, config.max_words)
    if words is None:
        words = _words(config, lambda: counts(text, earlier))
    clients: ClientText
    if lazy:
        if isinstance(words, Spelling):
            raise TacitError(f"text.pieces needs all text in memory; {LESS_TEXT}")
        many = population, train, sizes[train], kept[train]
        clients, seen = LazyText(*many, words, lower, config.max_words, config.locale), None
    else:
        clients = packed(text, _deal(earlier, split, seed, known_users=True), words)
        first, count = first + count, sizes[read] - count
        seen = packed(text, cut(text, cells(first, count), count, names, _scored(config)), words)
    held = np.split(np.arange(len(read), len(who)), [len(valid)])  # places of valid and test people in `text`
    valid_text, test_text = (packed(text, of_people(text, k, _scored(config)), words) for k in held)
    return _prepared(words, clients, valid_text, test_text, seen)


def _counted(parts: list[_Part]) -> Counter[str]:
    total: Counter[str] = Counter()
    for part in parts:
        total.update(counts(part.text, part.cut(0)))
    return total


def _words(config: TextConfig, counted: Callable[[], Mapping[str, int]]) -> Vocabulary | Spelling:
    """Returns the vocabulary from a word list or from the training text; with `text.pieces`, its spelling in pieces."""
    if config.words:
        file = catalogue.opened_path(config.words)
        words = vocabulary.listed(file, config.vocabulary, config.case == "lower", locale=config.locale)
    else:
        words = vocabulary.build(counted(), config.vocabulary)
    if not config.pieces:
        return words
    return Spelling(inventory(catalogue.opened_path(config.inventory), config.pieces), words)


def _prepared(
    words: Vocabulary | Spelling, clients: ClientText, valid: Packed, test: Packed, seen: Packed | None
) -> Prepared:
    if isinstance(words, Spelling):
        return Prepared(words.pieces.vocabulary, clients, valid, test, seen, words)
    return Prepared(words, clients, valid, test, seen)


def _scored(config: TextConfig) -> int:
    """Returns the limit on a sequence in evaluation (0: none).

    Training splits long messages to save time. Evaluation splits only those too long to process, because a split adds
    an end of message that nobody typed.
    """
    return LONGEST_SCORED if config.max_words else 0


def _refuse_lazy(config: TextConfig, split: PartitionConfig) -> None:
    if split.kind not in ("auto", "user"):
        raise TacitError(f"partition.kind = '{split.kind}' needs all text in memory; {LESS_TEXT}")
    if not config.max_words:
        raise TacitError("text.max_words = 0 needs all text in memory; set a limit for so many people")


def _deal(held: Sequences, split: PartitionConfig, seed: int, known_users: bool) -> Sequences:
    """Assigns training sequences to clients as [partition] says; drops clients without text."""
    if len(held.starts) == 0:
        raise TacitError("there is no text to train on; give a corpus with messages")
    kind = split.kind if split.kind != "auto" else "user" if known_users else "iid"
    if kind == "user":
        with_text = np.flatnonzero(held.sizes)
        if len(with_text) == len(held.names):
            return held
        sizes, names = held.sizes[with_text], [held.names[k] for k in with_text.tolist()]
        return held.take(cells(held.owners[with_text], sizes), ends(sizes), names)
    dealt = partition.deal(
        kind, split, len(held.starts), lambda: _labels(held, split.by), generator(seed, _DEAL)
    )
    names = [f"client-{c:05d}" for c in range(len(dealt.offsets) - 1)]
    return held.take(dealt.order, dealt.offsets, names)


def _labels(held: Sequences, by: str) -> np.ndarray:
    if by == "user":
        return np.repeat(np.arange(len(held.names)), held.sizes)
    if by == "length":
        return held.lengths
    if held.topics is None:
        raise TacitError("partition.by = 'topic' needs a corpus with topics; use 'length' or 'user'")
    return held.topics


def context(text: str, words: Vocabulary | Spelling, config: TextConfig) -> np.ndarray:
    """Encodes the text typed so far as a model's context: `<s>` and its words, [words + 1] int32."""
    typed = splitter(config.case == "lower", False, config.locale)(text)
    ids = words.encode(typed[-config.max_words :])
    return ids[ids != EOS]
