"""Encodes people's messages as packed ids, reading and splitting each message once.

1. `numbered` splits messages into tokens, numbers the distinct tokens by first appearance and writes the numbers to
   a `Spill`.
2. `cut` decides from the lengths alone which client holds what, where long messages are split and what is held out.
3. `counts` counts the words for the vocabulary.
4. `packed` writes the vocabulary's ids to their final places.

Only the first step looks at text; the others are array arithmetic. It is fast because no token spans white space:
the tokens of "see you," are those of "see" and those of "you,", so chunks that were split before are looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple

import numpy as np

from tacit.base.progress import Progress, no_progress
from tacit.text.corpus import Corpus
from tacit.text.flat import cells, ends, parts
from tacit.text.locale import DEFAULT, find
from tacit.text.packed import Packed
from tacit.text.parallel import cores, in_order
from tacit.text.pieces import Spelling
from tacit.text.population import Population
from tacit.text.spill import Spill, release
from tacit.text.tokens import plain, tokenize
from tacit.text.vocabulary import BOS, EOS, UNK, Vocabulary

_TOGETHER, _MADE_TOGETHER = 1 << 15, 1 << 11  # messages in a portion: of a file, and of generated text
_LARGE = 8  # with more portions than this, helper processes are started


class Numbered(NamedTuple):
    """People's messages as token numbers, person after person, message after message."""

    types: list[str]  # the distinct tokens
    ids: np.ndarray  # [tokens] int32, index in `types`
    offsets: np.ndarray  # [messages + 1] int64, where each message starts
    owners: np.ndarray  # [people + 1] int64, where each person's messages start
    names: tuple[str, ...]  # [people]
    topics: np.ndarray | None  # [messages] int64, numbered alphabetically; None if the source has no topics


class Sequences(NamedTuple):
    """Numbered messages, long ones split, client after client."""

    starts: np.ndarray  # [sequences] int64, index of the first token
    lengths: np.ndarray  # [sequences] int32, in tokens
    topics: np.ndarray | None  # [sequences] int64, of the message; None if the source has no topics
    owners: np.ndarray  # [clients + 1] int64, where each client's sequences start
    names: tuple[str, ...]  # [clients]

    @property
    def sizes(self) -> np.ndarray:
        """Number of sequences of each client, [clients]."""
        return np.diff(self.owners)

    def take(self, which: np.ndarray, owners: np.ndarray, names: Sequence[str]) -> Sequences:
        """Returns these sequences, in this order, assigned to new clients."""
        topics = None if self.topics is None else self.topics[which]
        return Sequences(self.starts[which], self.lengths[which], topics, owners, tuple(names))


def splitter(lower: bool, pretokenized: bool, locale: str = DEFAULT) -> Callable[[str], list[str]]:
    """Returns the function that splits text into tokens: at white space if pretokenized, else `tokenize`.

    >>> splitter(lower=True, pretokenized=False)("Hi Ana!")
    ['hi', 'ana', '!']
    >>> splitter(lower=True, pretokenized=False, locale="tr")("Işık İyi")
    ['ışık', 'iyi']
    """
    language = find(locale)
    if pretokenized:
        return (lambda text: language.lower(text).split()) if lower else str.split
    split = partial(tokenize, locale=language)
    return (
        (lambda text: split(language.lower(plain(text)))) if lower else split
    )  # a decomposed İ is a capital, too


def numbered(
    population: Population,
    people: np.ndarray,
    sizes: np.ndarray,
    lower: bool,
    progress: Progress = no_progress,
    locale: str = DEFAULT,
) -> Numbered:
    """Splits and numbers the messages of these people, in this order; `sizes` [people] is their number of messages.

    >>> from tacit.text.corpus import from_messages
    >>> demo = from_messages("demo", {"ana": ["No no", "yes"], "bo": ["no!"]})
    >>> n = numbered(demo, np.arange(2), demo.sizes(), lower=True)
    >>> n.types, n.ids.tolist(), n.offsets.tolist(), n.owners.tolist()
    (['no', 'yes', '!'], [0, 0, 1, 0, 2], [0, 2, 3, 5], [0, 2, 3])
    """
    total = int(sizes.sum())
    if isinstance(population, Corpus):
        portions, large = _read_portions(population, people), total > _LARGE * _TOGETHER
    else:
        portions = _made_portions(population, people, sizes)
        can_send = hasattr(population, "rebuild_args")  # helper processes can generate it too
        large = can_send and total > _LARGE * _MADE_TOGETHER
    types, topics, spill = _Numbers(), _Numbers(), Spill()
    lengths, about = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    done = 0
    for portion in in_order(partial(_number, lower, locale), portions, cores() if large else 1):
        spill.write(types.of(portion.types)[portion.ids].data)
        lengths.append(portion.lengths)
        about.append(topics.of(portion.topics)[portion.about])
        done += len(portion.lengths)
        progress("splitting into words", done / max(1, total))
    return Numbered(
        list(types),
        np.frombuffer(spill.view(), np.int32),
        ends(np.concatenate(lengths)),
        ends(sizes),
        tuple(population.user(k) for k in people.tolist()),
        np.argsort(np.argsort(list(topics)))[np.concatenate(about)] if any(topics) else None,
    )


def everybody(
    population: Population, lower: bool, progress: Progress = no_progress, locale: str = DEFAULT
) -> Numbered:
    """Splits and numbers all messages of a population."""
    return numbered(population, np.arange(len(population)), population.sizes(), lower, progress, locale)


