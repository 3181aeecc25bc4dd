"""Models as the measures ask them: the probability of every word at every place of a message.

A network is asked by numpy where it is an 8-bit file, by JAX where it is a run; an n-gram model by the arrays of its
automaton. A keyboard asks one place at a time, through tacit.keyboard.suggestions; a measurement asks for many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.keyboard.measures.typing import Score, Scored
from tacit.lm.network8 import forward
from tacit.lm.network8.reader import Network8
from tacit.ngram.automaton import Automaton, distributions
from tacit.ngram.compact.reader import Compact
from tacit.text.flat import ends
from tacit.text.packed import bucket
from tacit.text.typed import Words
from tacit.text.vocabulary import BOS, SPECIALS, Vocabulary

_CELLS = 2048  # places that are scored together


class Judged(NamedTuple):
    """A model under measurement."""

    words: Vocabulary
    score: Score
    bytes: int  # of the file or checkpoint


def chunks(messages: Sequence[Words]) -> Iterator[list[int]]:
    """Messages that are scored together: neighbours, no more than fit.

    >>> list(chunks([["a"] * 1500, ["b"] * 1000, ["c"]]))
    [[0], [1, 2]]
    """
    held: list[int] = []
    for i in range(len(messages)):
        longest = max(len(messages[j]) for j in [*held, i])
        if held and longest * (len(held) + 1) > _CELLS:
            yield held
            held = []
        held.append(i)
    if held:
        yield held


def _rows(words: Vocabulary, messages: Sequence[Words]) -> NDArray[np.int32]:
    """`<s>` and the words of each message, [messages, longest + 1], zeros after its end."""
    found = np.full((len(messages), 1 + max(map(len, messages))), BOS, np.int32)
    for row, said in zip(found, messages, strict=True):
        row[: len(said) + 1] = words.encode(said)[:-1]
    return found


def of_network8(stored: Network8) -> Judged:
    """An 8-bit network, scored by the code that runs on a phone."""

    def score(messages: Sequence[Words]) -> Iterator[Scored]:
        for some in chunks(messages):
            said = [messages[i] for i in some]
            rows = _rows(stored.vocabulary, said)
            state, found = None, []
            for column in rows[:, :-1].T:
                state = forward.step(stored, state, column)
                found.append(forward.log_probs(stored, state))
            log_p = np.stack(found, axis=1)  # [messages, time, V]
            log_p[:, :, : len(SPECIALS)] = -np.inf
            for k, words in enumerate(said):
                yield Scored(rows[k, 1 : len(words) + 1].astype(np.int64), log_p[k, : len(words)])

    return Judged(stored.vocabulary, score, stored.size)


def of_automaton(words: Vocabulary, model: Automaton, stored: Compact | None, size: int) -> Judged:
    """An n-gram model; `stored` is the compact file that it was read from, if it was one."""
    hidden = np.arange(len(words)) < len(SPECIALS)
    hidden |= stored.hidden if stored else False

    def score(messages: Sequence[Words]) -> Iterator[Scored]:
        for some in chunks(messages):
            said = [words.encode(messages[i]).astype(np.int64) for i in some]
            tokens, offsets = np.concatenate(said), ends(np.array([len(ids) for ids in said]))
            states = model.topology.states_along(tokens, offsets)
            for k, ids in enumerate(said):
                asked, place = np.unique(states[offsets[k] + 1 : offsets[k + 1] - 1], return_inverse=True)
                with np.errstate(divide="ignore"):
                    log_p = np.log(distributions(model, asked))
                log_p[:, hidden] = -np.inf
                yield Scored(ids[1:-1], log_p[place])

    return Judged(words, score, size)


def of_run(run: Any, checkpoint: Path) -> Judged:
    """The network of a run over words (tacit.runs.Run), by JAX."""
    import jax  # not needed for a file

    read = jax.jit(lambda params, rows: jax.nn.log_softmax(run.model.apply(params, rows)))

    def score(messages: Sequence[Words]) -> Iterator[Scored]:
        for some in chunks(messages):
            said = [messages[i] for i in some]
            rows = _rows(run.vocabulary, said)
            padded = np.full((bucket(len(rows)), bucket(rows.shape[1] - 1)), BOS, np.int32)
            padded[: len(rows), : rows.shape[1] - 1] = rows[:, :-1]
            log_p = np.array(read(run.params, padded))
            log_p[:, :, : len(SPECIALS)] = -np.inf
            for k, words in enumerate(said):
                yield Scored(rows[k, 1 : len(words) + 1].astype(np.int64), log_p[k, : len(words)])

    return Judged(run.vocabulary, score, checkpoint.stat().st_size)
