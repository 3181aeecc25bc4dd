"""Finds the likeliest words after a history in a compact file, among all words or those with a prefix.

- Labels are nested: every word that follows a long history also follows the shorter ones. So the candidates are, from
  the longest known history down, the k best of its words that no longer history has; the unigrams come last.
- Codes rise with probability, so the best word is the first largest byte of a slice: no byte is decoded, and ties go
  to the lower id.
- A prefix is a range of ids, so only that range of every slice is searched.
- Without a prefix, all unigrams would have to be searched. Instead the best few thousand are kept sorted, and the
  first k of them that do not follow the history are enough. Only if fewer than k are left are all unigrams searched.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacit.base.errors import TacitError
from tacit.ngram.compact.arrays import FAVOURITES, Compact, State
from tacit.text.vocabulary import SPECIALS

_FIRST = 64  # favourites that are tried before the others


def best(
    model: Compact, state: State, k: int, first: int = 0, last: int | None = None
) -> list[tuple[int, float]]:
    """Returns the k likeliest words with ids from `first` to `last` − 1 and their log p, without hidden words."""
    if k < 1:
        raise TacitError(f"k is {k}; ask for at least 1 word")
    last = len(model.p) if last is None else last
    everything = first <= len(SPECIALS) and last == len(model.p)
    low, high = (int(x) for x in model.common.searchsorted(np.array([first, last], np.uint32)))
    candidates: list[tuple[float, int]] = []  # −log p and id
    taken, spent = np.zeros(0, np.uint16), 0.0  # words of longer histories, and the backoff so far
    for node in state:
        level = model.levels[node.n - 2]
        begin, end = node.first, node.last
        if not everything:
            inside = level.labels[begin:end]
            end = begin + int(inside.searchsorted(np.uint16(high - 1), "right")) if high else begin
            begin += int(inside.searchsorted(np.uint16(low))) if low < high else end - begin
        labels, codes = level.labels[begin:end], level.p[begin:end].copy()
        codes[labels.searchsorted(taken)] = 0
        for i, code in _greatest(model, codes, k, labels=labels):
            candidates.append((-(spent + float(level.table[code])), i))
        taken, spent = labels, spent + node.log_backoff
    unigrams = _unseen(model, taken, k) if everything else None
    if unigrams is None:
        codes = model.p[first:last].copy()
        read = model.common[taken].astype(np.int64) - first
        codes[read[read >= 0]] = 0  # `</s>` and `<unk>` may be in `taken` with ids below `first`
        unigrams = [i for i, _ in _greatest(model, codes, k, first=first)]
    candidates += [(-(spent + float(model.table[model.p[i]])), i) for i in unigrams]
    return [(i, -cost) for cost, i in sorted(candidates)[:k]]


def _greatest(
    model: Compact, codes: NDArray[np.uint8], k: int, labels: NDArray[np.uint16] | None = None, first: int = 0
) -> list[tuple[int, int]]:
    """Returns ids and codes of the k largest codes, without 0 and hidden words; overwrites `codes`."""
    largest: list[tuple[int, int]] = []
    while len(largest) < k and len(codes):
        at = int(codes.argmax())
        code = int(codes[at])
        if not code:
            break
        codes[at] = 0
        i = first + at if labels is None else int(model.common[labels[at]])
        if not model.hidden[i]:
            largest.append((i, code))
    return largest


def _unseen(model: Compact, taken: NDArray[np.uint16], k: int) -> list[int] | None:
    """Returns the k likeliest unigrams that are not `taken`; None if the favourites are not enough."""
    ids, places = model.favourites
    for most in (_FIRST, 8 * _FIRST, len(ids)):
        free = ids[:most]
        if len(taken):
            at = np.minimum(taken.searchsorted(places[:most].astype(np.uint16)), len(taken) - 1)
            free = free[taken[at] != places[:most]]
        if len(free) >= k:
            break
    return free[:k].tolist() if len(free) >= k or len(ids) < FAVOURITES else None
