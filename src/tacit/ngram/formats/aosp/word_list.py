"""The content of an AOSP dictionary: words, the words that follow each, and the words that begin a sentence.

Both files, `.combined` and `.dict`, give every weight as f, a probability on a logarithmic scale:

    f = 255 + 8.58923700372 · log₂ p,  rounded, from 1 to 255

This is the scale of the engine and of AOSP's own word lists, so words of several dictionaries compete fairly. A step
is a factor of 1.084. 0 means that a word is never suggested.

These dictionaries know one word of context. So the weights are those of the order-2 model nearest to the n-gram model
(`tacit.ngram.order_2`), not the model's own weights of pairs, which are meant for backing off.

A list holds words: tokens that contain a letter and are shorter than 48 characters, the engine's limit. Specials,
punctuation, numbers and emoji are left out and counted. `.combined` cannot hold a comma or a control character: such a
word is an error, or is left out of both files on request. A blocked word stays, so that it can be typed without being
corrected, but it is marked as possibly offensive and follows no other word.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Bools, Floats, Ints
from tacit.base.errors import TacitError
from tacit.ngram.automaton import Automaton
from tacit.ngram.order_2 import order_2
from tacit.text import blocked
from tacit.text.flat import ends
from tacit.text.vocabulary import BOS, SPECIALS, Vocabulary

STEPS_PER_BIT = 8.58923700372  # of the engine
LONGEST = 47  # code points of a word
MOST_BIGRAMS = 60  # after a word; predicting takes time quadratic in their number
_UNWRITABLE = re.compile(r"[,\x00-\x1f\x7f-\x9f\u2028\u2029]")


class WordList(NamedTuple):
    """Words with their f, and bigrams. Row i of the bigrams follows word i; the last row begins a sentence."""

    words: tuple[str, ...]
    f: Ints  # [words]
    offensive: Bools  # [words]
    begins: Ints  # [words + 2] bigrams of row i are begins[i]:begins[i + 1], by falling f
    followers: Ints  # [bigrams] index in `words`
    follower_f: Ints  # [bigrams]


class Listed(NamedTuple):
    """A word list, and how many tokens of the vocabulary are not in it."""

    words: WordList
    no_words: int  # specials, punctuation, numbers, emoji, and tokens that are too long
    skipped: int  # words that `.combined` cannot hold


def listed(
    path: Path,
    vocabulary: Vocabulary,
    model: Automaton,
    *,
    most_bigrams: int = MOST_BIGRAMS,
    skip: bool = False,
    block: frozenset[str] = frozenset(),
) -> Listed:
    """Returns the word list of an n-gram model, by descending probability; `path` is for messages.

    `skip` leaves out words that `.combined` cannot hold instead of raising an error. `block` is a block list
    (`tacit.text.blocked`).
    """
    shape = model.topology
    if len(vocabulary) != shape.vocabulary:
        raise TacitError(f"{path}: the model has {shape.vocabulary} words, its vocabulary {len(vocabulary)}")
    if (shape.backoff < 0).sum() != 1:
        raise TacitError(
            f"{path}: a word list needs a word model, with one root; distil one (`tacit distill`)"
        )
    if not skip:
        check_words(path, vocabulary.words)
    is_word = np.array([_is_word(word) for word in vocabulary.words])  # [V]
    unwritable = np.array([bool(_UNWRITABLE.search(word)) for word in vocabulary.words]) & is_word
    pairs = order_2(model)
    here = is_word & ~unwritable & (pairs.words > 0)
    ids = np.flatnonzero(here)
    if not len(ids):
        raise TacitError(f"{path}: the model has no words to list; train it on text with words in it")
    ids = ids[np.lexsort((ids, -pairs.words[ids]))]
    offensive = np.array([blocked.fold(vocabulary.words[i]) in block for i in ids.tolist()], np.bool_)
    row = np.full(len(vocabulary), -1)  # [V] in the list
    row[ids] = np.arange(len(ids))
    rows = row.copy()
    rows[BOS] = len(ids)
    allowed = row >= 0
    allowed[ids[offensive]] = False
    kept = np.flatnonzero((rows[pairs.first] >= 0) & allowed[pairs.second])
    begins, order = _ranked(
        rows[pairs.first[kept]], pairs.p[kept], pairs.second[kept], len(ids), most_bigrams
    )
    kept = kept[order]
    found = WordList(
        tuple(vocabulary.words[i] for i in ids.tolist()),
        frequency(pairs.words[ids]),
        offensive,
        begins,
        row[pairs.second[kept]],
        frequency(pairs.p[kept]),
    )
    return Listed(found, int((~is_word).sum()), int(unwritable.sum()))


def check_words(path: Path, words: Iterable[str]) -> None:
    """Raises a TacitError if `.combined` cannot hold one of these words; callable before there is a model."""
    for word in words:
        if _is_word(word) and _UNWRITABLE.search(word):
            raise TacitError(
                f"{path}: {word!r} has a comma or a control character, which .combined cannot hold; "
                "leave such words out (--skip), or out of the vocabulary"
            )


def frequency(p: Floats) -> Ints:
    """Returns f for each probability.

    >>> frequency(np.array([1.0, 0.5, 0.1, 1e-30])).tolist()
    [255, 246, 226, 1]
    """
    steps = STEPS_PER_BIT * np.log2(np.maximum(p, 1e-300))
    return np.clip(np.rint(255 + steps), 1, 255).astype(np.int64)


def probability(f: Ints) -> Floats:
    """Returns the probability that each f stands for; 0 stands for 0.

    >>> probability(np.array([255, 246, 0])).round(3).tolist()
    [1.0, 0.484, 0.0]
    """
    return np.where(f > 0, np.exp2((np.asarray(f) - 255) / STEPS_PER_BIT), 0.0)


def of_bigrams(
    words: tuple[str, ...],
    f: Ints,
    offensive: Bools,
    rows: Ints,
    followers: Ints,
    p: Floats,
    most_bigrams: int = MOST_BIGRAMS,
) -> WordList:
    """Returns a word list from its bigrams in any order: the row, the follower and the probability of each."""
    begins, order = _ranked(rows, p, followers, len(words), most_bigrams)
    return WordList(words, f, offensive, begins, followers[order], frequency(p[order]))


def _ranked(rows: Ints, p: Floats, second: Ints, words: int, most: int) -> tuple[Ints, Ints]:
    """Returns where the bigrams of each row begin, [words + 2], and which are kept: the `most` likeliest of a row."""
    by = np.lexsort((second, -p, rows))
    rows = rows[by]
    kept = np.arange(len(by)) - np.searchsorted(rows, rows) < most
    return ends(np.bincount(rows[kept], minlength=words + 1)), by[kept]


def _is_word(token: str) -> bool:
    return len(token) <= LONGEST and any(c.isalpha() for c in token) and token not in SPECIALS
