"""From a corpus to what training needs: a vocabulary, clients with their text, and what is kept aside.

Of a corpus that knows its people, some people are kept for validation and as many for the test (held-out
typists), and of every other person the latest messages are kept apart (held-out text of seen typists).
A corpus with its own splits keeps them. A corpus of one voice is split by sentences. Validation chooses,
the test reports; neither is ever trained on, and the vocabulary is taken from training text only (but for
the FedAtt protocol, which counts all splits).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from tacit.errors import TacitError
from tacit.randomness import generator, stream, uniform
from tacit.settings import number
from tacit.text import catalogue, corpus, partition, vocabulary
from tacit.text.packed import ClientText, Packed, pack
from tacit.text.population import Message, Population
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig
from tacit.text.vocabulary import BOS, EOS, Vocabulary

_PEOPLE, _SENTENCES, _DEAL = stream("held-out people"), stream("held-out sentences"), stream("deal examples")
_LONGEST_SCORED = 1000  # words of a message, in text that is scored
LAZY_ABOVE = 20_000  # people; a larger population of typists is made as it is visited
_LAZY_HELD_OUT, _LAZY_VOCABULARY = 200, 1000  # people of such a population who are kept apart, and counted


@dataclass(frozen=True)
class TextConfig:
    """What is read, and what of it is kept aside: the table [text] of a configuration."""

    corpus: str = "typists"  # "typists", a name of `tacit data list`, or a path
    protocol: Literal["plain", "fedatt"] = "plain"  # fedatt: as papers 1 and 2 (see tacit.text.corpus)
    case: Literal["lower", "keep"] = "lower"
    vocabulary: int = number(5000, 0)  # words kept, <s> </s> <unk> counted; 0 keeps them all
    max_words: int = number(30, 0)  # training: a longer message goes on in a new sequence; 0: no limit
    held_out_users: float = number(0.1, 0, 0.45)  # share of people for validation, and again for the test
    held_out_text: float = number(0.1, 0, 0.9)  # share of each training person's latest messages


@dataclass(frozen=True)
class PartitionConfig:
    """Who holds what: the table [partition]. `auto`: by user where users are known, else IID."""

    kind: Literal["auto", "user", "iid", "shards", "dirichlet", "quantity"] = "auto"
    clients: int = number(100, 1)  # but for `user`
    by: Literal["topic", "user", "length"] = "topic"  # the label that shards and dirichlet skew
    shards: int = number(2, 1)  # shards per client
    alpha: float = number(0.5, 1e-6)  # dirichlet: small is skewed
    sigma: float = number(1.0, 0, 10)  # quantity: log-standard deviation of the clients' sizes


class Prepared(NamedTuple):
    """Everything that training and evaluation read."""

    vocabulary: Vocabulary
    clients: ClientText
    valid: Packed
    test: Packed  # held-out typists, or the corpus's own test split
    seen: Packed | None  # held-out text of typists who were trained on


Sequences = Callable[[Message], list[list[str]]]


def sequences(config: TextConfig, pretokenized: bool) -> Sequences:
    """How a message becomes sequences of words under a configuration.

    >>> sequences(TextConfig(max_words=2), False)(Message("Hi Ana, ok?"))
    [['hi', 'ana'], [',', 'ok'], ['?']]
    """
    split = str.split if pretokenized else tokenize

    def cut(message: Message) -> list[list[str]]:
        text = message.text.lower() if config.case == "lower" else message.text
        words = split(text)
        limit = config.max_words or max(1, len(words))
        return [words[i : i + limit] for i in range(0, len(words), limit)]

    return cut


def scored(config: TextConfig) -> TextConfig:
    """The same, for text that is scored: no end of message is scored that nobody typed.

    Training cuts long messages to save time; an evaluation only those that no program could hold.
    """
    return dataclasses.replace(config, max_words=_LONGEST_SCORED if config.max_words else 0)


def read_population(
    config: TextConfig, typists: TypistsConfig, data: Path | None = None
) -> Population | corpus.SplitCorpus:
    """The corpus that `text.corpus` names: the built-in typists, a known corpus, or a path."""
    if config.corpus == "typists":
        if config.protocol != "plain":
            raise TacitError(
                "text.protocol = 'fedatt' is for text in files; the built-in typists take 'plain'"
            )
        return Typists(typists)
    return corpus.read(catalogue.resolve(config.corpus, data), config.protocol)


def encode_population(
    population: Population, words: Vocabulary, config: TextConfig, people: Iterable[int] | None = None
) -> Packed:
    """All of a population's text (or of some people's) under a given vocabulary."""
    cut = sequences(config, getattr(population, "pretokenized", False))
    who = list(range(len(population)) if people is None else people)
    encoded = [[words.encode(s) for m in population.messages(k) for s in cut(m)] for k in who]
    return pack(encoded, [population.user(k) for k in who])


def whole_corpus(
    config: TextConfig, typists: TypistsConfig, words: Vocabulary, data: Path | None = None
) -> Packed:
    """Every part of a corpus, for scoring a model on text it was not trained from."""
    source = read_population(config, typists, data)
    parts = source if isinstance(source, corpus.SplitCorpus) else [source]
    packed = [encode_population(part, words, scored(config)) for part in parts]
    text = packed[0] if len(packed) == 1 else _join(packed)
    if len(text.offsets) < 2:
        raise TacitError(f"{config.corpus}: no message has a word in it; give a corpus with text")
    return text


def _join(parts: list[Packed]) -> Packed:
    def chain(arrays: list[np.ndarray]) -> np.ndarray:
        ends = np.cumsum([0, *(a[-1] for a in arrays[:-1])])
        return np.concatenate([[0], *(a[1:] + end for a, end in zip(arrays, ends, strict=True))])

    return Packed(
        np.concatenate([p.tokens for p in parts]),
        chain([p.offsets for p in parts]),
        chain([p.owners for p in parts]),
        tuple(name for p in parts for name in p.names),
    )


def prepare(
    config: TextConfig,
    split: PartitionConfig,
    typists: TypistsConfig,
    seed: int,
    words: Vocabulary | None = None,
    data: Path | None = None,
) -> Prepared:
    """Read, split, build the vocabulary (unless one is given) and pack.

    >>> few = TypistsConfig(users=20, messages=10)
    >>> ready = prepare(TextConfig(vocabulary=200), PartitionConfig(), few, seed=0)
    >>> len(ready.vocabulary), len(ready.clients)
    (200, 16)
    """
    source = read_population(config, typists, data)
    if isinstance(source, corpus.SplitCorpus):
        ready = _prepare_split(source, config, split, seed, words)
    elif len(source) == 1:
        ready = _prepare_split(_split_sentences(source, config, seed), config, split, seed, words)
    else:
        ready = _prepare_people(source, config, split, seed, words)
    if ready.seen is not None and len(ready.seen.offsets) < 2:  # held_out_text = 0, or one message each
        return ready._replace(seen=None)
    return ready


def _prepare_split(
    parts: corpus.SplitCorpus, config: TextConfig, split: PartitionConfig, seed: int, words: Vocabulary | None
) -> Prepared:
    if words is None:
        words = _vocabulary(parts if config.protocol == "fedatt" else [parts.train], config)
    train = encode_population(parts.train, words, config)
    valid, test = (encode_population(part, words, scored(config)) for part in (parts.valid, parts.test))
    dealt = _deal(train, None, split, seed, known_users=False)
    return Prepared(words, dealt, valid, test, None)


def _split_sentences(population: Population, config: TextConfig, seed: int) -> corpus.SplitCorpus:
    """One voice: its messages split by chance into training, validation and test."""
    messages = population.messages(0)
    draw = uniform(seed, _SENTENCES, np.arange(len(messages)))
    share = config.held_out_users
    part = np.where(draw < share, 1, np.where(draw < 2 * share, 2, 0))

    def some(which: int, name: str) -> corpus.Corpus:
        texts = [m.text for m, p in zip(messages, part, strict=True) if p == which]
        if not texts:
            raise TacitError(
                f"{config.corpus}: {len(messages)} sentences leave none for {name}; give more text"
            )
        pretokenized = getattr(population, "pretokenized", False)
        return corpus.from_messages(name, {population.user(0): texts}, pretokenized)

    return corpus.SplitCorpus(some(0, "training"), some(1, "validation"), some(2, "the test"))


def _prepare_people(
    population: Population, config: TextConfig, split: PartitionConfig, seed: int, words: Vocabulary | None
) -> Prepared:
    people = len(population)
    lazy = isinstance(population, Typists) and people > LAZY_ABOVE
    ranked = np.argsort(uniform(seed, _PEOPLE, np.arange(people)), kind="stable")
    apart = max(1, round(config.held_out_users * people)) if config.held_out_users else 0
    if people - 2 * apart < 1 or apart == 0:
        raise TacitError(
            f"{config.corpus}: {people} people and text.held_out_users = {config.held_out_users} leave nobody "
            "to train on or to test with; give text of at least 3 people and a share above 0"
        )
    valid, test, train = ranked[:apart], ranked[apart : 2 * apart], np.sort(ranked[2 * apart :])
    kept = _earlier(config.held_out_text)
    cut = sequences(config, getattr(population, "pretokenized", False))
    if words is None:
        counted = train[:_LAZY_VOCABULARY] if lazy else train
        texts = (m for k in counted for m in kept(population.messages(int(k)))[0])
        counts: Counter[str] = Counter()
        for message in texts:
            for sequence in cut(message):
                counts.update(sequence)
        words = vocabulary.build(counts, config.vocabulary)
    if lazy:
        if split.kind not in ("auto", "user"):
            raise TacitError(
                f"partition.kind = '{split.kind}' needs all text in memory; use at most {LAZY_ABOVE} people"
            )
        valid, test = valid[:_LAZY_HELD_OUT], test[:_LAZY_HELD_OUT]
        if not config.max_words:
            raise TacitError("text.max_words = 0 needs all text in memory; set a limit for so many people")
        clients: ClientText = LazyText(
            population, train, words, cut, config.held_out_text, config.max_words + 1
        )
        seen = None
    else:
        clients, seen = _encode_people(population, train, words, config, split, seed)
    return Prepared(
        words,
        clients,
        encode_population(population, words, scored(config), valid.tolist()),
        encode_population(population, words, scored(config), test.tolist()),
        seen,
    )


Kept = Callable[[list[Message]], tuple[list[Message], list[Message]]]


def _later(sizes: np.ndarray, share: float) -> np.ndarray:
    """How many of so many messages are the latest share; one at least stays for training."""
    return np.minimum(sizes - 1, np.round(share * sizes)).astype(np.int64)


def _earlier(share: float) -> Kept:
    """Cut a person's messages in time: what is trained on, and the latest share, which is not."""

    def cut(messages: list[Message]) -> tuple[list[Message], list[Message]]:
        last = int(_later(np.array(len(messages)), share))
        return messages[: len(messages) - last], messages[len(messages) - last :]

    return cut


