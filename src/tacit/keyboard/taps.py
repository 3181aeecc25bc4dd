"""Tap decoding: finds the words near a sequence of taps, with the cost of each.

Five operations turn the letters l_1 … l_n of a word into taps t_1 … t_m, each with a cost (a negative
log-probability):

    a tap for a letter      ½ (dx² / σ_x² + dy² / σ_y²),  (dx, dy) from the centre of the letter's key to the tap;
                            on a neighbour of the key that was hit, at most the cost of that key + slip
    a letter without a tap  omission, or apostrophe for an apostrophe
    a tap without a letter  insertion
    two letters, two taps in the wrong order    transposition, and both taps as above
    three letters, the first tapped last or the last tapped first    move, and the three taps as above

D(i, j) is the lowest cost of the first i letters with the first j taps:

    D(i, j) = min  D(i − 1, j) + omission(l_i)
                   D(i − 1, j − 1) + tap(t_j, l_i)
                   D(i, j − 1) + insertion
                   D(i − 2, j − 2) + transposition + tap(t_{j−1}, l_i) + tap(t_j, l_{i−1})
                   D(i − 3, j − 3) + move + tap(t_{j−2}, l_{i−1}) + tap(t_{j−1}, l_i) + tap(t_j, l_{i−2})
                   D(i − 3, j − 3) + move + tap(t_{j−2}, l_i) + tap(t_{j−1}, l_{i−2}) + tap(t_j, l_{i−1})

D(n, m) is the cost of the word. A column D(i, ·) depends on the first i letters only, so words with a common prefix
share it, and the search walks the lexicon's trie level by level.

In any word, tap j costs at least low_j = min(insertion, cost of its nearest key). With low_j subtracted wherever tap j
is used, costs are never negative and D never falls along a path. A prefix whose lowest D is above `beam` then has no
word below it within `beam`. So the search finds exactly the words that cost at most Σ low_j + beam; a test compares it
with brute force.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from tacit.base.arrays import Floats, Ints
from tacit.base.errors import TacitError
from tacit.keyboard.layout import APOSTROPHE, Layout
from tacit.keyboard.lexicon import Lexicon
from tacit.keyboard.parameters import DEFAULT, Taps
from tacit.text.flat import cells

MOST = 48  # taps of a word; longer input is not decoded
VOWELS = "aeiouy"
WILD = 4.5  # a tap says no more than this about the spread of the others
REACH = 1.6  # key widths between the middles of neighbours
_FAR = 1e4  # key widths; coordinates are clipped to this


class Matches(NamedTuple):
    """Words near the input: positions in the lexicon, ascending, and costs (of taps, above Σ low)."""

    words: Ints
    costs: Floats


def points(taps: ArrayLike, what: str = "taps") -> Floats:
    """Returns taps or a trail as [points, 2] without times; raises a TacitError for anything else.

    >>> points([(1, 2, 0.5), (3, 4, 0.6)]).tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    try:
        table = np.asarray(taps, np.float64)
    except (ValueError, TypeError):
        table = np.zeros((1, 0))
    if table.size == 0 and table.ndim <= 2 and len(table) == 0:
        return np.zeros((0, 2))
    if table.ndim != 2 or table.shape[1] not in (2, 3) or not np.isfinite(table).all():
        raise TacitError(f"{what} are not points; give numbers (x, y) in key widths, one pair for each")
    return np.clip(table[:, :2], -_FAR, _FAR)


def tap_costs(taps: Floats, layout: Layout, settings: Taps = DEFAULT.taps) -> Floats:
    """Returns the cost of each tap if each key was meant, [taps, keys]."""
    away = taps[:, None, :] - layout.centres  # [taps, keys, 2]
    costs = 0.5 * ((away[..., 0] / settings.sigma_x) ** 2 + (away[..., 1] / settings.sigma_y) ** 2)
    least = np.minimum(costs.min(axis=1), WILD)
    spread = (settings.steady + 2 * least.sum()) / (settings.steady + settings.usual * len(taps))
    costs = costs / spread
    between = layout.centres[:, None] - layout.centres
    neighbours = np.hypot(between[..., 0], between[..., 1]) <= REACH  # [keys, keys]
    slips = costs.min(axis=1)[:, None] + settings.slip
    return np.where(neighbours[costs.argmin(axis=1)], np.minimum(costs, slips), costs)


