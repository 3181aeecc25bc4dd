"""What the page calls a personal model: words that its person is fonder of than others are.

`typist-000401` means nothing to anybody. A name with a digit is taken for a number in a list of people: the title is
then "Person 1 of 3" and the words w with the largest

    p(w | person) log (p(w | person) / p(w | everybody))

in n-gram models of both, the terms of their Kullback-Leibler divergence. A name without a digit, as somebody gave it,
stays. Only words of four letters or more are shown, which mostly name things.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tacit.base.arrays import Floats
from tacit.lm.protocol import WordSource
from tacit.ngram.compact import reader
from tacit.ngram.compact.model import CompactSource
from tacit.text.vocabulary import SPECIALS, UNK

WORDS = 3  # that are shown
_LETTERS = 4
_NOBODY = (
    "\N{REPLACEMENT CHARACTER}"  # a word that no model has: after it, words have their probability alone
)


def title(name: str, place: int, count: int, file: Path, everybody: reader.Compact) -> str:
    """Returns the title of a person's model; `place` counts from 1."""
    if not any(c.isdigit() for c in name):
        return f"Personal: {name}"
    words = fond(CompactSource(reader.open(file)), CompactSource(everybody))
    quoted = ", ".join(f"“{word}”" for word in words)
    return f"Person {place} of {count}" + (f", who often writes {quoted}" if words else "")


def fond(person: WordSource, everybody: WordSource) -> list[str]:
    """Returns the words that tell a person most from everybody; both models have the same words."""
    words = person.words
    shown = [
        i
        for i in range(len(SPECIALS), len(words))
        if len(words[i]) >= _LETTERS and words[i].isalpha() and not everybody.hidden(i)
    ]
    if not shown:
        return []
    own, others = (_alone(source, np.array(shown, np.int64)) for source in (person, everybody))
    gain = np.exp(own) * (own - others)
    best = np.argsort(-gain, kind="stable")[:WORDS]
    return [words[shown[i]] for i in best.tolist() if gain[i] > 0]


def _alone(source: WordSource, ids: np.ndarray) -> Floats:
    """Returns log p of words without a context."""
    assert source.id(_NOBODY) == UNK
    return np.asarray(source.log_probs(source.state([_NOBODY]), ids))
