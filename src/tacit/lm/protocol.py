"""Defines the protocol that every kind of trained model implements.

`WordSource` works word by word, as a keyboard needs it. `Model` is what `tacit.open` returns: a word source, and scores
of whole texts for evaluation. Compact and ARPA n-gram files, 8-bit networks, the network of a run and a person's own
network all become a `Model`; higher layers do not distinguish them.

Ids are those of the compact file, whatever the model: 0 to 2 are `<s>`, `</s>` and `<unk>`, and the words follow in
the order of their UTF-8 bytes, so that the words with a prefix are a range of ids.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError, shown
from tacit.scoring.scores import Scores
from tacit.text.locale import ENGLISH, Locale, find
from tacit.text.packed import Packed
from tacit.text.pieces import Spelling
from tacit.text.tokens import tokenize
from tacit.text.vocabulary import SPECIALS, UNK, Vocabulary

Context = str | Sequence[str]  # text, or its tokens

_LONGEST_TEXT = 4000  # characters of a context that are read


class Suggestion(NamedTuple):
    """A word and its probability after the context."""

    word: str
    p: float


class WordSource(Protocol):
    """A model used word by word. A state is what the model keeps of a context."""

    @property
    def cased(self) -> bool:
        """Whether the model has capitals."""
        ...

    @property
    def locale(self) -> str:
        """The code of the language whose text the model reads (`tacit.text.locale`)."""
        ...

    @property
    def words(self) -> tuple[str, ...]:
        """All words by id, the specials first."""
        ...

    def word(self, i: int) -> str:
        """Returns the word of an id."""
        ...

    def id(self, word: str) -> int:
        """Returns the id of a word; that of `<unk>` if it is not in the vocabulary."""
        ...

    def starting(self, prefix: str) -> tuple[int, int]:
        """Returns the range of ids whose words begin with a prefix: the first, and the one after the last."""
        ...

    def state(self, context: Sequence[str]) -> Any:
        """Returns the state after the first words of a message; an unknown word is read in lower case."""
        ...

    def step(self, state: Any, i: int) -> Any:
        """Returns the state after one more word."""
        ...

    def best(self, state: Any, k: int, first: int, last: int) -> list[tuple[int, float]]:
        """Returns the k likeliest ids from `first` to `last` − 1 that are not hidden, and their log p."""
        ...

    def log_probs(self, state: Any, ids: Ints) -> Floats:
        """Returns natural log p of these ids; −inf for an impossible one."""
        ...

    def hidden(self, i: int) -> bool:
        """Whether a word is never suggested."""
        ...

    def without(self, ids: Ints) -> WordSource:
        """Returns the same model with these words hidden, too."""
        ...


class MessageLogProbs(NamedTuple):
    """A model's log-probabilities along one message of n words, with the ids of its encoder."""

    ids: Ints  # [n] the words' ids, `<unk>`'s for unknown ones
    log_p: NDArray[np.floating]  # [n, V] log p of every word at each position; −inf for words never suggested


class Bulk(NamedTuple):
    """A model's functions for whole texts."""

    encoder: Vocabulary | Spelling  # makes text into the ids that `score` and `along` read
    score: Callable[[Packed], Scores]
    along: Callable[[Sequence[Sequence[str]]], Iterator[MessageLogProbs]]


@dataclass(frozen=True)
class Model:
    """A trained model."""

    source: WordSource
    bulk: Bulk
    size: int  # bytes of its file or checkpoint
    case: Literal["lower", "keep"]  # how text is read before it is encoded
    runtime: str  # what computes its answers, for reports

    def __repr__(self) -> str:
        return f"Model({len(self.words):,} words, {self.size:,} bytes, {self.runtime})"

    @property
    def words(self) -> tuple[str, ...]:
        """The vocabulary, in the order of its UTF-8 bytes."""
        return self.source.words[len(SPECIALS) :]

    @property
    def cased(self) -> bool:
        """Whether the model has capitals."""
        return self.source.cased

    def suggest(self, text: Context, k: int = 3, prefix: str = "") -> list[Suggestion]:
        """Returns the k likeliest next words after a text, or those that begin with a prefix.

        Example:
            model.suggest("see you", k=3)
            model.suggest("see you", k=3, prefix="s")
        """
        return suggest(self.source, text, k, prefix)

    def log_probs(self, text: Context) -> Floats:
        """Returns the natural log-probability of every word of a text, given the words before it, [words].

        A word outside the vocabulary gets the probability of `<unk>`.

        Example:
            model.log_probs("see you soon").sum()
        """
        if isinstance(self.bulk.encoder, Spelling):
            raise TacitError(
                "this model is over word-pieces, and log_probs is for words; distil it (`tacit distill`)"
            )
        source, values, locale = self.source, [], find(self.source.locale)
        state = source.state([])
        for token in tokens_of(text, locale):
            i = source.id(token)
            i = i if i != UNK else source.id(locale.lower(token))
            values.append(source.log_probs(state, np.array([i]))[0])
            state = source.step(state, i)
        return np.array(values, np.float64)

    def score(self, text: Packed) -> Scores:
        """Returns the scores of every sentence of a text that `bulk.encoder` encoded."""
        return self.bulk.score(text)


def suggest(source: WordSource, context: Context, k: int = 3, prefix: str = "") -> list[Suggestion]:
    """Returns the k likeliest words after a context that begin with a prefix, as the model writes them."""
    ask_for(k)
    if not isinstance(prefix, str):
        raise TacitError(f"the prefix is {shown(prefix)}; give a string")
    first, last = source.starting(prefix)
    state = source.state(tokens_of(context, find(source.locale)))
    best = source.best(state, k, first, last)
    return [Suggestion(source.word(i), exp(log_p)) for i, log_p in best]


def tokens_of(context: Context, locale: Locale = ENGLISH) -> Sequence[str]:
    """Returns a context as tokens; of a long text only the end.

    >>> tokens_of("See you, ")
    ['See', 'you', ',']
    """
    if not isinstance(context, str):
        return context
    if len(context) <= _LONGEST_TEXT:
        return tokenize(context, locale)
    return [SPECIALS[UNK], *tokenize(context[-_LONGEST_TEXT:], locale)[1:]]  # the message starts earlier


def ask_for(k: int) -> None:
    """Refuses a k that is no whole number from 1 on."""
    if not isinstance(k, int | np.integer) or k < 1:
        raise TacitError(f"k is {shown(k)}; ask for at least 1 word")
