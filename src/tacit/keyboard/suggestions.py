"""Keyboard suggestions from any model of Tacit, through one interface.

    next_words   the likeliest words after a context
    complete     the likeliest words that begin with the typed letters
    log_probs    log-probabilities of given words
    correct      decodes taps
    glide        decodes a glide over the keys

A context is text, or a list of tokens (`tacit.text.tokens.tokenize`). Probabilities are the model's own: neither the
block list nor capitals change them. If two forms become one, such as The and the at the start of a sentence, their
probabilities add up. Words on the block list are never suggested.
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
from tacit.keyboard import decode, dictionary, glide, lexicon
from tacit.keyboard.capitals import starts_sentence, written
from tacit.keyboard.dictionary import EMPTY, Dictionary
from tacit.keyboard.layout import QWERTY, Layout, of_locale, spell
from tacit.keyboard.parameters import DEFAULT, Parameters
from tacit.keyboard.taps import points
from tacit.lm.open import open as open_model
from tacit.lm.protocol import Context, Suggestion, WordSource, ask_for, tokens_of
from tacit.text import blocked
from tacit.text.locale import ENGLISH, Locale, find
from tacit.text.vocabulary import SPECIALS, UNK


class Candidate(NamedTuple):
    """A word that taps or a glide may have meant."""

    word: str
    score: float  # −cost + λ log p
    p: float  # probability after the context
    cost: float  # of the input given this word
    joins: bool = False  # it replaces the part before the space, too


class Part(NamedTuple):
    """What was typed before the space that may have been hit by accident."""

    taps: ArrayLike
    typed: str | None = None  # as the person saw it


class Correction(NamedTuple):
    """The result of decoding taps. `best` is the word to write: one of `words`, or the literal."""

    best: str
    literal: str  # the letters of the keys that were hit
    known: bool  # the literal is a word of the model
    words: list[Candidate]
    joins: bool = False  # `best` replaces the part before the space, too


class _Read(NamedTuple):
    """Taps of one word, decoded."""

    decoded: decode.Tapped
    points: Floats
    start: bool  # whether it starts a sentence
    literal: str  # with its capitals
    shown: str | None
    meant: bool  # a letter of a long press is meant
    best: str


@dataclass(frozen=True)
class Suggester:
    """Suggests words from a model for a keyboard layout."""

    source: WordSource
    layout: Layout = QWERTY
    parameters: Parameters = DEFAULT
    capitals: bool = True  # capitalise words; if false, words are written as in the model's vocabulary
    locale: Locale = ENGLISH
    dictionary: Dictionary = EMPTY  # of words that the model may not know

    @cached_property
    def lexicon(self) -> lexicon.Lexicon:
        """The words that taps and glides can decode to; built on first use."""
        words = self.source.words
        ids = [i for i in range(len(SPECIALS), len(words)) if not self.source.hidden(i)]
        return lexicon.build([words[i] for i in ids], ids, self.layout)

    @cached_property
    def paths(self) -> glide.Paths:
        """The paths of these words over the keys; built on first use."""
        return glide.paths(self.lexicon, self.parameters.glide)

    def next_words(self, context: Context, k: int = 3) -> list[Suggestion]:
        """Returns the k likeliest words after a context."""
        return self.complete(context, "", k)

    def complete(self, context: Context, prefix: str, k: int = 3) -> list[Suggestion]:
        """Returns the k likeliest words that begin with the typed letters, in any case."""
        ask_for(k)
        tokens, source = tokens_of(context, self.locale), self.source
        prefix = prefix.replace("’", "'")
        state = source.state(tokens)
        likeliest: list[tuple[int, float]] = []  # id, log p
        for variant in self._variants(prefix):
            first, last = source.starting(variant)
            if first < last:
                likeliest += source.best(state, 3 * k if source.cased else k, first, last)
        likeliest.sort(key=lambda at: (-at[1], at[0]))
        start = self.capitals and starts_sentence(tokens, self.locale)
        merged: dict[str, float] = {}
        for i, log_p in likeliest:
            word = self._written(source.word(i), start, prefix)
            merged[word] = merged.get(word, 0.0) + exp(log_p)
        ranked = sorted(merged.items(), key=lambda at: -at[1])  # stable: ties keep their order
        return [Suggestion(word, p) for word, p in ranked[:k]]

    def log_probs(self, context: Context, words: Iterable[str]) -> Floats:
        """Returns the natural log p of each word after a context; −inf for a word outside the vocabulary."""
        ids = [self._id(word) for word in words]
        state = self.source.state(tokens_of(context, self.locale))
        log_p = self.source.log_probs(state, np.array(ids, np.int64)) if ids else np.zeros(0)
        return np.where(np.array(ids) > UNK, log_p, -np.inf) if ids else log_p

    def correct(
        self,
        context: Context,
        taps: ArrayLike,
        k: int = 3,
        typed: str | None = None,
        part: Part | None = None,
    ) -> Correction:
        """Decodes taps [(x, y), …] in key widths.

        `typed` is the word as the person saw it, with its capitals; by default the keys nearest to the taps. `part` is
        the word that was typed before it, between the context and a space: both may be one word.
        """
        ask_for(k)
        tokens = tokens_of(context, self.locale)
        first = None if part is None else self._read(tokens, part.taps, part.typed)
        found = self._read(
            tokens if first is None else [*tokens, *tokens_of(first.best, self.locale)], taps, typed
        )
        best, joins = found.best, False
        every = self._candidates(found.decoded.ranked, found.start, found.shown)
        pairs: dict[str, Candidate] = {}
        for pair in found.decoded.pairs:
            two = self._pair(pair, found.start, found.shown)
            pairs.setdefault(two.word, two)
        every += pairs.values()
        if first is not None and self._may_join(first, found):
            points = np.concatenate([first.points, found.points])
            one = decode.joined(
                self.lexicon, points, self._chances(tokens), self.parameters, first.decoded, found.decoded
            )
            if one is not None:
                word = self.source.words[int(self.lexicon.ids[one.word])]
                shown = self._written(word, first.start, first.literal + found.literal)
                every.append(Candidate(shown, one.score, exp(one.log_p), one.cost, True))
                best, joins = (shown, True) if one.wins else (best, False)
        every.sort(key=lambda candidate: -round(candidate.score, 9))
        return Correction(best, found.literal, found.decoded.known, every[:k], joins)

    @staticmethod
    def _may_join(first: _Read, second: _Read) -> bool:
        """Whether two parts may be one word: both were typed, no letter is meant, and the first is no pair of words."""
        return len(first.points) > 0 < len(second.points) and not (
            first.meant or second.meant or " " in first.best
        )

    def _read(self, tokens: Sequence[str], taps: ArrayLike, typed: str | None) -> _Read:
        """Decodes the taps of one word after these tokens."""
        at = points(taps)
        shown = None if typed is None else typed.replace("’", "'")
        spelling = None if shown is None else (spell(shown, self.layout) or shown)
        chances = self._chances(tokens)
        decoded = decode.tapped(
            self.lexicon,
            at,
            chances,
            self.parameters,
            spelling,
            lambda word: self._hidden(word, shown, chances),
            self._listed,
        )
        start = self.capitals and starts_sentence(tokens, self.locale)
        literal = decoded.literal if shown is None else shown
        if shown is None and start:
            literal = self.locale.capitalise(literal)
        best = literal
        meant = spelling is not None and spelling != self.locale.lower(shown or "")
        if meant:
            pass
        elif isinstance(decoded.best, decode.Pair):
            best = self._pair(decoded.best, start, shown).word
        elif decoded.best is not None:
            place = int(decoded.ranked.words[decoded.best])
            best = self._written(self.source.words[int(self.lexicon.ids[place])], start, shown)
        return _Read(decoded, at, start, literal, shown, meant, best)

    def glide(
        self, context: Context, trail: ArrayLike, k: int = 3, shift: bool | None = None
    ) -> list[Candidate]:
        """Decodes a trail [(x, y) or (x, y, time), …] into at most k words, best first; the list may be empty.

        `shift` is whether the shift key was on; None capitalises the start of a sentence.
        """
        ask_for(k)
        tokens, line = tokens_of(context, self.locale), points(trail, "the trail's points")
        ranked = decode.glided(self.lexicon, self.paths, line, self._chances(tokens), self.parameters)
        start = self.capitals and starts_sentence(tokens, self.locale) if shift is None else shift
        return self._candidates(ranked, start, None)[:k]

    def _candidates(self, ranked: decode.Ranked, start: bool, typed: str | None) -> list[Candidate]:
        """Returns the ranked words with their capitals, each written form once."""
        words = self.source.words
        merged: dict[str, Candidate] = {}
        rows = zip(*(column.tolist() for column in ranked), strict=True)
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
        return written(word, self.source.cased, start, typed, self.locale) if self.capitals else word

    def _variants(self, prefix: str) -> list[str]:
        """Returns the prefix in every case in which the vocabulary may contain it."""
        lower = self.locale.lower(prefix)
        if not self.source.cased:
            return [lower]
        capital, upper = self.locale.capitalise(lower), self.locale.upper(prefix)
        return list(dict.fromkeys([prefix, lower, capital, upper]))

    def _pair(self, pair: decode.Pair, start: bool, typed: str | None) -> Candidate:
        """Returns two words, with a space, as a candidate."""
        one, other = (self.source.words[int(self.lexicon.ids[i])] for i in (pair.first, pair.second))
        shown = f"{self._written(one, start, typed)} {self._written(other, False, None)}"
        return Candidate(shown, pair.score, exp(pair.log_p), pair.cost)

    def _hidden(self, literal: str, shown: str | None, chances: decode.Chances) -> float:
        """Returns log p of a word that the vocabulary has and that is never suggested, −inf for any other."""
        word = literal if shown is None else shown
        forms = (word, self.locale.lower(word))
        ids = [i for i in map(self.source.id, forms) if i != UNK and self.source.hidden(i)]
        return float(chances(np.array(ids, np.int64)).max()) if ids else -np.inf

    def _listed(self, spelling: str) -> bool:
        """Whether a spelling that the model does not know is a word of the dictionary."""
        known = self.lexicon.places
        return dictionary.lists(self.dictionary, spelling, lambda word: len(known(word)) > 0)

    def _id(self, word: str) -> int:
        plain = word.replace("’", "'")
        cased = self.source.id(plain)
        return cased if cased != UNK else self.source.id(self.locale.lower(plain))


def over(
    source: WordSource,
    block: Path | Iterable[str] | None = None,
    parameters: Parameters = DEFAULT,
    capitals: bool = True,
    locale: Locale | None = None,
) -> Suggester:
    """Returns a suggester over a `WordSource`, such as `tacit.ngram.model.automaton_source(words, model)`.

    The keys, capitals and dictionary are those of the model's locale, unless another is given.

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
    language = locale or find(source.locale)
    return Suggester(
        source, of_locale(language), parameters, capitals, language, dictionary.of_locale(language)
    )


def open(
    path: Path,
    block: Path | Iterable[str] | None = None,
    user: str | None = None,
    parameters: Parameters = DEFAULT,
    capitals: bool = True,
    locale: Locale | None = None,
) -> Suggester:
    """Opens a run directory, a compact file, an ARPA file or an 8-bit network as a suggester.

    With `user`, opens that person's model, which `tacit personalize` wrote into the run directory.
    """
    return over(open_model(path, user).source, block, parameters, capitals, locale)
