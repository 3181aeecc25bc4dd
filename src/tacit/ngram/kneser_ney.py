"""Modified interpolated Kneser-Ney smoothing: the n-gram baseline.

Chen & Goodman, "An Empirical Study of Smoothing Techniques for Language Modeling" (1998), section 3, with the choices
of KenLM's `lmplz`. For a word w after a history h, with h′ the history without its first word,

    p(w | h) = (a(hw) − D(a(hw))) / Σ_x a(hx)  +  γ(h) p(w | h′),      γ(h) = Σ_x D(a(hx)) / Σ_x a(hx)

- a is the count at the highest order. Below it, a is the number of distinct words seen before the n-gram; an n-gram
  that begins with `<s>` has nothing before it and keeps its count.
- D(1), D(2), D(3+) are computed per order from n_j, the number of n-grams with a = j: with Y = n₁ / (n₁ + 2 n₂),
  D(j) = j − (j + 1) Y n_{j+1} / n_j. If these are undefined or outside (0, j] (tiny corpora), they are ½, 1, 1½.
- Unigrams are interpolated with the uniform distribution over the vocabulary without `<s>`, which is never predicted.

The layout is a trie with one flat level per order. Level 0 is the empty history; the rows of level n are the distinct
n-grams in lexicographic order, and the key of "h w" is (row of h at level n − 1)·V + w. So a look-up is one
searchsorted per order, and the words seen after a history are one slice. The model contains every part of its n-grams,
so backing off follows the `suffix` column.

Sentences are `<s> w1 … wn </s>`, concatenated in `tokens`; sentence i is tokens[offsets[i]:offsets[i+1]].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.ngram.trie import find
from tacit.text.flat import cells
from tacit.text.vocabulary import BOS, EOS, UNK

FALLBACK_DISCOUNTS = (0.0, 0.5, 1.0, 1.5)  # lmplz --discount_fallback


@dataclass(frozen=True)
class TrieLevel:
    """All n-grams of one order, one row each: as predictions, and as histories of longer n-grams."""

    keys: Ints  # [grams] ascending: row of the history at the level below, times V, plus the word
    suffix: Ints  # [grams] row at the level below of the n-gram without its first word
    counts: Ints  # [grams] a(hw), the adjusted count
    discounts: Floats  # [4] D(0) = 0, D(1), D(2), D(3+)
    probability: Floats  # [grams] p(w | h), interpolated
    starts: Ints  # [grams + 1] rows at the level above that continue row r: starts[r]:starts[r+1]
    totals: Floats  # [grams] Σ_x a(hx); 0 where nothing follows
    backoff: Floats  # [grams] γ(h); 1 where nothing follows


@dataclass(frozen=True)
class KneserNey:
    """A fitted model; `levels[n]` holds the n-grams of order n, `levels[0]` the empty history."""

    order: int
    vocabulary: int
    levels: tuple[TrieLevel, ...]


def fit(tokens: ArrayLike, offsets: ArrayLike, vocabulary: int, order: int = 5) -> KneserNey:
    """Estimates a model of the given order from sentences over the ids 0 … vocabulary − 1.

    >>> model = fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2)
    >>> model.levels[2].keys.tolist()  # 0 3, 3 1, 3 4, 4 1 as history · 5 + word
    [3, 16, 19, 21]
    """
    if not 1 <= order <= 5:
        raise TacitError(f"order is {order}; choose an n-gram order from 1 to 5")
    if vocabulary < 3:
        raise TacitError(f"vocabulary is {vocabulary}; it includes <s>, </s> and <unk>, so give at least 3")
    words, bounds = _sentences(tokens, offsets, vocabulary)
    if len(bounds) < 2:
        raise TacitError("the corpus has no sentences; give at least one to fit an n-gram model")

    place = np.arange(len(words)) - np.repeat(bounds[:-1], np.diff(bounds))  # [total] in its sentence
    raw = np.bincount(words, minlength=vocabulary)
    raw[BOS] = 0  # never predicted
    empty = np.zeros(1, np.int64)
    keys, counts = [empty, np.arange(vocabulary)], [empty, raw]  # item n is for order n
    suffix = [empty, np.zeros(vocabulary, np.int64)]
    row = words  # [total] row of the n-gram that ends at each position; -1 where the sentence is too short
    for n in range(2, order + 1):
        at = np.flatnonzero(place >= n - 1)
        unique, first, inverse, times = np.unique(
            row[at - 1] * vocabulary + words[at], return_index=True, return_inverse=True, return_counts=True
        )
        keys.append(unique)
        suffix.append(row[at[first]])
        counts.append(times)
        row = np.full(len(words), -1, np.int64)
        row[at] = inverse
    for n in range(1, order):
        before = np.bincount(suffix[n + 1], minlength=len(keys[n]))  # distinct words seen before each n-gram
        counts[n] = np.where(before > 0, before, counts[n])
    return KneserNey(order, vocabulary, _estimate(keys, suffix, counts, vocabulary))


def log_probs(model: KneserNey, tokens: ArrayLike, offsets: ArrayLike) -> Floats:
    """Returns the natural log p of every token after its history, [total]; 0.0 at each `<s>`, which is not predicted.

    >>> model = fit([0, 3, 1], [0, 3], vocabulary=4, order=2)
    >>> np.exp(log_probs(model, [0, 3, 1], [0, 3])).round(4).tolist()
    [1.0, 0.7083, 0.7083]
    """
    words, _ = _sentences(tokens, offsets, model.vocabulary)
    p = model.levels[1].probability[words]
    rows = _rows(model, words, model.order)
    for n in range(2, model.order + 1):
        history = _previous(rows[n - 2])
        known, seen = history >= 0, rows[n - 1] >= 0
        p[known] *= model.levels[n - 1].backoff[history[known]]
        p[seen] = model.levels[n].probability[rows[n - 1][seen]]
    p[words == BOS] = 1.0
    return np.log(p)


def distribution(model: KneserNey, context: Sequence[int]) -> Floats:
    """Returns p(w | context) for every w, [V], from the formula: a slow reference for the other functions.

    >>> model = fit([0, 3, 1], [0, 3], vocabulary=4, order=2)
    >>> distribution(model, [0]).round(4).tolist()
    [0.0, 0.2083, 0.0833, 0.7083]
    """
    rows = [0, *_context_rows(model, context)]
    p = np.full(model.vocabulary, 1.0 / (model.vocabulary - 1))  # [V]
    p[BOS] = 0.0
    for row, history, longer in zip(rows, model.levels, model.levels[1:], strict=False):
        after = slice(history.starts[row], history.starts[row + 1])
        a = longer.counts[after]
        p *= history.backoff[row]
        if len(a):
            word = longer.keys[after] % model.vocabulary
            p[word] += (a - longer.discounts[np.minimum(a, 3)]) / history.totals[row]
    return p


def top_k(
    model: KneserNey,
    tokens: ArrayLike,
    offsets: ArrayLike,
    k: int = 3,
    banned: Sequence[int] = (BOS, EOS, UNK),
) -> NDArray[np.int32]:
    """Returns the k likeliest words at every position, [total, k]; row i predicts tokens[i] from the tokens before it.

    Ties go to the lower id. Rows at `<s>`, and entries for which no allowed word is left, are -1.

    >>> model = fit([0, 3, 4, 1, 0, 3, 1], [0, 4, 7], vocabulary=5, order=2)
    >>> top_k(model, [0, 3, 1], [0, 3], k=2).tolist()
    [[-1, -1], [3, 4], [4, 3]]
    """
    words, _ = _sentences(tokens, offsets, model.vocabulary)
    allowed = _allowed(model, k, banned)
    position = np.flatnonzero(words != BOS)
    length, row = np.zeros_like(position), np.zeros_like(position)  # longest known history, [predictions]
    for n, rows in enumerate(_rows(model, words, model.order - 1), start=1):
        here = rows[position - 1]
        length, row = np.where(here >= 0, n, length), np.where(here >= 0, here, row)
    out = np.full((len(words), k), -1, np.int32)  # [total, k]
    out[position] = _best(model, length, row, allowed, k)[0]
    return out


def _estimate(
    keys: list[Ints], suffix: list[Ints], counts: list[Ints], vocabulary: int
) -> tuple[TrieLevel, ...]:
    """Computes the levels from the adjusted counts, shortest first, because p(w | h) needs p(w | h′)."""
    nothing = np.zeros(0, np.int64)
    levels: list[TrieLevel] = []
    lower = np.full(vocabulary, 1.0 / (vocabulary - 1))  # [V] uniform, interpolated with the unigrams
    lower[BOS] = 0.0
    for n, (key, a) in enumerate(zip(keys, counts, strict=True)):
        discounts = _discounts(a)
        p = np.zeros(len(key))  # [grams]
        if n:
            history, below = key // vocabulary, levels[-1]
            p = below.backoff[history] * (lower if n == 1 else below.probability[suffix[n]])
            p += (a - discounts[np.minimum(a, 3)]) / below.totals[history]

        longer, longer_a = (keys[n + 1], counts[n + 1]) if n + 1 < len(keys) else (nothing, nothing)
        history = longer // vocabulary
        totals = np.bincount(history, weights=longer_a, minlength=len(key)).astype(np.float64)
        taken = _discounts(longer_a)[np.minimum(longer_a, 3)]
        freed = np.bincount(history, weights=taken, minlength=len(key))
        backoff = np.where(totals > 0, freed / np.maximum(totals, 1), 1.0)
        starts = np.searchsorted(longer, np.arange(len(key) + 1) * vocabulary)
        levels.append(TrieLevel(key, suffix[n], a, discounts, p, starts, totals, backoff))
    return tuple(levels)


def _discounts(a: Ints) -> Floats:
    """Returns D(0 … 3+), [4]. D = 0 counts as undefined, too: it would leave no probability for unseen words."""
    n = np.bincount(np.minimum(a, 5), minlength=5).astype(np.float64)
    if (n[1:4] > 0).all():
        j = np.arange(1, 4)
        d = j - (j + 1) * (n[1] / (n[1] + 2 * n[2])) * n[2:5] / n[1:4]
        if (d > 0).all():
            return np.concatenate([[0.0], d])
    return np.array(FALLBACK_DISCOUNTS)


def _previous(rows: Ints) -> Ints:
    return np.concatenate([np.full(min(1, len(rows)), -1, np.int64), rows[:-1]])


def _rows(model: KneserNey, words: Ints, order: int) -> list[Ints]:
    """Returns for each length 1 … order the row of the n-gram that ends at each position, [total]; -1 if unknown.

    Sentence bounds are not needed: no n-gram of the model has `<s>` after another word.
    """
    rows = [words][:order]
    for n in range(2, order + 1):
        history = _previous(rows[-1])
        wanted = np.where(history >= 0, history * model.vocabulary + words, -1)
        rows.append(find(model.levels[n].keys, wanted))
    return rows


def _context_rows(model: KneserNey, context: Sequence[int]) -> list[int]:
    """Returns the rows of the last 1, 2, … words of the context, as long as the model contains them."""
    words = _ids(context, model.vocabulary, "the context")[-model.order :]
    ends = [int(rows[-1]) for rows in _rows(model, words, model.order - 1)] if len(words) else []
    return [row for row in ends if row >= 0]


def _best(
    model: KneserNey, length: Ints, row: Ints, allowed: NDArray[np.bool_], k: int
) -> tuple[Ints, Floats]:
    """Returns the k likeliest allowed words (-1: no more) and their p after histories (length, row), [histories, k].

    A word not seen after h has p = γ(h) p(w | h′), a seen one at least that. So a word outside the k best after h′ is
    among the k best after h only if it was seen after h: the candidates are the words seen after h and the k best
    after h′. Each needed history is computed once, from the empty history upwards. Ties go to the lower id; words that
    differ only by rounding may come in either order.
    """
    needed = [np.unique(row[length == n]) for n in range(model.order)]
    for n in range(model.order - 1, 0, -1):
        needed[n - 1] = np.union1d(needed[n - 1], model.levels[n].suffix[needed[n]])

    out_words = np.full((len(row), k), -1, np.int64)
    out_p = np.zeros((len(row), k))
    best_words, best_p = np.full((1, k), -1, np.int64), np.zeros((1, k))  # nothing below the empty history
    for n, h in enumerate(needed):
        level, longer = model.levels[n], model.levels[n + 1]
        size = level.starts[h + 1] - level.starts[h]  # [H]
        owner = np.repeat(np.arange(len(h)), size)  # [seen words of all H]
        seen = cells(level.starts[h], size)
        word = longer.keys[seen] % model.vocabulary
        ok = allowed[word]

        back = np.searchsorted(needed[n - 1], level.suffix[h]) if n else np.zeros(len(h), np.int64)
        lower = best_words[back]  # [H, k]
        unseen = (lower >= 0) & (find(longer.keys, h[:, None] * model.vocabulary + lower) < 0)
        owner = np.concatenate([owner[ok], np.nonzero(unseen)[0]])
        word = np.concatenate([word[ok], lower[unseen]])
        p = np.concatenate([longer.probability[seen[ok]], (level.backoff[h, None] * best_p[back])[unseen]])

        by = np.lexsort((word, -p, owner))
        owner, word, p = owner[by], word[by], p[by]
        rank = np.arange(len(owner)) - np.searchsorted(owner, owner)
        top = rank < k
        best_words, best_p = np.full((len(h), k), -1, np.int64), np.zeros((len(h), k))
        best_words[owner[top], rank[top]], best_p[owner[top], rank[top]] = word[top], p[top]

        here = length == n
        at = np.searchsorted(h, row[here])
        out_words[here], out_p[here] = best_words[at], best_p[at]
    return out_words, out_p


def _allowed(model: KneserNey, k: int, banned: Sequence[int]) -> NDArray[np.bool_]:
    if k < 1:
        raise TacitError(f"k is {k}; ask for at least 1 word")
    allowed = np.ones(model.vocabulary, np.bool_)  # [V]
    allowed[_ids(banned, model.vocabulary, "banned")] = False
    allowed[BOS] = False
    return allowed


def _ids(values: ArrayLike, vocabulary: int, what: str) -> Ints:
    ids = np.asarray(values)
    if ids.ndim != 1 or (ids.size and ids.dtype.kind not in "iu"):
        raise TacitError(f"{what}: {ids.dtype} of shape {ids.shape}; give a flat array of integer ids")
    outside = (ids < 0) | (ids >= vocabulary)
    if outside.any():
        at = int(np.argmax(outside))
        limits = f"outside the vocabulary 0 … {vocabulary - 1}"
        raise TacitError(f"{what}: id {ids[at]} at {at} is {limits}; map unknown words to <unk> (2)")
    return ids.astype(np.int64)


def _sentences(tokens: ArrayLike, offsets: ArrayLike, vocabulary: int) -> tuple[Ints, Ints]:
    """Checks that tokens are complete sentences `<s> … </s>`; returns tokens and offsets as int64."""
    words, bounds = _ids(tokens, vocabulary, "tokens"), np.asarray(offsets)
    if bounds.ndim != 1 or not bounds.size or bounds.dtype.kind not in "iu":
        raise TacitError("offsets are not a flat array of integers; give each sentence's start and the total")
    bounds = bounds.astype(np.int64)
    if bounds[0] != 0 or bounds[-1] != len(words) or (np.diff(bounds) < 2).any():
        must = f"run from 0 to {len(words)} in steps of at least 2"
        raise TacitError(f"offsets do not split the {len(words)} tokens into sentences; they must {must}")
    ends = np.add.reduceat((words <= EOS).astype(np.int64), bounds[:-1])  # [sentences]
    bad = (words[bounds[:-1]] != BOS) | (words[bounds[1:] - 1] != EOS) | (ends != 2)
    if bad.any():
        which = int(np.argmax(bad))
        raise TacitError(
            f"sentence {which} is not <s> (0), words, </s> (1); put <s> first and </s> last, and nowhere else"
        )
    return words, bounds
