"""From people's messages to packed ids, each message read and split once.

`numbered` splits messages into tokens and gives every distinct token a number, in the order met; the numbers
go into a `Spill`. Who holds which of them, where long messages are cut and what is kept apart is then decided on
lengths alone (`cut`), the vocabulary is counted on numbers (`counts`), and at last the vocabulary's ids
are written, once, to where they belong (`packed`). All but the splitting is arithmetic on arrays.

Splitting is fast because nothing is split twice: no token spans white space, so the tokens of "see you," are
those of "see" and those of "you,", and what was met before is looked up.
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
from tacit.text.packed import Packed
from tacit.text.parallel import cores, in_order
from tacit.text.pieces import Spelling
from tacit.text.population import Population
from tacit.text.spill import Spill, forget
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import BOS, EOS, UNK, Vocabulary

_TOGETHER, _MADE_TOGETHER = 1 << 15, 1 << 11  # messages that are split at once, where read and where made
_LARGE = 8  # portions of so many messages that are worth starting helpers for


class Numbered(NamedTuple):
    """The tokens of some people's messages by number, person after person, message after message."""

    types: list[str]  # the distinct tokens
    ids: np.ndarray  # [tokens] int32, which of them
    offsets: np.ndarray  # [messages + 1] int64, where each message starts
    owners: np.ndarray  # [people + 1] int64, where each person's messages start
    names: tuple[str, ...]  # [people]
    topics: np.ndarray | None  # [messages] int64, numbered by the alphabet; None where they are not known


class Sequences(NamedTuple):
    """Pieces of numbered messages, client after client."""

    starts: np.ndarray  # [sequences] int64, place of its first token
    lengths: np.ndarray  # [sequences] int32, its tokens
    topics: np.ndarray | None  # [sequences] int64, of its message; None where they are not known
    owners: np.ndarray  # [clients + 1] int64, where each client's sequences start
    names: tuple[str, ...]  # [clients]

    @property
    def sizes(self) -> np.ndarray:
        """How many sequences each client holds, [clients]."""
        return np.diff(self.owners)

    def take(self, which: np.ndarray, owners: np.ndarray, names: Sequence[str]) -> Sequences:
        """These sequences, in this order, as those of other clients."""
        topics = None if self.topics is None else self.topics[which]
        return Sequences(self.starts[which], self.lengths[which], topics, owners, tuple(names))


def splitter(lower: bool, pretokenized: bool) -> Callable[[str], list[str]]:
    """How a text becomes tokens: at white space if it came tokenised, else by `tokenize`.

    >>> splitter(lower=True, pretokenized=False)("Hi Ana!")
    ['hi', 'ana', '!']
    """
    split = str.split if pretokenized else tokenize
    return (lambda text: split(text.lower())) if lower else split


def numbered(
    population: Population,
    people: np.ndarray,
    sizes: np.ndarray,
    lower: bool,
    progress: Progress = no_progress,
) -> Numbered:
    """The messages of these people, in this order; `sizes` [people] says how many each of them has.

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
        helped = hasattr(population, "made_of")  # helpers can make them, too
        large = helped and total > _LARGE * _MADE_TOGETHER
    types, topics, spill = _Numbers(), _Numbers(), Spill()
    lengths, about = [np.zeros(0, np.int32)], [np.zeros(0, np.int32)]
    done = 0
    for some in in_order(partial(_number, lower), portions, cores() if large else 1):
        spill.write(types.of(some.types)[some.ids].data)
        lengths.append(some.lengths)
        about.append(topics.of(some.topics)[some.about])
        done += len(some.lengths)
        progress("splitting into words", done / max(1, total))
    return Numbered(
        list(types),
        np.frombuffer(spill.look(), np.int32),
        ends(np.concatenate(lengths)),
        ends(sizes),
        tuple(population.user(k) for k in people.tolist()),
        np.argsort(np.argsort(list(topics)))[np.concatenate(about)] if any(topics) else None,
    )


def everybody(population: Population, lower: bool, progress: Progress = no_progress) -> Numbered:
    """All messages of a population."""
    return numbered(population, np.arange(len(population)), population.sizes(), lower, progress)


def cut(
    text: Numbered, messages: np.ndarray, sizes: np.ndarray, names: Sequence[str], limit: int
) -> Sequences:
    """Messages as sequences of at most `limit` tokens (0: whole); client c has the next `sizes[c]` of them.

    A message without a token makes no sequence.
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
    """All that some of the people typed."""
    first, sizes = text.owners[people], text.owners[people + 1] - text.owners[people]
    return cut(text, cells(first, sizes), sizes, [text.names[k] for k in people.tolist()], limit)