def cut(
    text: Numbered, messages: np.ndarray, sizes: np.ndarray, names: Sequence[str], limit: int
) -> Sequences:
    """Splits messages into sequences of at most `limit` tokens (0: no limit).

    Client c holds the next `sizes[c]` of the messages. A message without tokens gives no sequence.
    """
    held = text.offsets[messages + 1] - text.offsets[messages]  # [messages] tokens
    limit = limit or max(1, int(held.max(initial=1)))
    pieces = -(-held // limit)  # [messages]
    before = cells(np.zeros(len(held), np.int64), pieces) * limit  # [sequences] tokens in earlier pieces
    return Sequences(
        np.repeat(text.offsets[messages], pieces) + before,
        np.minimum(limit, np.repeat(held, pieces) - before).astype(np.int32),
        None if text.topics is None else np.repeat(text.topics[messages], pieces),
        ends(pieces)[ends(sizes)],
        tuple(names),
    )


def of_people(text: Numbered, people: np.ndarray, limit: int) -> Sequences:
    """Returns all messages of these people as sequences, one client per person."""
    first, sizes = text.owners[people], text.owners[people + 1] - text.owners[people]
    return cut(text, cells(first, sizes), sizes, [text.names[k] for k in people.tolist()], limit)


def counts(text: Numbered, chosen: Sequences) -> dict[str, int]:
    """Counts how often each word occurs in these sequences."""
    totals = np.zeros(len(text.types), np.int64)
    for part in parts(chosen.lengths):
        ids = text.ids[cells(chosen.starts[part], chosen.lengths[part])]
        totals += np.bincount(ids, minlength=len(totals))
    return {word: n for word, n in zip(text.types, totals.tolist(), strict=True) if n}


def packed(text: Numbered, chosen: Sequences, words: Vocabulary | Spelling) -> Packed:
    """Encodes these sequences by a vocabulary or in word-pieces, each between `<s>` and `</s>`."""
    if isinstance(words, Spelling):
        return _spelt(text, chosen, words)
    table = np.array([words.index.get(word, UNK) for word in text.types], np.int32)
    offsets = ends(chosen.lengths + 2)
    tokens = np.empty(int(offsets[-1]), np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = BOS, EOS
    for part in parts(chosen.lengths):
        ids = text.ids[cells(chosen.starts[part], chosen.lengths[part])]
        tokens[cells(offsets[:-1][part] + 1, chosen.lengths[part])] = table[ids]
    return Packed(tokens, offsets, chosen.owners, chosen.names)


def _spelt(text: Numbered, chosen: Sequences, spelling: Spelling) -> Packed:
    """Encodes these sequences in word-pieces: every word becomes a few ids."""
    segments = spelling.pieces.segment(text.types)
    sizes = np.array([len(s) for s in segments], np.int64)  # [types]
    starts, flat = ends(sizes), np.array([piece for s in segments for piece in s], np.int32)
    lengths = np.zeros(len(chosen.lengths), np.int64)  # [sequences] in pieces

    def words_of(part: slice) -> np.ndarray:
        return text.ids[cells(chosen.starts[part], chosen.lengths[part])]

    for part in parts(chosen.lengths):  # every sequence has at least one word
        lengths[part] = np.add.reduceat(sizes[words_of(part)], ends(chosen.lengths[part])[:-1])
    offsets = ends(lengths + 2)
    tokens = np.empty(int(offsets[-1]), np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = BOS, EOS
    for part in parts(chosen.lengths):
        ids = words_of(part)
        tokens[cells(offsets[:-1][part] + 1, lengths[part])] = flat[cells(starts[ids], sizes[ids])]
    return Packed(tokens, offsets, chosen.owners, chosen.names)


class _Numbers(dict[str, int]):
    """Numbers words by first appearance."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number

    def of(self, words: list[str]) -> np.ndarray:
        """Returns the numbers of these words, [words] int32."""
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))


class _NumberedPortion(NamedTuple):
    """One portion of messages with its own numbering; `numbered` merges portions into `Numbered`."""

    types: list[str]
    ids: np.ndarray  # [tokens] int32
    lengths: np.ndarray  # [messages] int32, in tokens
    topics: list[str]
    about: np.ndarray  # [messages] int32, index in `topics`


_Portion = tuple[Population, np.ndarray]  # a population and people in it; small to send to another process


def _made_portions(population: Population, people: np.ndarray, sizes: np.ndarray) -> Iterator[_Portion]:
    for part in parts(sizes, _MADE_TOGETHER):
        yield population, people[part]


def _read_portions(corpus: Corpus, people: np.ndarray) -> Iterator[_Portion]:
    messages = cells(corpus.offsets[people], corpus.sizes()[people])
    for first in range(0, len(messages), _TOGETHER):
        yield corpus.subset(messages[first : first + _TOGETHER]), np.zeros(1, np.int64)
    release(corpus.data)


def _number(lower: bool, locale: str, portion: _Portion) -> _NumberedPortion:
    population, people = portion
    types, topics = _Numbers(), _Numbers()
    split = splitter(False, getattr(population, "pretokenized", False), locale)
    lowered = find(locale).lower

    class Known(dict[str, tuple[int, ...]]):
        def __missing__(self, chunk: str) -> tuple[int, ...]:
            self[chunk] = ids = tuple([types[token] for token in split(chunk)])
            return ids

    known = Known().__getitem__
    ids: list[int] = []
    stops: list[int] = []
    about: list[int] = []
    for k in people.tolist():
        for message in population.messages(k):
            text = lowered(message.text) if lower else message.text
            ids.extend(chain.from_iterable(map(known, text.split())))
            stops.append(len(ids))
            about.append(topics[message.topic])
    lengths = np.diff(np.array([0, *stops], np.int32))
    return _NumberedPortion(
        list(types), np.array(ids, np.int32), lengths, list(topics), np.array(about, np.int32)
    )
