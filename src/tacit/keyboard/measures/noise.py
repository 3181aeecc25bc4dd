"""Simulated hands: taps and glides for words that are known, to measure the decoders with. No person typed these.

They are made in another way than the decoders suppose, so that a decoder is not judged by its own assumptions.

Taps. Every person has an offset of their own (thumbs fall short or aside), which the decoder knows nothing of. A
finger stops a little before a far key. One tap in ten spreads twice as far as the others, so tails are heavy. A key may
be hit twice or a neighbour with it, a letter inside a word be missed, two be swapped.

Glides. A hand does not draw straight lines: a glide is strokes from key to key of minimum jerk, of which each begins
before the last has ended and is added to it (Flash and Henis 1991); x(τ) = 10τ³ − 15τ⁴ + 6τ⁵ of a stroke is done when
the share τ of its time has passed. That cuts corners in smooth curves. The points aimed at spread around the keys and
are shot past in the direction of the stroke. Where a letter is doubled the hand may tremble. The screen samples 60
times a second, now and then misses a sample, and adds a slow jitter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats
from tacit.base.randomness import generator, stream
from tacit.keyboard.layout import APOSTROPHE, QWERTY, Layout

_PERSON = stream("hand of a person")


class TapNoise(NamedTuple):
    """A simulated typist's taps; lengths in key widths."""

    level: float = 1.0  # multiplies all lengths below
    spread_x: float = 0.40
    spread_y: float = 0.47
    wild: float = 0.1  # share of taps that spread twice as far
    offset: float = 0.16  # of a person's own, in x and in y
    short: float = 0.04  # of the way from the last key is missing
    extra: float = 0.008  # chance that a key or its neighbour is hit, too
    missed: float = 0.01  # chance that a letter inside the word has no tap
    swapped: float = 0.01  # chance that two letters are swapped
    apostrophes: float = 0.5  # chance that apostrophes are typed at all


class GlideNoise(NamedTuple):
    """A simulated glide; lengths in key widths, times in seconds."""

    level: float = 1.0  # multiplies all lengths below
    spread: float = 0.25  # of the points aimed at
    offset: float = 0.10  # of a person's own, in x and in y
    past: float = 0.10  # of a stroke: how far it is overshot, at most a key, half-normal
    overlap: float = 0.30  # share of a stroke during which the next has begun
    pause: float = 0.06  # a stroke over d keys takes pause + pace · log2(1 + d)
    pace: float = 0.08
    jitter: float = 0.03  # of the screen
    dropped: float = 0.1  # share of samples that are missing
    apostrophes: float = 0.1  # chance that the apostrophe's key is passed


TAPPING, GLIDING = TapNoise(), GlideNoise()


def offset(seed: int, person: int, size: float) -> Floats:
    """A person's own offset, [2]."""
    return generator(seed, _PERSON, person).normal(0.0, size, 2)


def tap(
    keys: str,
    draw: np.random.Generator,
    noise: TapNoise = TAPPING,
    own: Floats | tuple[float, float] = (0.0, 0.0),
    layout: Layout = QWERTY,
) -> Floats:
    """Taps for a word that is spelt so (`layout.spell`), [taps, 2].

    >>> tap("hello", np.random.default_rng(0)).shape
    (5, 2)
    """
    if APOSTROPHE in keys and len(keys) > 1 and draw.random() >= noise.apostrophes:
        keys = keys.replace(APOSTROPHE, "")
    letters = list(keys)
    for i in range(len(letters) - 1):
        if draw.random() < noise.swapped:
            letters[i], letters[i + 1] = letters[i + 1], letters[i]
    inner = [0 < i < len(letters) - 1 and draw.random() < noise.missed for i in range(len(letters))]
    letters = [c for c, missed in zip(letters, inner, strict=True) if not missed]
    aims = layout.centres[[layout.letters.index(c) for c in letters]]
    found = []
    for i, aim in enumerate(aims):
        wide = noise.level * (2.0 if draw.random() < noise.wild else 1.0)
        spread = draw.normal(0.0, 1.0, 2) * wide * (noise.spread_x, noise.spread_y)
        back = noise.level * noise.short * (aims[i - 1] - aim) if i else np.zeros(2)
        found.append(aim + np.asarray(own) + back + spread)
        if draw.random() < noise.extra:  # half of them the same key again, half one beside it
            found.append(found[-1] + draw.normal(0.0, 0.15, 2) + (draw.choice([-1.0, 0.0, 0.0, 1.0]), 0.0))
    return np.array(found)


def trail(
    keys: str,
    draw: np.random.Generator,
    noise: GlideNoise = GLIDING,
    own: Floats | tuple[float, float] = (0.0, 0.0),
    layout: Layout = QWERTY,
) -> Floats:
    """A glide for a word that is spelt so, [samples, 3]: x, y and the time in seconds.

    >>> trail("hello", np.random.default_rng(0)).shape[1]
    3
    """
    if APOSTROPHE in keys and len(keys) > 1 and draw.random() >= noise.apostrophes:
        keys = keys.replace(APOSTROPHE, "")
    aims = layout.centres[[layout.letters.index(c) for c in keys]] + np.asarray(own)
    aims = aims + draw.normal(0.0, noise.level * noise.spread, aims.shape)
    for i in range(1, len(keys)):
        if keys[i] == keys[i - 1]:  # the finger stays, but for a tremble
            aims[i] = aims[i - 1] + draw.normal(0.0, noise.level * 0.05, 2)
    aims = np.vstack([aims[:1], aims])
    strokes = np.diff(aims, axis=0)  # the first does not move
    reach = np.hypot(*strokes.T)
    past = np.minimum(
        np.abs(draw.normal(0.0, noise.level * noise.past, len(reach))), 1.0 / np.maximum(reach, 1e-9)
    )
    strokes = strokes + past[:, None] * strokes
    strokes[1:] -= past[:-1, None] * np.diff(aims, axis=0)[:-1]  # the next one comes back
    takes = noise.pause + noise.pace * np.log2(1 + reach)
    begins = np.concatenate([[0.0], np.cumsum(takes[:-1] * (1 - noise.overlap))])
    over = float((begins + takes).max())
    times = np.arange(0.0, over + 1 / 60, 1 / 60)
    times = times[(draw.random(len(times)) >= noise.dropped) | (times == times[0]) | (times == times[-1])]
    tau = np.clip((times[:, None] - begins) / takes, 0.0, 1.0)  # [samples, strokes]
    done = tau**3 * (10 - 15 * tau + 6 * tau**2)
    line = aims[0] + done @ strokes
    shake, jitter = np.zeros(2), []
    for _ in times:  # each sample's error is half the last one's and something new
        shake = 0.5 * shake + draw.normal(0.0, noise.level * noise.jitter, 2)
        jitter.append(shake)
    return np.column_stack([line + np.array(jitter), times])