def _encode_people(
    population: Population,
    people: np.ndarray,
    words: Vocabulary,
    config: TextConfig,
    split: PartitionConfig,
    seed: int,
) -> tuple[Packed, Packed]:
    pretokenized = getattr(population, "pretokenized", False)
    cut, cut_scored = sequences(config, pretokenized), sequences(scored(config), pretokenized)
    kept = _earlier(config.held_out_text)
    mine: list[list[np.ndarray]] = []
    later: list[list[np.ndarray]] = []
    topics: list[str] = []
    for k in people.tolist():
        before, after = kept(population.messages(k))
        encoded = [(words.encode(s), m.topic) for m in before for s in cut(m)]
        mine.append([ids for ids, _ in encoded])
        topics += [topic for _, topic in encoded]
        later.append([words.encode(s) for m in after for s in cut_scored(m)])
    names = [population.user(k) for k in people.tolist()]
    train = _drop_empty(pack(mine, names))
    return _deal(train, topics, split, seed, known_users=True), pack(later, names)


def _drop_empty(packed: Packed) -> Packed:
    """Without people who have no text left to train on."""
    some = np.flatnonzero(packed.sizes)
    return packed if len(some) == len(packed) else packed.gather(some)


def _deal(
    train: Packed, topics: list[str] | None, split: PartitionConfig, seed: int, known_users: bool
) -> Packed:
    """Deal training sentences to clients as [partition] says."""
    kind = split.kind if split.kind != "auto" else "user" if known_users else "iid"
    sentences = len(train.offsets) - 1
    if sentences == 0:
        raise TacitError("there is no text to train on; give a corpus with messages")
    if kind == "user":
        return train
    draw = generator(seed, _DEAL)
    if kind == "iid":
        dealt = partition.iid(sentences, split.clients, draw)
    elif kind == "quantity":
        dealt = partition.quantity(sentences, split.clients, split.sigma, draw)
    else:
        labels = _labels(train, topics, split.by)
        if kind == "shards":
            dealt = partition.shards(labels, split.clients, split.shards, rng=draw)
        else:
            dealt = partition.dirichlet(labels, split.clients, split.alpha, draw)
    names = [f"client-{c:05d}" for c in range(len(dealt.offsets) - 1)]
    return train.take(dealt.order, dealt.offsets, names)


