"""Glide decoding: finds words whose paths over the keys are close to the trail of a finger.

The method is SHARK² (Kristensson and Zhai 2004). A word's path is the straight lines between the centres of its keys.
Trail and path are each resampled to N points at equal distances, and three channels compare them:

    location  x_L = 1/N Σ ‖u_i − w_i‖                     u_i of the trail, w_i of the path, in key widths
    shape     x_S = 1/N Σ ‖(u_i − ū)/s_u − (w_i − w̄)/s_w‖     s: the longer side of the bounding box, at least 1

    ends      x_E = √(‖u_1 − w_1‖² + ‖u_N − w_N‖²)

    cost(word) = ½ (x_L / σ_L)² + ½ (x_S / σ_S)² + ½ (x_E / σ_E)²

A word is considered only if its first and last key are within `reach` of the ends of the trail, and if the lengths are
similar: the longer is at most `stretch` times the shorter plus `slack`. Two parts of SHARK² are left out: its channel
weights that depend on speed, and its tunnel model.

Doubled letters leave no trace in a path, so `to` and `too` cost the same and the language model decides. A word of one
letter is a path of one point. A word with an apostrophe has two paths, with and without that key; the closer one
counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.keyboard.lexicon import Lexicon, polyline
from tacit.keyboard.parameters import DEFAULT, Glide
from tacit.keyboard.taps import Matches


class Paths(NamedTuple):
    """The paths of a lexicon's words; each word has one or two."""

    words: Ints  # [paths] positions in the lexicon, ascending
    points: NDArray[np.float32]  # [paths, N, 2]
    lengths: Floats  # [paths]


def resample(line: Floats, count: int) -> Floats:
    """Returns `count` points at equal distances along a line, including both ends, [count, 2].

    >>> resample(np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]), 5).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
    """
    steps = np.hypot(*np.diff(line, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = np.linspace(0.0, at[-1], count)
    return np.stack([np.interp(wanted, at, line[:, 0]), np.interp(wanted, at, line[:, 1])], axis=1)


def length(line: Floats) -> float:
    """Returns the length of a line."""
    return float(np.hypot(*np.diff(line, axis=0).T).sum())


def paths(lexicon: Lexicon, settings: Glide = DEFAULT.glide) -> Paths:
    """Returns the paths of all words of a lexicon."""
    number = {letter: i for i, letter in enumerate(lexicon.layout.letters)}
    words, points, lengths = [], [], []
    for place, keys in enumerate(lexicon.spellings):
        for turns in dict.fromkeys(polyline(keys, passed) for passed in (True, False)):
            if not turns:  # a word of apostrophes only
                continue
            line = lexicon.layout.centres[[number[c] for c in turns]]
            words.append(place)
            points.append(resample(line, settings.points))
            lengths.append(length(line))
    table = np.array(points, np.float32).reshape(-1, settings.points, 2)
    return Paths(np.array(words, np.int64), table, np.array(lengths))


def shapes(lines: Floats) -> Floats:
    """Moves lines [..., N, 2] to their mean and scales them to size 1; lines smaller than a key are not enlarged."""
    size = np.maximum((lines.max(axis=-2) - lines.min(axis=-2)).max(axis=-1), 1.0)
    return (lines - lines.mean(axis=-2, keepdims=True)) / size[..., None, None]


def search(every: Paths, trail: Floats, settings: Glide = DEFAULT.glide) -> Matches:
    """Returns the words whose paths resemble the trail, with their costs: at most `beam` above the best."""
    if not len(trail) or not len(every.words):
        return Matches(np.zeros(0, np.int64), np.zeros(0))
    far = length(trail)
    longer, shorter = np.maximum(every.lengths, far), np.minimum(every.lengths, far)
    alike = longer <= settings.stretch * shorter + settings.slack
    ends = np.zeros(len(every.words))
    for end in (0, -1):
        away = every.points[:, end] - trail[end]
        squared = away[:, 0] ** 2 + away[:, 1] ** 2
        alike &= squared <= settings.reach**2
        ends += squared
    near = np.flatnonzero(alike)
    if not len(near):
        return Matches(np.zeros(0, np.int64), np.zeros(0))
    drawn, paths_near = resample(trail, settings.points), every.points[near].astype(np.float64)
    location = _mean_distance(drawn, paths_near) / settings.sigma_location
    shape = _mean_distance(shapes(drawn), shapes(paths_near)) / settings.sigma_shape
    cost = 0.5 * (location**2 + shape**2 + ends[near] / settings.sigma_ends**2)
    words, first = np.unique(every.words[near], return_index=True)
    least = np.minimum.reduceat(cost, first)  # of a word's one or two paths
    kept = least <= least.min() + settings.beam
    return Matches(words[kept], least[kept])


def _mean_distance(line: Floats, lines: Floats) -> Floats:
    """Returns the mean pointwise distance between one line and each of `lines`."""
    away = lines - line
    return np.hypot(away[..., 0], away[..., 1]).mean(axis=-1)
