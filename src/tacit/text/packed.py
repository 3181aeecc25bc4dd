"""Text as flat arrays: who holds which sentences, and batches of sentences packed into rows.

Everything a device needs is in three flat arrays (tokens, where sentences start, where clients start),
so that a cohort's data is a few numpy gathers and never a Python loop over people. A batch of sentences
is packed: several short sentences share a row of fixed length, each opened by `<s>`, at which a model
forgets what came before. Padding, not text, is what makes batches of sentences slow.
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
    """Packed sentences: every cell reads a word and predicts the next; `targets` is −1 where empty."""

    inputs: Any  # [..., rows, time] int32
    targets: Any  # [..., rows, time] int32


class ClientText(Protocol):
    """The text of many clients, however it is kept: all in memory, or made when it is asked for."""

    @property
    def sizes(self) -> np.ndarray:
        """How much each client holds, [clients]: what sampling and weights go by."""
        ...

    @property
    def longest(self) -> int:
        """Cells that the longest sequence may take."""
        ...

    def __len__(self) -> int: ...

    def gather(self, clients: np.ndarray) -> Packed:
        """The text of these clients, in this order."""
        ...


@dataclass(frozen=True)
class Packed:
    """Sentences by client: client c holds sentences owners[c] … owners[c + 1] − 1, oldest first."""

    tokens: np.ndarray  # [tokens] int32, every sentence `<s> … </s>`
    offsets: np.ndarray  # [sentences + 1] int64, where each sentence starts
    owners: np.ndarray  # [clients + 1] int64, where each client's sentences start
    names: tuple[str, ...]  # [clients]

    @cached_property  # every round asks
    def sizes(self) -> np.ndarray:
        """How many sentences each client holds, [clients]."""
        return np.diff(self.owners)

    @property
    def lengths(self) -> np.ndarray:
        """Cells that each sentence takes in a row: its words and one for the end, [sentences]."""
        return np.diff(self.offsets) - 1

    @property
    def longest(self) -> int:
        """Cells that the longest sentence takes."""
        return int(self.lengths.max(initial=1))

    def __len__(self) -> int:
        return len(self.owners) - 1

    def gather(self, clients: np.ndarray) -> Packed:
        """The text of these clients, in this order; what that costs does not depend on the others."""
        starts = self.owners[clients]
        sizes = self.owners[clients + 1] - starts
        return self.take(
            cells(starts, sizes), ends(sizes), tuple(map(self.names.__getitem__, clients.tolist()))
        )

    def take(self, sentences: np.ndarray, owners: np.ndarray, names: Sequence[str]) -> Packed:
        """These sentences, in this order, as the text of other clients."""
        starts = self.offsets[sentences]
        spans = self.offsets[sentences + 1] - starts
        return Packed(
            self.tokens[cells(starts, spans)], ends(spans), np.asarray(owners, np.int64), tuple(names)
        )


def pack(clients: Sequence[Sequence[np.ndarray]], names: Sequence[str]) -> Packed:
    """Flat arrays from lists of encoded sentences (each `<s> … </s>`).

    >>> packed = pack([[np.array([0, 5, 1])], [np.array([0, 1]), np.array([0, 4, 4, 1])]], ["a", "b"])
    >>> packed.sizes.tolist(), packed.lengths.tolist()
    ([1, 2], [2, 1, 3])
    """
    sentences = [sentence for client in clients for sentence in client]
    tokens = np.concatenate([np.zeros(0, np.int32), *sentences]).astype(np.int32)
    offsets, owners = (ends(np.array([len(x) for x in held], np.int64)) for held in (sentences, clients))
    return Packed(tokens, offsets, owners, tuple(names))


def join(texts: Sequence[Packed]) -> Packed:
    """The clients of several texts, one text after another."""
    return Packed(
        np.concatenate([np.zeros(0, np.int32), *(t.tokens for t in texts)]),
        ends(np.concatenate([np.zeros(0, np.int64), *(np.diff(t.offsets) for t in texts)])),
        ends(np.concatenate([np.zeros(0, np.int64), *(t.sizes for t in texts)])),
        tuple(chain.from_iterable(t.names for t in texts)),
    )


def bucket(n: int) -> int:
    """The next of 1, 2, 3, 4, 6, 8, 12, 16, 24, …: few shapes to compile, at most a third wasted.

    >>> [bucket(n) for n in (1, 5, 9, 17, 33)]
    [1, 6, 12, 24, 48]
    """
    power = 1 << max(0, n - 1).bit_length()
    return power * 3 // 4 if power >= 4 and n <= power * 3 // 4 else power


def place(lengths: np.ndarray, time: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Put sentences into rows of `time` cells, longest first, each into the first row it fits.

    lengths [batches, sentences], 0 where absent. Returns the row and the first column of each sentence,
    [batches, sentences], and how many rows each batch needs, [batches]. All batches are packed at once.
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
    """Batches of sentences as packed rows.

    sentences [..., batch] int64 are sentence numbers, −1 where absent. Returns `Rows` of shape
    [..., rows, time] and, for every cell, its sentence's place in the batch [..., rows, time] (−1: empty).
    `time` and `rows` of 0 are chosen: the longest sentence and the fullest batch, rounded up to a bucket.
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