def _labels(train: Packed, topics: list[str] | None, by: str) -> np.ndarray:
    if by == "user":
        return np.repeat(np.arange(len(train)), train.sizes)
    if by == "length":
        return train.lengths
    if not topics or not any(topics):
        raise TacitError("partition.by = 'topic' needs a corpus that knows topics; use 'length' or 'user'")
    return np.unique(topics, return_inverse=True)[1]


class LazyText:
    """The training text of a large population, made person by person as cohorts ask for it."""

    def __init__(
        self,
        population: Population,
        people: np.ndarray,
        words: Vocabulary,
        cut: Sequences,
        share: float,
        longest: int,
    ):
        self._population, self._people = population, people
        self.longest = longest
        sizes = population.sizes()[people]
        self.sizes = sizes - _later(sizes, share)  # messages; what is kept apart does not count

        kept = _earlier(share)

        @lru_cache(maxsize=2000)
        def text(k: int) -> list[np.ndarray]:
            return [words.encode(s) for m in kept(population.messages(k))[0] for s in cut(m)]

        self._text = text

    def __len__(self) -> int:
        return len(self._people)

    def gather(self, clients: np.ndarray) -> Packed:
        people = [int(self._people[c]) for c in clients]
        return pack([self._text(k) for k in people], [self._population.user(k) for k in people])


def _vocabulary(parts: Iterable[Population], config: TextConfig) -> Vocabulary:
    counts: Counter[str] = Counter()
    for part in parts:
        cut = sequences(config, getattr(part, "pretokenized", False))
        for k in range(len(part)):
            for message in part.messages(k):
                for sequence in cut(message):
                    counts.update(sequence)
    return vocabulary.build(counts, config.vocabulary)


def context(text: str, words: Vocabulary, config: TextConfig) -> np.ndarray:
    """What a model reads when a person has typed `text` so far: `<s>` and its words, [words + 1] int32."""
    typed = [word for sequence in sequences(config, False)(Message(text)) for word in sequence]
    limit = config.max_words or len(typed)
    ids = words.encode(typed[-limit:] if limit else [])
    return ids[ids != EOS] if len(ids) else np.array([BOS], np.int32)
