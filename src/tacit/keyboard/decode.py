"""Noisy input and a language model together: the word that was most likely meant.

    score(w) = −cost(input | w) + λ log p(w | context)

over the words that taps.py or glide.py find near the input; the best score wins. For taps there is also what was
typed letter by letter, the literal, which need be no word: names must not be destroyed. A tap is clear if the key that
it hit costs at most `clear`. The rule:

1. The literal is a known word and every tap is clear: it stays, whatever the context says.
2. It is no known word: it competes with the score −(unknown + letter · clear taps + unclear · other taps), less what
   its taps cost above the least. If every tap is clear, only a word that is a small slip away and likely here beats it.
3. It is a known word, not typed clearly: it is a word like the others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.keyboard import glide, taps
from tacit.keyboard.lexicon import Lexicon
from tacit.keyboard.parameters import Parameters
from tacit.keyboard.taps import Found

Chances = Callable[[Ints], Floats]  # ids of words to log p(w | context)


class Ranked(NamedTuple):
    """Words by falling score, ties by their order in the lexicon."""

    words: Ints  # places in the lexicon
    scores: Floats
    costs: Floats
    log_p: Floats


class Tapped(NamedTuple):
    """What taps may have meant."""

    ranked: Ranked
    literal: str  # the keys that were hit, or what was typed
    known: bool  # the lexicon has it
    clear: bool  # every tap
    score: float  # of the literal as a word that is not known


def rank(lexicon: Lexicon, found: Found, chances: Chances, language: float) -> Ranked:
    """The words that were found, by score; those without any probability are left out."""
    log_p = chances(lexicon.ids[found.words]) if len(found.words) else np.zeros(0)
    some = log_p > -np.inf
    words, costs, log_p = found.words[some], found.costs[some], log_p[some]
    scores = -costs + language * log_p
    by = np.argsort(-scores, kind="stable")
    return Ranked(words[by], scores[by], costs[by], log_p[by])


def tapped(
    lexicon: Lexicon, points: Floats, chances: Chances, settings: Parameters, typed: str | None = None
) -> Tapped:
    """Words that taps may have meant, and what becomes of the literal. `typed`: spelling that was shown."""
    rules = settings.taps
    ranked = rank(lexicon, taps.search(lexicon, points, rules), chances, rules.language)
    costs = taps.tap_costs(points, lexicon.layout, rules)
    own = costs.argmin(axis=1) if len(points) else np.zeros(0, np.int64)
    hit = "".join(lexicon.layout.letters[i] for i in own.tolist())
    least = costs.min(axis=1) if len(points) else np.zeros(0)
    blurred = int((least > rules.clear).sum())
    literal = hit if typed is None else typed
    over = float(np.maximum(least - rules.insertion, 0).sum())
    clear = len(points) - blurred
    score = -(rules.unknown + rules.letter * clear + rules.unclear * blurred + over)
    known = any(lexicon.spellings[i] == literal for i in ranked.words.tolist())
    return Tapped(ranked, literal, known, blurred == 0, score)


def glided(
    lexicon: Lexicon, every: glide.Paths, trail: Floats, chances: Chances, settings: Parameters
) -> Ranked:
    """Words that a glide may have meant."""
    return rank(lexicon, glide.search(every, trail, settings.glide), chances, settings.glide.language)
