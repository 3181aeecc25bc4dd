"""Decodes noisy input with a language model: finds the word that was most likely meant.

    score(w) = −cost(input | w) + λ log p(w | context)

Candidates are the words that taps.py or glide.py find near the input; the best score wins. Taps have one more
candidate, the literal: the letters as they were typed, in the vocabulary or not, so that names are not corrected away.
A tap is clear if the key that it hit costs at most `clear`. The rule for the literal:

1. The literal is a known word and every tap is clear: it stays, whatever the context.
2. The literal is not a known word: its score is −(unknown + letter · clear taps + unclear · other taps), minus the
   cost of its taps above `insertion`. If every tap is clear, only a word that is a small slip away and likely in this
   context beats it.
3. The literal is a known word with an unclear tap: it is treated like every other word.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.keyboard import glide, taps
from tacit.keyboard.lexicon import Lexicon
from tacit.keyboard.parameters import Parameters
from tacit.keyboard.taps import Matches

Chances = Callable[[Ints], Floats]  # ids of words to log p(w | context)


class Ranked(NamedTuple):
    """Words by descending score; ties keep their order in the lexicon."""

    words: Ints  # positions in the lexicon
    scores: Floats
    costs: Floats
    log_p: Floats


class Tapped(NamedTuple):
    """The words that taps may have meant, and the literal."""

    ranked: Ranked
    literal: str  # the keys that were hit, or the text that was shown
    known: bool  # whether the lexicon contains the literal
    clear: bool  # whether every tap is clear
    score: float  # of the literal, if it is not a known word


def rank(lexicon: Lexicon, matches: Matches, chances: Chances, language: float) -> Ranked:
    """Ranks matching words by score; words with probability 0 are left out."""
    log_p = chances(lexicon.ids[matches.words]) if len(matches.words) else np.zeros(0)
    possible = log_p > -np.inf
    words, costs, log_p = matches.words[possible], matches.costs[possible], log_p[possible]
    scores = -costs + language * log_p
    by = np.argsort(-scores, kind="stable")
    return Ranked(words[by], scores[by], costs[by], log_p[by])


def tapped(
    lexicon: Lexicon, points: Floats, chances: Chances, settings: Parameters, typed: str | None = None
) -> Tapped:
    """Decodes taps into ranked words and the literal; `typed` is the spelling that was shown, if any."""
    rules = settings.taps
    ranked = rank(lexicon, taps.search(lexicon, points, rules), chances, rules.language)
    costs = taps.tap_costs(points, lexicon.layout, rules)
    nearest = costs.argmin(axis=1) if len(points) else np.zeros(0, np.int64)
    hit = "".join(lexicon.layout.letters[i] for i in nearest.tolist())
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
    """Decodes a glide into ranked words."""
    return rank(lexicon, glide.search(every, trail, settings.glide), chances, settings.glide.language)
