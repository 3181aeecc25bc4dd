"""Simulated noisy taps and glides for given words, to measure the decoders. No person typed these.

The simulation differs from the decoders' noise model on purpose, so that a decoder is not judged by its own
assumptions.

Taps:
- Every person has an offset (thumbs fall short or aside) that the decoder does not model.
- A finger stops a little before a far key.
- One tap in ten spreads twice as far as the others, so tails are heavy.
- A key may be hit twice, or a neighbour with it; a letter inside a word may be missed; two letters may be swapped.

Glides:
- A glide is minimum-jerk strokes from key to key; each begins before the last has ended, and they add up (Flash and
  Henis 1991). The share x(τ) = 10τ³ − 15τ⁴ + 6τ⁵ of a stroke is done after the share τ of its time. The overlap cuts
  corners in smooth curves.
- The points aimed at spread around the keys, and strokes overshoot in their own direction.
- At a doubled letter the finger may tremble.
- The screen samples 60 times a second, sometimes misses a sample, and adds a slow jitter.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tacit.base.arrays import Floats
from tacit.base.randomness import generator, stream
from tacit.keyboard.layout import APOSTROPHE, QWERTY, Layout

_PERSON = stream("hand of a person")


class TapNoise(NamedTuple):
    """Noise of simulated taps; lengths in key widths."""

    level: float = 1.0  # multiplies all lengths below
    spread_x: float = 0.40
    spread_y: float = 0.47
    wild: float = 0.1  # share of taps that spread twice as far
    offset: float = 0.16  # standard deviation of a person's offset, in x and in y
    short: float = 0.04  # share of the way from the last key by which a tap falls short
    extra: float = 0.008  # probability of an extra tap on the key or its neighbour
    missed: float = 0.01  # probability that a letter inside the word has no tap
    swapped: float = 0.01  # probability that two letters are swapped
    apostrophes: float = 0.5  # probability that a word's apostrophes are typed


class GlideNoise(NamedTuple):
    """Noise of simulated glides; lengths in key widths, times in seconds."""

    level: float = 1.0  # multiplies all lengths below
    spread: float = 0.25  # of the points aimed at
    offset: float = 0.10  # standard deviation of a person's offset, in x and in y
    past: float = 0.10  # overshoot as a share of the stroke, half-normal, at most one key
    overlap: float = 0.30  # share of a stroke that overlaps with the next
    pause: float = 0.06  # a stroke over d keys takes pause + pace · log2(1 + d)
    pace: float = 0.08
    jitter: float = 0.03  # of the screen
    dropped: float = 0.1  # share of samples that are missing
    apostrophes: float = 0.1  # probability that the glide passes the apostrophe's key


TAPPING, GLIDING = TapNoise(), GlideNoise()


def offset(seed: int, person: int, size: float) -> Floats:
    """Returns a person's offset, [2]."""
    return generator(seed, _PERSON, person).normal(0.0, size, 2)


def tap(
    keys: str,
    draw: np.random.Generator,
    noise: TapNoise = TAPPING,
    shift: Floats | tuple[float, float] = (0.0, 0.0),
    layout: Layout = QWERTY,
) -> Floats:
    """Simulates taps for the keys of a word (`layout.spell`), moved by `shift`, [taps, 2].

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
    taps = []
    for i, aim in enumerate(aims):
        wide = noise.level * (2.0 if draw.random() < noise.wild else 1.0)
        spread = draw.normal(0.0, 1.0, 2) * wide * (noise.spread_x, noise.spread_y)
        back = noise.level * noise.short * (aims[i - 1] - aim) if i else np.zeros(2)
        taps.append(aim + np.asarray(shift) + back + spread)
        if draw.random() < noise.extra:  # half of them on the same key, half on a neighbour
            taps.append(taps[-1] + draw.normal(0.0, 0.15, 2) + (draw.choice([-1.0, 0.0, 0.0, 1.0]), 0.0))
    return np.array(taps)


def trail(
    keys: str,
    draw: np.random.Generator,
    noise: GlideNoise = GLIDING,
    shift: Floats | tuple[float, float] = (0.0, 0.0),
    layout: Layout = QWERTY,
) -> Floats:
    """Simulates a glide for the keys of a word, [samples, 3]: x, y and the time in seconds.

    >>> trail("hello", np.random.default_rng(0)).shape[1]
    3
    """
    if APOSTROPHE in keys and len(keys) > 1 and draw.random() >= noise.apostrophes:
        keys = keys.replace(APOSTROPHE, "")
    aims = layout.centres[[layout.letters.index(c) for c in keys]] + np.asarray(shift)
    aims = aims + draw.normal(0.0, noise.level * noise.spread, aims.shape)
    for i in range(1, len(keys)):
        if keys[i] == keys[i - 1]:  # the finger stays and trembles
            aims[i] = aims[i - 1] + draw.normal(0.0, noise.level * 0.05, 2)
    aims = np.vstack([aims[:1], aims])
    strokes = np.diff(aims, axis=0)  # [strokes, 2]; the first has length 0
    reach = np.hypot(*strokes.T)
    past = np.minimum(
        np.abs(draw.normal(0.0, noise.level * noise.past, len(reach))), 1.0 / np.maximum(reach, 1e-9)
    )
    strokes = strokes + past[:, None] * strokes
    strokes[1:] -= past[:-1, None] * np.diff(aims, axis=0)[:-1]  # the next stroke makes up for the overshoot
    takes = noise.pause + noise.pace * np.log2(1 + reach)
    begins = np.concatenate([[0.0], np.cumsum(takes[:-1] * (1 - noise.overlap))])
    end = float((begins + takes).max())
    times = np.arange(0.0, end + 1 / 60, 1 / 60)
    times = times[(draw.random(len(times)) >= noise.dropped) | (times == times[0]) | (times == times[-1])]
    tau = np.clip((times[:, None] - begins) / takes, 0.0, 1.0)  # [samples, strokes]
    done = tau**3 * (10 - 15 * tau + 6 * tau**2)
    line = aims[0] + done @ strokes
    shake, jitter = np.zeros(2), []
    for _ in times:  # AR(1): half of the last sample's error plus new noise
        shake = 0.5 * shake + draw.normal(0.0, noise.level * noise.jitter, 2)
        jitter.append(shake)
    return np.column_stack([line + np.array(jitter), times])