def counts(text: Numbered, chosen: Sequences) -> dict[str, int]:
    """How often each word occurs in these sequences."""
    found = np.zeros(len(text.types), np.int64)
    for some in parts(chosen.lengths):
        ids = text.ids[cells(chosen.starts[some], chosen.lengths[some])]
        found += np.bincount(ids, minlength=len(found))
    return {word: n for word, n in zip(text.types, found.tolist(), strict=True) if n}


def packed(text: Numbered, chosen: Sequences, words: Vocabulary | Spelling) -> Packed:
    """These sequences under a vocabulary, each between `<s>` and `</s>`; or in pieces."""
    if isinstance(words, Spelling):
        return _spelt(text, chosen, words)
    table = np.array([words.index.get(word, UNK) for word in text.types], np.int32)
    offsets = ends(chosen.lengths + 2)
    tokens = np.empty(int(offsets[-1]), np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = BOS, EOS
    for some in parts(chosen.lengths):
        ids = text.ids[cells(chosen.starts[some], chosen.lengths[some])]
        tokens[cells(offsets[:-1][some] + 1, chosen.lengths[some])] = table[ids]
    return Packed(tokens, offsets, chosen.owners, chosen.names)


def _spelt(text: Numbered, chosen: Sequences, spelling: Spelling) -> Packed:
    """These sequences in pieces: every word becomes a few ids."""
    segments = spelling.pieces.segment(text.types)
    sizes = np.array([len(s) for s in segments], np.int64)  # [types]
    starts, flat = ends(sizes), np.array([piece for s in segments for piece in s], np.int32)
    lengths = np.zeros(len(chosen.lengths), np.int64)  # [sequences] in pieces

    def words_of(some: slice) -> np.ndarray:
        return text.ids[cells(chosen.starts[some], chosen.lengths[some])]

    for some in parts(chosen.lengths):  # a sequence has a word at least
        lengths[some] = np.add.reduceat(sizes[words_of(some)], ends(chosen.lengths[some])[:-1])
    offsets = ends(lengths + 2)
    tokens = np.empty(int(offsets[-1]), np.int32)
    tokens[offsets[:-1]], tokens[offsets[1:] - 1] = BOS, EOS
    for some in parts(chosen.lengths):
        ids = words_of(some)
        tokens[cells(offsets[:-1][some] + 1, lengths[some])] = flat[cells(starts[ids], sizes[ids])]
    return Packed(tokens, offsets, chosen.owners, chosen.names)


class _Numbers(dict[str, int]):
    """A number for everything asked for, by first appearance."""

    def __missing__(self, word: str) -> int:
        self[word] = number = len(self)
        return number

    def of(self, words: list[str]) -> np.ndarray:
        """Their numbers, [words] int32."""
        return np.fromiter(map(self.__getitem__, words), np.int32, len(words))


class _Some(NamedTuple):
    """What `Numbered` is put together from: the same of one portion, numbered on its own."""

    types: list[str]
    ids: np.ndarray  # [tokens] int32
    lengths: np.ndarray  # [messages] int32, in tokens
    topics: list[str]
    about: np.ndarray  # [messages] int32


_Portion = tuple[Population, np.ndarray]  # whom to visit, where: little to send to another process


def _made_portions(population: Population, people: np.ndarray, sizes: np.ndarray) -> Iterator[_Portion]:
    for some in parts(sizes, _MADE_TOGETHER):
        yield population, people[some]


def _read_portions(corpus: Corpus, people: np.ndarray) -> Iterator[_Portion]:
    messages = cells(corpus.offsets[people], corpus.sizes()[people])
    for first in range(0, len(messages), _TOGETHER):
        yield corpus.alone(messages[first : first + _TOGETHER]), np.zeros(1, np.int64)
    forget(corpus.data)


def _number(lower: bool, portion: _Portion) -> _Some:
    population, people = portion
    types, topics = _Numbers(), _Numbers()
    split = splitter(False, getattr(population, "pretokenized", False))

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
            text = message.text.lower() if lower else message.text
            ids.extend(chain.from_iterable(map(known, text.split())))
            stops.append(len(ids))
            about.append(topics[message.topic])
    lengths = np.diff(np.array([0, *stops], np.int32))
    return _Some(list(types), np.array(ids, np.int32), lengths, list(topics), np.array(about, np.int32))
