"""Writes AOSP's `.combined` word list, from which HeliBoard, OpenBoard and FUTO compile their dictionaries.

    dictionary=main:en,locale=en,description=Tacit,date=1700000000,version=1
     word=new,f=200
      bigram=york,f=243

f is a probability on a logarithmic scale: 255 is probability 1 and each step down divides it by 1.15; 0 marks
profanity, so f = clip(round(255 + ln p / ln 1.15), 1, 255). The compiler stores by how much a bigram's f exceeds that
of its second word, so a bigram's f is never below that. The format has no longer n-grams.

The list holds words: tokens that contain a letter and are shorter than 48 characters (the compiler's limit). Specials,
punctuation, numbers and emoji are left out and counted. The format cannot hold a comma, "=", white space or a leading
"#": such a word is an error, or is left out on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.ngram.automaton import Automaton
from tacit.text.vocabulary import BOS, SPECIALS, Vocabulary

_LONGEST = 47
_UNWRITABLE = re.compile(r"[\s,=\x00-\x1f\x7f]|^#")
_LOCALE = re.compile(r"[A-Za-z]{2,8}([_-][A-Za-z0-9]{1,8})*")
_HEADER_VALUE = re.compile(r"[^\s,=:#][^,=:\r\n]*")  # the compiler looks for the first colon after "main"


class Written(NamedTuple):
    """Counts of entries that were written or left out."""

    words: int
    bigrams: int
    no_words: int  # specials, punctuation, numbers, emoji, and tokens that are too long
    skipped: int  # words that the format cannot hold


def check_locale(path: Path, locale: str) -> None:
    """Raises a TacitError if this is not a locale."""
    if not _LOCALE.fullmatch(locale):
        raise TacitError(f"{path}: locale is {locale!r}; write it like en or en_GB")


def write(
    path: Path,
    vocabulary: Vocabulary,
    model: Automaton,
    *,
    locale: str,
    description: str,
    date: int,
    version: int = 1,
    most_bigrams: int = 60,
    skip: bool = False,
) -> Written:
    """Writes words by descending probability, each with at most `most_bigrams` bigrams.

    `date` is in seconds since 1970 and is shown by keyboards; it is a parameter so that equal models give equal bytes.
    `skip` leaves out words that the format cannot hold instead of raising an error.
    """
    shape = model.topology
    header = {"locale": locale, "description": description, "date": str(date), "version": str(version)}
    for key, value in header.items():
        if not _HEADER_VALUE.fullmatch(value):
            raise TacitError(
                f"{path}: {key} is {value!r}; it must not be empty or contain , = : or a line end"
            )
    check_locale(path, locale)
    if len(vocabulary) != shape.vocabulary:
        raise TacitError(f"{path}: the model has {shape.vocabulary} words, its vocabulary {len(vocabulary)}")
    root = int(np.argmax(shape.backoff < 0))
    if (shape.backoff < 0).sum() != 1:
        raise TacitError(
            f"{path}: a word list needs a word model, with one root; distil one (`tacit distill`)"
        )
    unwritable = [word for word in vocabulary.words if _is_word(word) and _UNWRITABLE.search(word)]
    if not skip:
        check_words(path, vocabulary.words)
    listed = np.array([_is_word(word) and not _UNWRITABLE.search(word) for word in vocabulary.words])  # [V]

    arcs = np.arange(shape.starts[root], shape.starts[root + 1])
    log_p = np.full(len(vocabulary), -np.inf)  # [V]
    log_p[shape.labels[arcs]] = model.log_p[arcs]
    listed &= np.isfinite(log_p)
    if not listed.any():
        raise TacitError(f"{path}: the model has no words to list; train it on text with words in it")
    unigram_f = frequency(log_p)
    follows, begins = _bigrams(model, root, listed, most_bigrams)
    followers = shape.labels[follows]
    bigram_f = np.maximum(frequency(model.log_p[follows]), unigram_f[followers])
    lines = ["dictionary=main:" + locale + "".join(f",{k}={v}" for k, v in header.items()) + "\n"]
    second = [f"  bigram={vocabulary.words[w]},f={f}\n" for w, f in zip(followers, bigram_f, strict=True)]
    ids = np.flatnonzero(listed)
    for word in ids[np.lexsort((ids, -log_p[ids]))].tolist():
        lines.append(f" word={vocabulary.words[word]},f={unigram_f[word]}\n")
        lines += second[begins[word] : begins[word + 1]]
    write_atomic(path, "".join(lines))
    return Written(len(ids), len(second), len(vocabulary) - len(ids) - len(unwritable), len(unwritable))


def check_words(path: Path, words: Iterable[str]) -> None:
    """Raises a TacitError if the format cannot hold one of these words; callable before there is a model."""
    for word in words:
        if _is_word(word) and _UNWRITABLE.search(word):
            raise TacitError(
                f"{path}: {word!r} has a space, comma, '=' or leading '#', which .combined cannot hold; "
                "leave such words out (--skip), or out of the vocabulary"
            )


def frequency(log_p: Floats) -> Ints:
    """Returns f for each natural log p.

    >>> frequency(np.log([1.0, 0.1, 1e-30])).tolist()
    [255, 239, 1]
    """
    with np.errstate(invalid="ignore"):
        return np.clip(np.rint(255 + np.maximum(log_p, -1e3) / np.log(1.15)), 1, 255).astype(np.int64)


def _is_word(token: str) -> bool:
    return len(token) <= _LONGEST and any(c.isalpha() for c in token) and token not in SPECIALS


def _bigrams(model: Automaton, root: int, listed: np.ndarray, most: int) -> tuple[Ints, Ints]:
    """Returns the arcs to write after each word, likeliest first, and where those of each word begin, [V + 1]."""
    shape = model.topology
    into = np.arange(shape.starts[root], shape.starts[root + 1])
    into = into[listed[shape.labels[into]]]
    state = shape.targets[into]  # the state of the one-word history, if there is one
    known = (state >= 0) & (shape.depth[state] == 1) & (state != shape.initial)
    word_of = np.full(len(shape), BOS)  # [states] the word a state remembers
    word_of[state[known]] = shape.labels[into[known]]
    arcs = np.flatnonzero((word_of[shape.owners] != BOS) & listed[shape.labels])
    first = word_of[shape.owners[arcs]]
    by = np.lexsort((shape.labels[arcs], -model.log_p[arcs], first))
    arcs, first = arcs[by], first[by]
    arcs_of = np.searchsorted(first, first)
    keep = np.arange(len(arcs)) - arcs_of < most
    arcs, first = arcs[keep], first[keep]
    return arcs, np.searchsorted(first, np.arange(shape.vocabulary + 1))
