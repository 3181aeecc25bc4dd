"""Batches messages, for models that give log-probabilities at every position of many messages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.lm.protocol import MessageLogProbs
from tacit.text.vocabulary import BOS, SPECIALS, Vocabulary

Words = Sequence[str]

_CELLS = 2048  # positions that are scored together


def chunks(messages: Sequence[Words]) -> Iterator[Sequence[Words]]:
    """Yields neighbouring messages that are scored together.

    >>> [len(chunk) for chunk in chunks([["a"] * 1500, ["b"] * 1000, ["c"]])]
    [1, 2]
    """
    begin, longest = 0, 0
    for end, message in enumerate(messages):
        longest = max(longest, len(message))
        if end > begin and longest * (end - begin + 1) > _CELLS:
            yield messages[begin:end]
            begin, longest = end, len(message)
    if begin < len(messages):
        yield messages[begin:]


def along_rows(
    vocabulary: Vocabulary, read: Callable[[NDArray[np.int32]], NDArray[np.floating]]
) -> Callable[[Sequence[Words]], Iterator[MessageLogProbs]]:
    """Returns a network's `Bulk.along`, from a function of rows [messages, time] to log p [messages, time, V]."""

    def along(messages: Sequence[Words]) -> Iterator[MessageLogProbs]:
        for chunk in chunks(messages):
            rows = _rows(vocabulary, chunk)
            log_p = read(rows[:, :-1])
            log_p[:, :, : len(SPECIALS)] = -np.inf
            for row, values, message in zip(rows, log_p, chunk, strict=False):  # `read` may pad messages
                n = len(message)
                yield MessageLogProbs(row[1 : n + 1].astype(np.int64), values[:n])

    return along


def _rows(vocabulary: Vocabulary, messages: Sequence[Words]) -> NDArray[np.int32]:
    """Returns `<s>` and the ids of each message, [messages, longest + 1], zeros after its end."""
    rows = np.full((len(messages), 1 + max(map(len, messages))), BOS, np.int32)
    for row, message in zip(rows, messages, strict=True):
        row[: len(message) + 1] = vocabulary.encode(message)[:-1]
    return rows
