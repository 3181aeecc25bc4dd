"""Stores clients' text in flat arrays and packs batches of sentences into rows.

The text is three flat arrays (tokens, start of each sentence, start of each client), so that gathering a cohort
takes a few numpy operations and no Python loop over people.

In a batch, several short sentences share a row of fixed length. Each begins with `<s>`, at which a model resets its
state. This avoids padding, which would otherwise take much of a batch's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np

from tacit.text.flat import cells, ends
from tacit.text.vocabulary import BOS


class Rows(NamedTuple):
    """Sentences packed into rows: each cell has a word and the next one as target; `targets` is −1 in empty cells."""

    inputs: Any  # [..., rows, time] int32
    targets: Any  # [..., rows, time] int32


class ClientText(Protocol):
    """The text of many clients, in memory or generated on demand."""

    @property
    def sizes(self) -> np.ndarray:
        """Amount of text of each client, [clients], used for sampling and weights."""
        ...

    @property
    def longest(self) -> int:
        """Upper bound on the cells of a sequence."""
        ...

    def __len__(self) -> int: ...

    def gather(self, clients: np.ndarray) -> Packed:
        """Returns the text of these clients, in this order."""
        ...


@dataclass(frozen=True)
class Packed:
    """Sentences by client: client c holds sentences owners[c] … owners[c + 1] − 1, oldest first."""

    tokens: np.ndarray  # [tokens] int32, every sentence `<s> … </s>`
    offsets: np.ndarray  # [sentences + 1] int64, where each sentence starts
    owners: np.ndarray  # [clients + 1] int64, where each client's sentences start
    names: tuple[str, ...]  # [clients]

    @cached_property  # used in every round
    def sizes(self) -> np.ndarray:
        """Number of sentences of each client, [clients]."""
        return np.diff(self.owners)

    @property
    def lengths(self) -> np.ndarray:
        """Cells of each sentence in a row: its words and one for the end, [sentences]."""
        return np.diff(self.offsets) - 1

    @property
    def longest(self) -> int:
        """Cells of the longest sentence."""
        return int(self.lengths.max(initial=1))

    def __len__(self) -> int:
        return len(self.owners) - 1

    def gather(self, clients: np.ndarray) -> Packed:
        """Returns the text of these clients, in this order; the cost does not depend on the other clients."""
        starts = self.owners[clients]
        sizes = self.owners[clients + 1] - starts
        return self.take(
            cells(starts, sizes), ends(sizes), tuple(map(self.names.__getitem__, clients.tolist()))
        )

    def take(self, sentences: np.ndarray, owners: np.ndarray, names: Sequence[str]) -> Packed:
        """Returns these sentences, in this order, assigned to new clients."""
        starts = self.offsets[sentences]
        spans = self.offsets[sentences + 1] - starts
        return Packed(
            self.tokens[cells(starts, spans)], ends(spans), np.asarray(owners, np.int64), tuple(names)
        )


def pack(clients: Sequence[Sequence[np.ndarray]], names: Sequence[str]) -> Packed:
    """Builds flat arrays from each client's list of encoded sentences (each `<s> … </s>`).

    >>> packed = pack([[np.array([0, 5, 1])], [np.array([0, 1]), np.array([0, 4, 4, 1])]], ["a", "b"])
    >>> packed.sizes.tolist(), packed.lengths.tolist()
    ([1, 2], [2, 1, 3])
    """
    sentences = [sentence for client in clients for sentence in client]
    tokens = np.concatenate([np.zeros(0, np.int32), *sentences]).astype(np.int32)
    offsets, owners = (ends(np.array([len(x) for x in held], np.int64)) for held in (sentences, clients))
    return Packed(tokens, offsets, owners, tuple(names))


def join(texts: Sequence[Packed]) -> Packed:
    """Concatenates the clients of several texts."""
    return Packed(
        np.concatenate([np.zeros(0, np.int32), *(t.tokens for t in texts)]),
        ends(np.concatenate([np.zeros(0, np.int64), *(np.diff(t.offsets) for t in texts)])),
        ends(np.concatenate([np.zeros(0, np.int64), *(t.sizes for t in texts)])),
        tuple(chain.from_iterable(t.names for t in texts)),
    )


def bucket(n: int) -> int:
    """Rounds up to one of 1, 2, 3, 4, 6, 8, 12, 16, 24, …: few shapes to compile, at most a third of cells empty.

    >>> [bucket(n) for n in (1, 5, 9, 17, 33)]
    [1, 6, 12, 24, 48]
    """
    power = 1 << max(0, n - 1).bit_length()
    return power * 3 // 4 if power >= 4 and n <= power * 3 // 4 else power


def place(lengths: np.ndarray, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Places sentences in rows of `time` cells, longest first, each in the first row with room (first-fit decreasing).

    lengths [batches, sentences] is 0 where absent. Returns the row and the first column of each sentence,
    [batches, sentences], and the number of rows of each batch, [batches]. All batches are packed at once.
    """
    batches, width = lengths.shape
    order = np.argsort(-lengths, axis=1, kind="stable")
    fill = np.zeros((batches, width), np.int64)
    row, column = np.zeros_like(lengths), np.zeros_like(lengths)
    every = np.arange(batches)
    for j in range(width):
        sentence = order[:, j]
        length = lengths[every, sentence]
        if not length.any():
            break
        chosen = np.argmax(fill + length[:, None] <= time, axis=1)
        row[every, sentence], column[every, sentence] = chosen, fill[every, chosen]
        fill[every, chosen] += length
    return row, column, (fill > 0).sum(axis=1)


def batch_rows(
    packed: Packed, sentences: np.ndarray, time: int = 0, rows: int = 0
) -> tuple[Rows, np.ndarray]:
    """Packs batches of sentences into rows.

    sentences [..., batch] int64 are sentence numbers, −1 where absent. Returns `Rows` of shape [..., rows, time] and,
    for every cell, the index of its sentence in the batch, [..., rows, time] (−1: empty). If `time` or `rows` is 0, it
    is that of the longest sentence or of the fullest batch, rounded up to a bucket.
    """
    shape, width = sentences.shape[:-1], sentences.shape[-1]
    flat = sentences.reshape(-1, width)
    lengths = np.zeros(flat.shape, np.int64)
    lengths[flat >= 0] = packed.lengths[flat[flat >= 0]]
    longest = int(lengths.max(initial=1))
    time = time or bucket(longest)
    if longest > time:
        raise ValueError(f"a sentence takes {longest} cells and a row has time = {time}")
    row, column, each = place(lengths, time)
    needed = int(each.max(initial=1))
    rows = rows or bucket(needed)
    if needed > rows:
        raise ValueError(f"a batch needs {needed} rows and rows = {rows}")
    real = np.flatnonzero(lengths.ravel())
    spans = lengths.ravel()[real]
    source = cells(packed.offsets[flat.ravel()[real]], spans)
    first = ((real // width) * rows + row.ravel()[real]) * time + column.ravel()[real]
    cell = cells(first, spans)
    inputs = np.full((len(flat) * rows * time), BOS, np.int32)
    targets = np.full_like(inputs, -1)
    owner = np.full_like(inputs, -1)
    inputs[cell], targets[cell] = packed.tokens[source], packed.tokens[source + 1]
    owner[cell] = np.repeat(real % width, spans)
    full = (*shape, rows, time)
    return Rows(inputs.reshape(full), targets.reshape(full)), owner.reshape(full)
