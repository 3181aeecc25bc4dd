"""Quantises a model's weights to one byte each.

Every order has a table of values for its probabilities (natural logs, codes 1 … 255; 0 is probability 0) and another
for its backoff weights (256 codes). If an order has no more distinct values than codes, the table holds them all and
only float32 rounding is lost. Otherwise the values are divided into bins whose density is the cube root of the density
of the values, which minimises the mean square error for fine bins (Panter & Dite 1951). A bin's value is the weighted
mean of its members. The weight of a value combines its use with a uniform share: the few likely words make up half of
a keyboard's requests, and one backoff weight, that of `<s>`, is used in every message. A quarter of the bins follows
e^{value/3} instead, because errors in large weights, even rare ones, shift the sums most.

The backoff weights correct the sums of probabilities after rounding: the unigrams are scaled to sum to one, and from
short histories to long ones w[φ] is recomputed from the rounded probabilities and rounded in turn. Only where the
failure arc has almost no probability left can a sum be off by more than this last rounding. Where rounding up would
give a word a probability above one, which readers refuse, the weight is rounded down.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats
from tacit.ngram.above_one import TOLERANCE, most_by_backoff
from tacit.ngram.automaton import Automaton, log_probs
from tacit.ngram.validity import shares
from tacit.text.vocabulary import EOS

Bytes = NDArray[np.uint8]

_FINE = 1 << 12  # cells of the histogram from which the bins are made
_GREAT = 0.25  # share of the bins that favours large weights
_UTMOST = 50.0  # logs are clipped to this, because one outlier would make all cells wide
_TRUST = 2.0  # the largest factor, up or down, by which each corrected sum changes a backoff weight


class Quantised(NamedTuple):
    """Codes of a model's weights and the tables of their values; item n − 1 is for order n."""

    p: Bytes  # [arcs]
    backoff: Bytes  # [states] 0 at the root
    p_tables: tuple[NDArray[np.float32], ...]  # [256] each; −inf at 0 and at unused codes
    backoff_tables: tuple[NDArray[np.float32], ...]  # [256] each, of histories of n words


def quantise(model: Automaton) -> Quantised:
    """Quantises each weight of an n-gram automaton to one byte."""
    shape = model.topology
    order = int(shape.depth.max()) + 1
    level = shape.depth[shape.owners]  # [arcs]
    codes, rounded = np.zeros(len(level), np.uint8), np.full(len(level), -np.inf)
    p_tables, backoff_tables, use = [], [], _use(model)
    for d in range(order):
        arcs_here = np.flatnonzero((level == d) & np.isfinite(model.log_p))
        p = np.exp(model.log_p[arcs_here])
        table, code = _bins(model.log_p[arcs_here], _counts(use[shape.owners[arcs_here]] * p), 255)
        if d == 0:  # the unigrams still sum to one
            scale = np.log(p.sum() / np.exp(table.astype(np.float64)[code]).sum())
            table = (table + scale).astype(np.float32)
        codes[arcs_here], rounded[arcs_here] = code + 1, table[code]
        p_tables.append(_padded(np.concatenate([[-np.inf], table])))

    exact_own, exact_left = shares(model)
    own, left = shares(Automaton(shape, rounded, model.log_backoff))
    exact_rest, rest = exact_left, left  # become r(q), see validity.py
    backoff, values = np.zeros(len(shape), np.uint8), np.zeros(len(shape))
    for d in range(1, order):
        here = np.flatnonzero(shape.depth == d)
        back = shape.backoff[here]
        if d > 1:
            exact_rest[here] += np.exp(model.log_backoff[back]) * exact_rest[back]
            rest[here] += np.exp(values[back]) * rest[back]
        change = _ratio(1 - own[here], 1 - exact_own[here]) / _ratio(rest[here], exact_rest[here])
        wanted = model.log_backoff[here] + np.log(change)
        table, code = _bins(wanted, _counts(use[here]), 256)
        backoff[here], values[here] = code, table[code]
        backoff_tables.append(_padded(table))
    while (high := (most_by_backoff(Automaton(shape, rounded, values)) > TOLERANCE) & (backoff > 0)).any():
        backoff[high] -= 1
        for d in range(1, order):
            here = np.flatnonzero(high & (shape.depth == d))
            values[here] = backoff_tables[d - 1][backoff[here]]
    return Quantised(codes, backoff, tuple(p_tables), tuple(backoff_tables))


def _use(model: Automaton) -> Floats:
    """Estimates how often each state is visited, [states]: the probability of its history; `<s>` as often as `</s>`."""
    shape = model.topology
    use, depth = np.ones(len(shape)), shape.depth
    grows = np.flatnonzero((shape.targets >= 0) & (depth[shape.targets] > depth[shape.owners]))
    if depth[shape.initial]:
        use[shape.initial] = np.exp(log_probs(model, shape.backoff[[shape.initial]], np.array([EOS])))[0]
    for d in range(int(depth.max())):
        arcs = grows[depth[shape.owners[grows]] == d]
        use[shape.targets[arcs]] = use[shape.owners[arcs]] * np.exp(model.log_p[arcs])
    return use


def _counts(use: Floats) -> Floats:
    """Returns the weight of each value: its share of the uses plus an equal share."""
    return use / max(use.sum(), 1e-300) + 1 / max(1, len(use))


def _ratio(now: Floats, before: Floats) -> Floats:
    """Returns now / before, clipped to be near 1; exactly 1 where `before` is almost 0."""
    return np.clip(np.where(before > 1e-9, now / np.maximum(before, 1e-9), 1.0), 1 / _TRUST, _TRUST)


def _padded(table: np.ndarray) -> NDArray[np.float32]:
    return np.concatenate([table, np.full(256 - len(table), -np.inf)]).astype(np.float32)


def _bins(values: Floats, weights: Floats, most: int) -> tuple[NDArray[np.float32], Bytes]:
    """Returns at most `most` ascending values and, for each given value, the index of the one that replaces it.

    >>> table, code = _bins(np.array([-1.0, -3.0, -1.0]), np.ones(3), 2)
    >>> table.tolist(), code.tolist()
    ([-3.0, -1.0], [1, 0, 1])
    """
    values = np.clip(values, -_UTMOST, _UTMOST)
    exact, code = np.unique(values.astype(np.float32), return_inverse=True)
    if len(exact) <= most:
        return exact, code.astype(np.uint8)
    mass, cells = np.histogram(values, _FINE, weights=weights)
    dense, great = np.cbrt(mass), np.exp(np.minimum(cells[1:], 1.0) / 3)
    share = (1 - _GREAT) * dense / dense.sum() + _GREAT * great / great.sum()
    reach = np.concatenate([[0.0], np.cumsum(share)])
    edges = np.interp(np.linspace(0, reach[-1], most + 1)[1:-1], reach, cells)
    bins = np.searchsorted(edges, values, side="right")
    total = np.bincount(bins, weights, minlength=most)
    mean = np.bincount(bins, weights * values, minlength=most) / np.where(total > 0, total, 1)
    used, place = np.unique(mean[total > 0].astype(np.float32), return_inverse=True)
    to = np.zeros(most, np.uint8)
    to[total > 0] = place
    return used, to[bins]
