"""Counter-based random numbers: the same address (seed, round, client, …) always gives the same draw.

A simulator that visits clients in any order, a phone that has only its own number, and a resumed run must all
draw the same numbers. So the generator has no state: every draw is a hash of its address. Counters broadcast as
arrays, so a whole cohort's shuffles are one numpy expression.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import ArrayLike


def stream(name: str) -> int:
    """Returns the counter of a named use of randomness, so that two uses never share draws.

    >>> stream("sampling") != stream("shuffle")
    True
    """
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")


def mix(x: np.ndarray) -> np.ndarray:
    """Applies SplitMix64's finaliser (Steele, Lea, Flood 2014): every input bit affects every output bit."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def bits(*counters: ArrayLike) -> np.ndarray:
    """Returns 64 random bits for each address, uint64, with the broadcast shape of the counters.

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
    """Returns uniform draws in [0, 1), float64, one for each address."""
    return (bits(*counters) >> np.uint64(11)) * 2.0**-53


def generator(*counters: int) -> np.random.Generator:
    """Returns a numpy generator seeded by an address, for when the number of draws is not known in advance."""
    return np.random.Generator(np.random.Philox(key=int(bits(*counters))))
