"""Decodes noisy input with a language model: finds the word that was most likely meant.

    score(w) = −cost(input | w) + λ log p(w | context)

Candidates are the words that taps.py or glide.py find near the input; the best score wins. Taps have more candidates:

1. The literal, the letters as they were typed. If no word is spelt so, it may be a word that nobody knows, with

       score = −unknown + letter · log p(its letters)                      (spelling.py)

   so that names are not corrected away, and slips, whose letters look like no word's, are. A word of the dictionary
   (dictionary.py) has `listed` and `spelt` instead of `unknown` and `letter`.
2. Two words without the space between them: −space + λ (log p of each).
3. If the literal is a word of the model or of the dictionary, a person has seen a word and left it: another one must
   be ahead by its cost again, at most by `stays`. A word that only adds an apostrophe need not: *dont* becomes *don't*
   where that is likelier.
4. The word before, with this one, as one word: the space between them was hit by accident (`joined`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.keyboard import glide, spelling, taps
from tacit.keyboard.layout import APOSTROPHE
from tacit.keyboard.lexicon import Lexicon
from tacit.keyboard.parameters import Parameters, Taps
from tacit.keyboard.taps import Matches

Chances = Callable[[Ints], Floats]  # ids of words to log p(w | context)


class Ranked(NamedTuple):
    """Words by descending score; ties keep their order in the lexicon."""

    words: Ints  # positions in the lexicon
    scores: Floats
    costs: Floats
    log_p: Floats


class Pair(NamedTuple):
    """Two words without the space between them."""

    first: int  # positions in the lexicon
    second: int
    score: float
    cost: float
    log_p: float


class Tapped(NamedTuple):
    """The words that taps may have meant, and the literal."""

    ranked: Ranked
    pairs: tuple[Pair, ...]  # by descending score
    literal: str  # the keys that were hit, or the text that was shown
    known: bool  # whether the literal is a word of the lexicon
    score: float  # of the literal
    best: int | Pair | None  # the word to write, as its place among the ranked; None for the literal
    is_word: bool  # whether the literal is a word of the model or of the dictionary

    @property
    def written(self) -> float:
        """The score of what is written."""
        if self.best is None:
            return self.score
        return self.best.score if isinstance(self.best, Pair) else float(self.ranked.scores[self.best])


class Joined(NamedTuple):
    """A word with a space inside."""

    word: int  # position in the lexicon
    score: float  # beside the scores of the second part
    cost: float
    log_p: float
    wins: bool  # whether it is written instead of the two parts


def rounded(scores: Floats) -> Floats:
    """Rounds scores for sorting, so that rounding errors decide no tie, here or in the page.

    >>> rounded(np.array([-17.264316786554907, -17.264316786554909])).tolist()
    [-17.264316787, -17.264316787]
    """
    return np.round(scores, 9)


def rank(lexicon: Lexicon, matches: Matches, chances: Chances, language: float) -> Ranked:
    """Ranks matching words by score; words with probability 0 are left out."""
    log_p = chances(lexicon.ids[matches.words]) if len(matches.words) else np.zeros(0)
    possible = log_p > -np.inf
    words, costs, log_p = matches.words[possible], matches.costs[possible], log_p[possible]
    scores = -costs + language * log_p
    by = np.lexsort((words, -rounded(scores)))
    return Ranked(words[by], scores[by], costs[by], log_p[by])


def tapped(
    lexicon: Lexicon,
    points: Floats,
    chances: Chances,
    settings: Parameters,
    typed: str | None = None,
    hidden: Callable[[str], float] = lambda literal: -np.inf,
    listed: Callable[[str], bool] = lambda literal: False,
) -> Tapped:
    """Decodes taps into ranked words and the literal.

    `typed` is the spelling that was shown, if any. `hidden` gives log p of a word that is never suggested, −inf for
    any other. `listed` says whether a spelling that the model does not know is a word of the dictionary.
    """
    rules = settings.taps
    ranked = rank(lexicon, taps.search(lexicon, points, rules), chances, rules.language)
    costs = taps.tap_costs(points, lexicon.layout, rules) if len(points) else np.zeros((0, 1))
    hit = "".join(lexicon.layout.letters[i] for i in costs.argmin(axis=1).tolist())
    literal = hit if typed is None else typed
    over = float(np.maximum(costs.min(axis=1) - rules.insertion, 0).sum())
    spellings = [lexicon.spellings[i] for i in ranked.words.tolist()]
    kept = hidden(literal)
    if literal in spellings or kept > -np.inf:
        same = [
            score for score, keys in zip(ranked.scores.tolist(), spellings, strict=True) if keys == literal
        ]
        score = max([rules.language * kept - over, *same])
        other = np.array([keys.replace(APOSTROPHE, "") != literal for keys in spellings], np.bool_)
        found = ranked.scores - np.minimum(ranked.costs, rules.stays) * other
        found[[keys == literal for keys in spellings]] = -np.inf
        best = int(found.argmax()) if len(found) and found.max() > score else None
        if best is None and same:
            best = spellings.index(literal)
        return Tapped(ranked, (), literal, literal in spellings, score, best, True)
    is_listed = listed(literal)
    fixed, weight = (rules.listed, rules.spelt) if is_listed else (rules.unknown, rules.letter)
    score = -(fixed - weight * spelling.log_p(lexicon.letters, literal) + over)
    pairs = split(lexicon, literal, chances, rules)
    other = np.array([is_listed and keys.replace(APOSTROPHE, "") != literal for keys in spellings], np.bool_)
    found = ranked.scores - np.minimum(ranked.costs, rules.stays) * other
    second = pairs[0].score - is_listed * min(pairs[0].cost, rules.stays) if pairs else -np.inf
    first = float(found.max()) if len(found) else -np.inf
    top: int | Pair | None = None
    if max(first, second) > score:
        top = int(found.argmax()) if first >= second else pairs[0]
    return Tapped(ranked, pairs, literal, False, score, top, is_listed)


def split(lexicon: Lexicon, literal: str, chances: Chances, rules: Taps) -> tuple[Pair, ...]:
    """Returns the pairs of known words that give the literal without the space between them, by score."""
    halves = [
        (one, other)
        for at in range(1, len(literal))
        for one in lexicon.places(literal[:at])
        for other in lexicon.places(literal[at:])
    ]
    if not halves:
        return ()
    both = chances(lexicon.ids[np.array(halves, np.int64).ravel()]).reshape(-1, 2).sum(axis=1)
    found = [
        Pair(one, other, -rules.space + rules.language * log_p, rules.space, log_p)
        for (one, other), log_p in zip(halves, both.tolist(), strict=True)
        if log_p > -np.inf
    ]
    return tuple(sorted(found, key=lambda pair: -round(pair.score, 9)))


def joined(
    lexicon: Lexicon, points: Floats, chances: Chances, settings: Parameters, first: Tapped, second: Tapped
) -> Joined | None:
    """Reads two parts, with the space between them, as the likeliest known word near the taps of both.

    `chances` are those before the first part. The score is less that of the first part, so that it compares with the
    scores of the second. If both parts are words, the joined word must be ahead by its cost again, at most by `stays`.
    """
    rules = settings.taps
    ranked = rank(lexicon, taps.search(lexicon, points, rules), chances, rules.language)
    if not len(ranked.words):
        return None
    cost = rules.gap + float(ranked.costs[0])
    score = float(ranked.scores[0]) - rules.gap - first.written
    ahead = score - (first.is_word and second.is_word) * min(cost, rules.stays)
    return Joined(int(ranked.words[0]), score, cost, float(ranked.log_p[0]), ahead > second.written)


def glided(
    lexicon: Lexicon, every: glide.Paths, trail: Floats, chances: Chances, settings: Parameters
) -> Ranked:
    """Decodes a glide into ranked words; into none if no word fits the trail well."""
    rules = settings.glide
    ranked = rank(lexicon, glide.search(every, trail, rules), chances, rules.language)
    if len(ranked.words) and ranked.scores[0] < -rules.nothing:
        return Ranked(np.zeros(0, np.int64), np.zeros(0), np.zeros(0), np.zeros(0))
    return ranked
