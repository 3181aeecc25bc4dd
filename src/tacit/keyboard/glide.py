"""What was meant by a glide: words and how far their paths over the keys are from the trail.

After SHARK² (Kristensson and Zhai 2004): the trail and a word's path, straight lines between the middles of its keys,
are each resampled to N points at equal distances along them. Two channels compare them, point by point:

    location  x_L = 1/N Σ ‖u_i − w_i‖                     u_i of the trail, w_i of the path, in key widths
    shape     x_S = 1/N Σ ‖(u_i − ū)/s_u − (w_i − w̄)/s_w‖     s: the longer side of the bounding box, at least 1

    cost(word) = ½ (x_L / σ_L)² + ½ (x_S / σ_S)²

A word is looked at only if its first and last key are within `reach` of the ends of the trail, and the lengths are
alike: the longer at most `stretch` times the shorter and `slack` more. What is not taken from SHARK²: its dynamic
weights of the channels by speed, and its tunnel.

Doubled letters leave no trace in a path, so `to` and `too` cost the same: the language model decides. A word of one
letter is a path of one point. A word with an apostrophe has two paths, by way of that key and past it; the nearer
counts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.base.arrays import Floats, Ints
from tacit.keyboard.lexicon import Lexicon, polyline
from tacit.keyboard.parameters import DEFAULT, Glide
from tacit.keyboard.taps import Found


class Paths(NamedTuple):
    """The paths of a lexicon's words, each word having one or two."""

    words: Ints  # [paths] places in the lexicon, ascending
    points: NDArray[np.float32]  # [paths, N, 2]
    lengths: Floats  # [paths]


def resample(line: Floats, count: int) -> Floats:
    """As many points at equal distances along a line, its ends among them, [count, 2].

    >>> resample(np.array([(0.0, 0.0), (1.0, 0.0), (1.0, 1.0)]), 5).tolist()
    [[0.0, 0.0], [0.5, 0.0], [1.0, 0.0], [1.0, 0.5], [1.0, 1.0]]
    """
    steps = np.hypot(*np.diff(line, axis=0).T)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    wanted = np.linspace(0.0, at[-1], count)
    return np.stack([np.interp(wanted, at, line[:, 0]), np.interp(wanted, at, line[:, 1])], axis=1)


def length(line: Floats) -> float:
    """How long a line is."""
    return float(np.hypot(*np.diff(line, axis=0).T).sum())


def paths(lexicon: Lexicon, settings: Glide = DEFAULT.glide) -> Paths:
    """The paths of all words."""
    number = {letter: i for i, letter in enumerate(lexicon.layout.letters)}
    words, points, lengths = [], [], []
    for place, keys in enumerate(lexicon.spellings):
        for turns in dict.fromkeys(polyline(keys, passed) for passed in (True, False)):
            if not turns:  # of a word that is nothing but apostrophes
                continue
            line = lexicon.layout.centres[[number[c] for c in turns]]
            words.append(place)
            points.append(resample(line, settings.points))
            lengths.append(length(line))
    table = np.array(points, np.float32).reshape(-1, settings.points, 2)
    return Paths(np.array(words, np.int64), table, np.array(lengths))


def shapes(lines: Floats) -> Floats:
    """Lines [..., N, 2] moved to their mean and scaled to size 1; what is smaller than a key is not blown up."""
    size = np.maximum((lines.max(axis=-2) - lines.min(axis=-2)).max(axis=-1), 1.0)
    return (lines - lines.mean(axis=-2, keepdims=True)) / size[..., None, None]


def search(every: Paths, trail: Floats, settings: Glide = DEFAULT.glide) -> Found:
    """The words whose paths are alike, with their costs; no more than `beam` above the best."""
    if not len(trail) or not len(every.words):
        return Found(np.zeros(0, np.int64), np.zeros(0))
    far = length(trail)
    longer, shorter = np.maximum(every.lengths, far), np.minimum(every.lengths, far)
    alike = longer <= settings.stretch * shorter + settings.slack
    for end in (0, -1):
        away = every.points[:, end] - trail[end]
        alike &= away[:, 0] ** 2 + away[:, 1] ** 2 <= settings.reach**2
    near = np.flatnonzero(alike)
    if not len(near):
        return Found(np.zeros(0, np.int64), np.zeros(0))
    mine, theirs = resample(trail, settings.points), every.points[near].astype(np.float64)
    location = _apart(mine, theirs) / settings.sigma_location
    shape = _apart(shapes(mine), shapes(theirs)) / settings.sigma_shape
    cost = 0.5 * (location**2 + shape**2)
    words, first = np.unique(every.words[near], return_index=True)
    least = np.minimum.reduceat(cost, first)  # of a word's one or two paths
    kept = least <= least.min() + settings.beam
    return Found(words[kept], least[kept])


def _apart(line: Floats, lines: Floats) -> Floats:
    """The mean distance between a line and each of these, point by point."""
    away = lines - line
    return np.hypot(away[..., 0], away[..., 1]).mean(axis=-1)
