"""Guards what corrections do to words: rates on small lists that this file makes, with room for chance.

`benchmarks/corrections.py` measures the same in a browser, on lists of packages.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from key_models import taps_of

from tacit.keyboard.layout import nearest
from tacit.keyboard.suggestions import Suggester, over
from tacit.ngram import automaton, kneser_ney
from tacit.ngram.model import automaton_source
from tacit.text import vocabulary
from tacit.text.tokens import tokenize
from tacit.text.typists import Typists, TypistsConfig

CONTEXTS = ("i saw the", "we like", "you know", "what about", "")
Counted = Counter[str]


@pytest.fixture(scope="module")
def counted() -> tuple[Suggester, Counted]:
    """A model of 1,500 words of the built-in typists, and the counts of all their words."""
    people = Typists(TypistsConfig(users=90, messages=50))
    said = [tokenize(m.text.lower()) for k in range(len(people)) for m in people.messages(k)]
    counts = Counter(word for message in said for word in message)
    words = vocabulary.build(counts, 1500)
    ids = [words.encode(message) for message in said]
    fitted = kneser_ney.fit(np.concatenate(ids), np.cumsum([0, *map(len, ids)]), len(words), 3)
    return over(automaton_source(words, automaton.from_kneser_ney(fitted))), counts


def perfect(word: str, draw: np.random.Generator, scatter: float) -> np.ndarray:
    """Taps that scatter around the middles of their keys and all hit them."""
    while True:
        points = taps_of(word) + draw.normal(0.0, scatter, (len(word), 2))
        if nearest(points) == word:
            return points


def written(asked: Suggester, words: list[str], scatter: float) -> list[str]:
    draw = np.random.default_rng(len(words))
    contexts = [CONTEXTS[int(draw.integers(len(CONTEXTS)))] for _ in words]
    typed = [
        asked.correct(c, perfect(w, draw, scatter), typed=w) for c, w in zip(contexts, words, strict=True)
    ]
    return [found.best for found in typed]


def plain(word: str) -> bool:
    return word.isascii() and word.isalpha() and 4 <= len(word) <= 12


def changed(asked: Suggester, words: list[str], scatter: float) -> float:
    return float(np.mean([a != b for a, b in zip(words, written(asked, words, scatter), strict=True)]))


def slips(words: list[str], draw: np.random.Generator) -> list[tuple[str, str]]:
    """One slip a word, of five kinds in turn: letters swapped, left out, doubled; a double one once; a wrong vowel."""
    made = []
    for word in words:
        at = int(draw.integers(1, len(word) - 2))
        double = [i for i in range(1, len(word)) if word[i] == word[i - 1]]
        vowels = [i for i in range(1, len(word)) if word[i] in "aeiou"]
        kind = len(made) % 5
        if kind == 0:
            wrong = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        elif kind == 1:
            wrong = word[:at] + word[at + 1 :]
        elif kind == 2:
            wrong = word[:at] + word[at] + word[at:]
        elif kind == 3 and double:
            wrong = word[: double[0]] + word[double[0] + 1 :]
        elif vowels:
            i = vowels[int(draw.integers(len(vowels)))]
            wrong = word[:i] + "aeiou"[int(draw.integers(5))] + word[i + 1 :]
        else:
            continue
        made.append((wrong, word))
    return made


def test_words_that_the_model_does_not_know_stay(counted):
    asked, counts = counted
    known = set(asked.lexicon.spellings)
    rare = [w for w, _ in sorted(counts.items()) if plain(w) and w not in known]
    listed = [w for w in rare if asked._listed(w)][:250]
    assert len(listed) == 250
    assert changed(asked, listed, 0.15) <= 0.01 and changed(asked, listed, 0.2) <= 0.02
    bare = Suggester(asked.source, asked.layout, asked.parameters)  # as though no dictionary had them
    assert changed(bare, listed, 0.15) <= 0.17


def test_known_words_stay_and_slips_of_them_are_mended(counted):
    asked, counts = counted
    known = [w for w in asked.lexicon.spellings if plain(w)]
    assert changed(asked, known[::4], 0.2) <= 0.005
    draw = np.random.default_rng(0)
    frequent = [w for w in sorted(known, key=lambda w: -counts[w]) if len(w) > 4][:400]
    pairs = [
        (wrong, right)
        for wrong, right in slips(frequent, draw)
        if wrong not in known and not asked._listed(wrong)
    ]
    assert len(pairs) > 250
    got = written(asked, [wrong for wrong, _ in pairs], 0.1)
    mended = np.mean([a == right for a, (_, right) in zip(got, pairs, strict=True)])
    assert mended >= 0.75
