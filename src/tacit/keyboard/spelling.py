"""The prior of a word that nobody knows: a trigram model of letters, counted on the lexicon's own spellings.

A name or a new word has no probability in the language model, but its letters follow one another like those of other
words. Each spelling counts once, between boundaries (#). With n the counts, K letters and κ = `SMOOTHING`,

    p(c)        = (n(c) + 1) / (n + K)
    p(c | b)    = (n(bc) + κ p(c)) / (n(b) + κ)
    p(c | a b)  = (n(abc) + κ p(c | b)) / (n(ab) + κ)

and log p(word) is the sum over its letters and the boundary at its end. The page counts the same lexicon when it has
loaded the model, so nothing is shipped.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Ints

SMOOTHING = 3.0  # κ


class Letters(NamedTuple):
    """Counts of letters; code 0 is the boundary, i + 1 the letter i."""

    letters: str
    triples: Ints  # [K, K, K]
    pairs: Ints  # [K, K] of triples with these first two letters
    after: Ints  # [K, K] of a letter and the next
    firsts: Ints  # [K] of pairs with this first letter
    singles: Ints  # [K]


def count(spellings: Sequence[str], letters: str) -> Letters:
    """Counts the letters of these spellings, each once.

    >>> counts = count(["to", "too"], "ot")
    >>> counts.singles.tolist(), counts.after[2].tolist()  # #, o, t
    ([2, 3, 2], [0, 2, 0])
    """
    k = len(letters) + 1
    number = {letter: i + 1 for i, letter in enumerate(letters)}
    codes = [0, 0]
    for spelling in dict.fromkeys(spellings):
        codes += [number[c] for c in spelling]
        codes += [0, 0]
    line = np.array(codes, np.int64)
    a, b, c = line[:-2], line[1:-1], line[2:]
    inside = ~((b == 0) & (c == 0))  # from the end of one word to the next
    triples = np.bincount(((a * k + b) * k + c)[inside], minlength=k**3).reshape(k, k, k)
    after = triples.sum(axis=0)
    return Letters(letters, triples, triples.sum(axis=2), after, after.sum(axis=1), after.sum(axis=0))


def log_p(counts: Letters, spelling: str) -> float:
    """Returns the natural log p of a spelling; characters without a key are left out.

    >>> counts = count(["to", "too"], "ot")
    >>> log_p(counts, "to") > log_p(counts, "ot")
    True
    """
    k = len(counts.letters) + 1
    total = float(counts.singles.sum())
    a, b, sum_ = 0, 0, 0.0
    for c in [*(i + 1 for x in spelling if (i := counts.letters.find(x)) >= 0), 0]:
        one = (counts.singles[c] + 1) / (total + k)
        two = (counts.after[b, c] + SMOOTHING * one) / (counts.firsts[b] + SMOOTHING)
        sum_ += log((counts.triples[a, b, c] + SMOOTHING * two) / (counts.pairs[a, b] + SMOOTHING))
        a, b = b, c
    return sum_
