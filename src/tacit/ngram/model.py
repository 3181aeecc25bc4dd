"""A backoff automaton as a `Model`: an ARPA file, a Kneser-Ney model, or a distilled model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from tacit.base.arrays import Bools, Floats
from tacit.lm.along import chunks
from tacit.lm.dense import DenseSource, dense
from tacit.lm.protocol import Bulk, MessageLogProbs, Model
from tacit.ngram import automaton
from tacit.ngram.automaton import Automaton, distributions
from tacit.ngram.score import score
from tacit.text.flat import ends
from tacit.text.locale import DEFAULT
from tacit.text.vocabulary import BOS, SPECIALS, Vocabulary

_RECENT = 32  # words of a context that are read; no n-gram is longer


def automaton_model(vocabulary: Vocabulary, model: Automaton, size: int = 0, locale: str = DEFAULT) -> Model:
    """Returns the `Model` of an automaton over a vocabulary; `size` is the length of its file in bytes, if any."""
    return Model(
        source=automaton_source(vocabulary, model, locale),
        bulk=Bulk(vocabulary, lambda text: score(model, text), automaton_along(vocabulary, model)),
        size=size,
        case="keep" if vocabulary.cased else "lower",
        runtime="n-gram automaton in memory",
    )


def automaton_source(vocabulary: Vocabulary, model: Automaton, locale: str = DEFAULT) -> DenseSource:
    """Returns the `WordSource` of an automaton."""
    shape = model.topology

    def forward(context: list[str]) -> Floats:
        ids = vocabulary.encode(context[-_RECENT:]).astype(np.int64)
        state = int(shape.states_along(ids, np.array([0, len(ids)]))[-1])
        with np.errstate(divide="ignore"):  # a word may have probability 0
            log_p: Floats = np.log(automaton.distribution(model, state))
        log_p[BOS] = -np.inf
        return log_p

    return dense(vocabulary.words, forward, locale=locale)


def automaton_along(
    vocabulary: Vocabulary, model: Automaton, hidden: Bools | None = None
) -> Callable[[Sequence[Sequence[str]]], Iterator[MessageLogProbs]]:
    """Returns the `Bulk.along` of an automaton; `hidden` [V] marks words that are never suggested."""
    never = np.arange(len(vocabulary)) < len(SPECIALS)
    if hidden is not None:
        never = never | hidden

    def along(messages: Sequence[Sequence[str]]) -> Iterator[MessageLogProbs]:
        for chunk in chunks(messages):
            encoded = [vocabulary.encode(message).astype(np.int64) for message in chunk]
            tokens, offsets = np.concatenate(encoded), ends(np.array([len(ids) for ids in encoded]))
            states = model.topology.states_along(tokens, offsets)
            for k, ids in enumerate(encoded):
                asked, place = np.unique(states[offsets[k] + 1 : offsets[k + 1] - 1], return_inverse=True)
                with np.errstate(divide="ignore"):
                    log_p = np.log(distributions(model, asked))
                log_p[:, never] = -np.inf
                yield MessageLogProbs(ids[1:-1], log_p[place])

    return along
