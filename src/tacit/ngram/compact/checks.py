"""Checks an open compact file: every index is in range, and no probability is above one.

A CRC detects damage, but not a file that somebody crafted. The page's reader (validation.js) makes the same checks, so
that both accept and refuse the same files; a test gives both the same crafted ones.

A backoff weight above one is legal (see `above_one`). `suspicious` finds, with an upper bound for the words that a
history ends with, whether any weight could give a probability above one; for most files none can. Otherwise the whole
model is checked, and its n-grams must be closed: the last n − 1 words of an n-gram are an n-gram, too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.ngram.above_one import TOLERANCE, above_one
from tacit.ngram.compact.arrays import PICK, RANK, Compact, set_bits
from tacit.ngram.compact.words import BLOCK


def check(model: Compact) -> None:
    """Raises a ValueError that says what is wrong."""
    _indices(model)
    _tables(model)
    if suspicious(model):
        wrong = above_one(model.to_automaton()[1])
        _must(not wrong, f"a word has log p = {wrong[1] if wrong else 0:g}, above 0")


def _must(fits: Any, what: str) -> None:
    if not fits:
        raise ValueError(what)


def _rises(numbers: NDArray[Any]) -> bool:
    return bool((numbers[1:] >= numbers[:-1]).all())


def _indices(model: Compact) -> None:
    words, common = model.words, model.common
    _must(_rises(words.starts) and len(words.starts), "'blocks' is not in order")
    _must(words.starts[-1] == len(words.text), "'blocks' does not cover the words")
    _must(len(words.starts) == -(-words.count // BLOCK) + 1, "the number of words does not match 'meta'")
    _must(words.whole_blocks(), "the number of words does not match 'meta'")
    spelt = list(words.keys())
    _must(all(one < other for one, other in pairwise(spelt)), "its words are not in order")
    _must(b"\n".join(spelt).decode() is not None, "")  # raises a ValueError unless they are UTF-8
    _must((common[1:] > common[:-1]).all() and (common < len(model.p)).all(), "'common' is not in order")
    _must(_rises(model.starts), "'start2' is not in order")
    firsts = np.asarray(model.starts[:-1], np.int64)
    for n, level in enumerate(model.levels, start=2):
        _must((level.labels < len(common)).all(), f"'label{n}' refers to words outside 'common'")
        rises = level.labels[1:] > level.labels[:-1]
        rises[firsts[(firsts > 0) & (firsts < len(level.labels))] - 1] = True  # where another history begins
        _must(rises.all(), f"'label{n}' is not in order")
        if n - 1 < len(model.levels):
            after = len(model.levels[n - 1].labels)
            deep, heads = set_bits(level.deep, len(level.labels)), set_bits(level.head, after)
            before = np.searchsorted(deep, np.arange(0, len(level.labels), RANK))
            _must(np.array_equal(level.rank, before), f"'rank{n}' does not match 'deep{n}'")
            _must(
                np.array_equal(level.pick[:-1], heads[::PICK]), f"'pick{n + 1}' does not match 'head{n + 1}'"
            )
            _must(level.pick[-1] == after, f"'pick{n + 1}' does not cover the n-grams")
            _must(len(deep) == len(heads) == len(level.backoff), f"'b{n}' does not match the histories")
            _must(not after or (len(heads) and heads[0] == 0), f"'head{n + 1}' does not begin with a history")
            firsts = heads


def _tables(model: Compact) -> None:
    """A log p is at most 0, −∞ included; the log of a backoff weight is any number below ∞."""
    orders = enumerate(model.levels, start=2)
    for name, table in (("tp1", model.table), *((f"tp{n}", level.table) for n, level in orders)):
        _must((table <= TOLERANCE).all(), f"'{name}' has NaN or a probability above one")
    orders = enumerate(model.levels[:-1], start=2)
    for name, table in (("tb1", model.backoff_table), *((f"tb{n}", x.backoff_table) for n, x in orders)):
        _must((table < np.inf).all(), f"'{name}' has NaN or infinite numbers")


def suspicious(model: Compact) -> bool:
    """Whether a backoff weight could give a probability above one, by upper bounds over the last word of a history."""
    if not len(model.common):
        return False
    count = len(model.common)
    bound = np.full(count, model.table[model.p[1:]].max())  # [common] of any history that ends with the word
    last = np.arange(count)  # [histories] the last word of each
    weights = model.backoff_table[model.backoff]
    firsts, sizes = np.asarray(model.starts[:-1], np.int64), np.diff(np.asarray(model.starts, np.int64))
    for n, level in enumerate(model.levels, start=2):
        held = sizes > 0  # a word with no bigram is no history
        taken = weights[held] + bound[last[held]]
        if not (taken <= TOLERANCE).all():
            return True
        higher = bound.copy()
        np.maximum.at(higher, last[held], np.maximum(taken, _row_max(level.table[level.p], firsts[held])))
        bound = higher
        if n <= len(model.levels):
            rows = set_bits(level.deep, len(level.labels))
            last, weights = np.asarray(level.labels[rows], np.int64), level.backoff_table[level.backoff]
            firsts = set_bits(level.head, len(model.levels[n - 1].labels))
            sizes = np.ones(len(firsts), np.int64)
    return False


def _row_max(log_p: Floats, firsts: Ints) -> Floats:
    """Returns the largest log p of each history; its n-grams end where those of the next begin."""
    return np.maximum.reduceat(log_p, firsts) if len(firsts) else np.zeros(0)
