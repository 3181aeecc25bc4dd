"""The cost of taps for a word by every alignment of both, for tests of the search."""

from __future__ import annotations

import math
from functools import cache

from tacit.keyboard import taps
from tacit.keyboard.layout import QWERTY, centre
from tacit.keyboard.parameters import Taps


def cheapest(word: str, points: list[tuple[float, float]], rules: Taps) -> float:
    """The least cost over all ways to have typed a word by these taps, each way tried, above Σ low."""

    def plain(j: int, letter: str) -> float:
        x, y = centre(letter)
        return ((points[j][0] - x) / rules.sigma_x) ** 2 / 2 + ((points[j][1] - y) / rules.sigma_y) ** 2 / 2

    every = [{c: plain(j, c) for c in QWERTY.letters} for j in range(len(points))]
    shown = sum(min(taps.WILD, *row.values()) for row in every)
    spread = (rules.steady + 2 * shown) / (rules.steady + rules.usual * len(points))
    every = [{c: cost / spread for c, cost in row.items()} for row in every]
    near = [min(row, key=row.__getitem__) for row in every]
    for row, hit in zip(every, near, strict=True):
        most = row[hit] + rules.slip
        row |= {c: min(row[c], most) for c in row if math.dist(centre(c), centre(hit)) <= taps.REACH}

    def alone(j: int) -> float:
        return min(rules.insertion, rules.double) if j and near[j] == near[j - 1] else rules.insertion

    def tap(i: int, j: int) -> float:
        ways = [every[j][word[i]]]
        if i:
            ways.append(every[j][near[j]] + rules.wrong)
        if i and word[i] in taps.VOWELS:
            ways.append(min(every[j][c] for c in taps.VOWELS) + rules.vowel)
        return min(ways)

    def lacking(i: int) -> float:
        cost = rules.apostrophe if word[i] == "'" else rules.omission
        return min(cost, rules.single) if i and word[i] == word[i - 1] else cost

    def edge(first: bool, i: int, j: int) -> float:
        return rules.edge * (first + (i == len(word) and j == len(points)))

    def rest(i: int, j: int) -> float:
        ways = [0.0] if i == len(word) and j == len(points) else []
        if i < len(word):
            ways.append(lacking(i) + edge(i == 0, i + 1, j) + rest(i + 1, j))
        if j < len(points):
            ways.append(alone(j) + edge(i == j == 0, i, j + 1) + rest(i, j + 1))
        if i < len(word) and j < len(points):
            ways.append(tap(i, j) + rest(i + 1, j + 1))
        if i + 1 < len(word) and j + 1 < len(points):
            swapped = every[j][word[i + 1]] + every[j + 1][word[i]]
            ways.append(rules.transposition + swapped + rest(i + 2, j + 2))
        if i + 2 < len(word) and j + 2 < len(points):
            for order in ((1, 2, 0), (2, 0, 1)):
                moved = sum(every[j + k][word[i + place]] for k, place in enumerate(order))
                ways.append(rules.move + moved + rest(i + 3, j + 3))
        return min(ways)

    rest = cache(rest)
    return rest(0, 0) - sum(min(alone(j), every[j][near[j]]) for j in range(len(points)))
