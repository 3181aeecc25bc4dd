"""One interface for suggestions over every model that Tacit makes.

    next_words   the likeliest words after a context
    complete     the likeliest words that begin with what is typed
    log_probs    how likely given words are
    correct      what was meant by taps
    glide        what was meant by a trail over the keys

A context is text, or a list of tokens (`tacit.text.tokens.tokenize`). Probabilities are the model's own: blocking a
word or writing it with a capital changes none, and two forms that become one, The and the at the start of a sentence,
add up. Words on the block list are never suggested.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit.base.arrays import Floats
from tacit.keyboard import blocked, decode, glide, lexicon
from tacit.keyboard.capitals import starts_sentence, written
from tacit.keyboard.layout import QWERTY, Layout, spell
from tacit.keyboard.parameters import DEFAULT, Parameters
from tacit.keyboard.taps import points
from tacit.lm.open import open as open_model
from tacit.lm.protocol import Context, Suggestion, WordSource, ask_for, tokens_of
from tacit.ngram.casing import capitalise
from tacit.text.vocabulary import SPECIALS, UNK


class Candidate(NamedTuple):
    """A word that may have been meant."""

    word: str
    score: float  # −cost + λ log p
    p: float  # after the context
    cost: float  # of the input, if this word was meant


class Correction(NamedTuple):
    """What was meant by taps. `best` is what should be written: one of `words`, or the literal."""

    best: str
    literal: str  # what the keys say
    known: bool  # the literal is a word of the model
    clear: bool  # every tap was clear
    words: list[Candidate]


@dataclass(frozen=True)
class Suggester:
    """A model, a layout, and what is never suggested."""

    source: WordSource
    layout: Layout = QWERTY
    parameters: Parameters = DEFAULT
    capitals: bool = True  # put back; if not, words are as the model has them

    @cached_property
    def lexicon(self) -> lexicon.Lexicon:
        """The words that taps and glides can mean; made when first needed."""
        words = self.source.words
        ids = [i for i in range(len(SPECIALS), len(words)) if not self.source.hidden(i)]
        return lexicon.build([words[i] for i in ids], ids, self.layout)

    @cached_property
    def paths(self) -> glide.Paths:
        """Their paths over the keys."""
        return glide.paths(self.lexicon, self.parameters.glide)

    def next_words(self, context: Context, k: int = 3) -> list[Suggestion]:
        """The k likeliest words after a context."""
        return self.complete(context, "", k)

    def complete(self, context: Context, prefix: str, k: int = 3) -> list[Suggestion]:
        """The k likeliest words that begin with what is typed, in any case."""
        ask_for(k)
        tokens, source = tokens_of(context), self.source
        prefix = prefix.replace("’", "'")
        state = source.state(tokens)
        found: list[tuple[int, float]] = []
        for variant in self._variants(prefix):
            first, last = source.starting(variant)
            if first < last:
                found += source.best(state, 3 * k if source.cased else k, first, last)
        found.sort(key=lambda at: (-at[1], at[0]))
        start = self.capitals and starts_sentence(tokens)
        merged: dict[str, float] = {}
        for i, log_p in found:
            word = self._written(source.word(i), start, prefix)
            merged[word] = merged.get(word, 0.0) + exp(log_p)
        ranked = sorted(merged.items(), key=lambda at: -at[1])  # stable: equals stay as they were
        return [Suggestion(word, p) for word, p in ranked[:k]]

    def log_probs(self, context: Context, words: Iterable[str]) -> Floats:
        """Natural log p of each word after a context, −inf for one that the model does not know."""
        ids = [self._id(word) for word in words]
        state = self.source.state(tokens_of(context))
        found = self.source.log_probs(state, np.array(ids, np.int64)) if ids else np.zeros(0)
        return np.where(np.array(ids) > UNK, found, -np.inf) if ids else found

    def correct(self, context: Context, taps: ArrayLike, k: int = 3, typed: str | None = None) -> Correction:
        """What was meant by taps [(x, y), …] in key widths.

        `typed` is the word as the person saw it, with its capitals; without, the keys nearest to the taps.
        """
        ask_for(k)
        tokens, at = tokens_of(context), points(taps)
        shown = None if typed is None else typed.replace("’", "'")
        spelling = None if shown is None else (spell(shown, self.layout.letters) or shown)
        found = decode.tapped(self.lexicon, at, self._chances(tokens), self.parameters, spelling)
        start = self.capitals and starts_sentence(tokens)
        literal = found.literal if shown is None else shown
        if shown is None and start:
            literal = capitalise(literal)
        every = self._candidates(found.ranked, start, shown)
        if found.clear and self._is_hidden(literal):
            best = literal  # it is never suggested, but it was typed
        elif found.known and found.clear:
            same = (c.word for c in every if spell(c.word, self.layout.letters) == found.literal)
            best = next(same, literal)
        elif every and (found.known or every[0].score > found.score):
            best = every[0].word
        else:
            best = literal
        return Correction(best, literal, found.known, found.clear, every[:k])

    def glide(
        self, context: Context, trail: ArrayLike, k: int = 3, shift: bool | None = None
    ) -> list[Candidate]:
        """The k words most likely meant by a trail [(x, y) or (x, y, time), …]; best first, perhaps none.

        `shift`: whether the shift key was on; None leaves it to the start of the sentence.
        """
        ask_for(k)
        tokens, line = tokens_of(context), points(trail, "the trail's points")
        found = decode.glided(self.lexicon, self.paths, line, self._chances(tokens), self.parameters)
        start = self.capitals and starts_sentence(tokens) if shift is None else shift
        return self._candidates(found, start, None)[:k]

    def _candidates(self, found: decode.Ranked, start: bool, typed: str | None) -> list[Candidate]:
        """Ranked words as they are written, each form once."""
        words = self.source.words
        merged: dict[str, Candidate] = {}
        rows = zip(*(column.tolist() for column in found), strict=True)
        for place, score, cost, log_p in rows:
            word = self._written(words[int(self.lexicon.ids[place])], start, typed)
            if word in merged:
                merged[word] = merged[word]._replace(p=merged[word].p + exp(log_p))
            else:
                merged[word] = Candidate(word, score, exp(log_p), cost)
        return list(merged.values())

    def _chances(self, tokens: Sequence[str]) -> decode.Chances:
        state = self.source.state(tokens)
        return lambda ids: self.source.log_probs(state, ids)

    def _written(self, word: str, start: bool, typed: str | None) -> str:
        return written(word, self.source.cased, start, typed) if self.capitals else word

    def _variants(self, prefix: str) -> list[str]:
        """The ways in which the model may write a word that begins so."""
        if not self.source.cased:
            return [prefix.lower()]
        return list(dict.fromkeys([prefix, prefix.lower(), capitalise(prefix.lower()), prefix.upper()]))

    def _is_hidden(self, word: str) -> bool:
        """Whether the model knows a word and never suggests it."""
        found = (self.source.id(form) for form in (word, word.lower()))
        return any(i != UNK and self.source.hidden(i) for i in found)

    def _id(self, word: str) -> int:
        plain = word.replace("’", "'")
        found = self.source.id(plain)
        return found if found != UNK else self.source.id(plain.lower())


def over(
    source: WordSource,
    block: Path | Iterable[str] | None = None,
    parameters: Parameters = DEFAULT,
    capitals: bool = True,
) -> Suggester:
    """A suggester over a source, such as `tacit.ngram.model.automaton_source(words, model)`.

    >>> from tacit.keyboard.layout import centre
    >>> from tacit.ngram import automaton, kneser_ney
    >>> from tacit.ngram.model import automaton_source
    >>> from tacit.text.vocabulary import Vocabulary
    >>> words = Vocabulary((*SPECIALS, "see", "you", "soon"))
    >>> fitted = kneser_ney.fit([0, 3, 4, 1, 0, 3, 4, 5, 1], [0, 4, 9], vocabulary=6, order=2)
    >>> asked = over(automaton_source(words, automaton.from_kneser_ney(fitted)), block=["YOU"])
    >>> [s.word for s in asked.next_words("See", k=2)], [s.word for s in asked.complete("", "S", k=2)]
    (['see', 'soon'], ['See', 'Soon'])
    >>> asked.correct("see you", [centre("s"), centre("o"), (8.6, 1.0), centre("n")]).best
    'soon'
    """
    words = blocked.read(block) if isinstance(block, Path) else blocked.of_words(block or ())
    if words:
        ids = [i for i, word in enumerate(source.words) if i > UNK and blocked.fold(word) in words]
        source = source.without(np.array(ids, np.int64))
    return Suggester(source, parameters=parameters, capitals=capitals)


def open(
    path: Path,
    block: Path | Iterable[str] | None = None,
    user: str | None = None,
    parameters: Parameters = DEFAULT,
    capitals: bool = True,
) -> Suggester:
    """A suggester over a run directory, a compact file, an ARPA file or an 8-bit network.

    With `user`, over the model of that person, which `tacit personalize` left in the run directory.
    """
    return over(open_model(path, user).source, block, parameters, capitals)
