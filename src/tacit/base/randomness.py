"""Random numbers by address: the same (seed, round, client, …) always gives the same draw.

A simulator that visits clients in any order, a phone that only knows its own number, and a run that
is resumed in the middle must all draw the same numbers. So nothing here has a state to advance:
every draw is a hash of where it is used. Arrays of counters broadcast, which makes it a vectorised
generator: a whole cohort's shuffles are one numpy expression.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import ArrayLike


def stream(name: str) -> int:
    """A number for a named use of randomness, so that two uses never share draws.

    >>> stream("sampling") != stream("shuffle")
    True
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def mix(x: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit reaches every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bits(*counters: ArrayLike) -> np.ndarray:
    """64 random bits for each address, uint64, with the broadcast shape of the counters.

    >>> bool(bits(1, 2) == bits(1, 2)), bits(7, np.arange(3)).shape
    (True, (3,))
    """
    with np.errstate(over="ignore"):
        state: np.ndarray = np.asarray(np.uint64(0x9E3779B97F4A7C15))
        for counter in counters:
            address = np.asarray(counter)
            state = mix(state + address.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1))
    return state


def uniform(*counters: ArrayLike) -> np.ndarray:
    """Uniform draws in [0, 1), float64, one for each address."""
    return (bits(*counters) >> np.uint64(11)) * 2.0**-53


def generator(*counters: int) -> np.random.Generator:
    """An ordinary numpy generator that starts at an address, for draws of unknown number."""
    return np.random.Generator(np.random.Philox(key=int(bits(*counters))))