def search(lexicon: Lexicon, taps: Floats, settings: Taps = DEFAULT.taps) -> Matches:
    """Returns all words that cost at most `beam` more than Σ low.

    >>> from tacit.keyboard.layout import centre
    >>> from tacit.keyboard.lexicon import build
    >>> words = build(["cat", "car", "dog"], [3, 4, 5])
    >>> near = search(words, np.array([centre("c"), centre("a"), (3.9, 0.8)]))
    >>> [(words.spellings[i], round(cost, 1)) for i, cost in zip(near.words, near.costs.tolist())]
    [('car', 0.0), ('cat', 1.0)]
    """
    m = len(taps)
    if not 0 < m <= MOST or not len(lexicon):
        return Matches(np.zeros(0, np.int64), np.zeros(0))
    hand = tap_costs(taps, lexicon.layout, settings)  # [taps, keys]
    nearest, least = hand.argmin(axis=1), hand.min(axis=1)
    alone = np.full(m, float(settings.insertion))  # a tap without a letter
    alone[1:][nearest[1:] == nearest[:-1]] = min(settings.insertion, settings.double)
    low = np.minimum(least, alone)
    mind = np.minimum(
        hand, (least + settings.wrong)[:, None]
    )  # [taps, keys] another letter may have been written
    vowels = [i for i, c in enumerate(lexicon.layout.letters) if c in VOWELS]
    if vowels:
        other = hand[:, vowels].min(axis=1) + settings.vowel
        mind[:, vowels] = np.minimum(mind[:, vowels], other[:, None])
    hand, mind, extra = (
        (hand - low[:, None]).T,
        (mind - low[:, None]).T,
        alone - low,
    )  # [keys, taps], …, [taps]
    spent = np.concatenate([[0.0], np.cumsum(extra)])  # [taps + 1] cost if all taps so far are extra
    omit = np.full(len(lexicon.layout.letters), float(settings.omission))
    omit[[c == APOSTROPHE for c in lexicon.layout.letters]] = settings.apostrophe

    words, costs = [], []
    live = np.zeros(1, np.int64)  # nodes of this level within the beam
    column = (spent + np.where(np.arange(m + 1) > 0, settings.edge, 0.0))[None]  # [live, taps + 1] their D
    before = np.full((1, m + 1), np.inf)  # [live, taps + 1] D of their parents
    earlier = before  # [live, taps + 1] D of the parents of those
    last = last_but_one = np.full(1, -1)  # [live] their letters, and those of their parents
    for depth, (level, below) in enumerate(pairwise(lexicon.levels)):
        count = level.children[live + 1] - level.children[live]
        nodes, parent = cells(level.children[live], count), np.repeat(np.arange(len(live)), count)
        letter = below.letters[nodes]
        above = column[parent]  # [nodes, taps + 1]
        lacking = np.where(letter == last[parent], np.minimum(omit[letter], settings.single), omit[letter])
        lacking += 0.0 if depth else settings.edge
        new = np.full(above.shape, np.inf)
        new[:, 1:] = above[:, :-1] + (mind if depth else hand)[letter]
        crossed = before[parent, :-2] + hand[letter, :-1] + hand[last[parent], 1:] + settings.transposition
        new[:, 2:] = np.minimum(new[:, 2:], crossed)
        one, two, three = hand[last_but_one[parent]], hand[last[parent]], hand[letter]
        moved = np.minimum(
            two[:, :-2] + three[:, 1:-1] + one[:, 2:],
            three[:, :-2] + one[:, 1:-1] + two[:, 2:],
        )
        new[:, 3:] = np.minimum(new[:, 3:], earlier[parent, :-3] + settings.move + moved)
        whole = new[:, m].copy()  # the last tap is for the last letter
        new = np.minimum(new, above + lacking[:, None])
        new = np.minimum.accumulate(new - spent, axis=1) + spent  # any number of extra taps
        # Letters in the wrong order that begin at the parent or before it may still need this node.
        best = np.minimum(new.min(axis=1), above.min(axis=1) + min(settings.transposition, settings.move))
        best = np.minimum(best, before[parent].min(axis=1) + settings.move)
        kept = best <= settings.beam
        live, earlier, before, column = nodes[kept], before[parent][kept], above[kept], new[kept]
        last, last_but_one = letter[kept], last[parent][kept]
        place = np.full(len(below.letters), -1)
        place[live] = np.arange(len(live))
        ends = place[below.ends]
        ends, ending = ends[ends >= 0], below.words[ends >= 0]
        cost = np.minimum(whole[kept][ends], column[ends, m] + settings.edge)
        cheap = cost <= settings.beam
        words.append(ending[cheap])
        costs.append(cost[cheap])
        if not len(live):
            break
    every, cost = np.concatenate(words), np.concatenate(costs)
    by = np.argsort(every)
    return Matches(every[by], cost[by])
