"""Adds arrays exactly, in any order, in memory that does not grow with their number.

Floating-point sums depend on the order of their terms, and clients answer in any order. So every number becomes two
integers before it is added:

    x = hi · 2⁻²⁴ + lo · 2⁻⁵⁶,    hi = ⌊x · 2²⁴⌋,    0 ≤ lo < 2³²

Both parts are added in 64 bits. A float32 of at least 2⁻³² keeps every bit, a smaller one is cut off below 2⁻⁵⁶.
Numbers may be as large as `LARGEST`, of as many as `MOST` clients; then no sum can overflow.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

LARGEST = 2.0**22  # |x| of a number that is added
MOST = 2**16  # clients in a sum
_HIGH, _LOW = 2.0**24, 2.0**32


class ExactSum:
    """Adds named arrays; their order changes no bit of the sum.

    >>> total = ExactSum({"w": (2,)})
    >>> total.add({"w": np.array([0.1, 1e-9], np.float32)})
    >>> total.add({"w": np.array([0.2, 1.0], np.float32)})
    >>> total.value()["w"].tolist()
    [0.30000001192092896, 1.0]
    """

    def __init__(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        self.count = 0
        self._high = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
        self._low = {name: np.zeros(shape, np.int64) for name, shape in shapes.items()}
        widest = max((int(np.prod(shape)) for shape in shapes.values()), default=0)
        self._floats, self._integers = np.empty((2, widest)), np.empty(widest, np.int64)

    def add(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Adds arrays that have been checked: these names and shapes, finite, at most `LARGEST`."""
        if self.count >= MOST:
            raise OverflowError(f"a sum is of at most {MOST} clients")
        for name, high in self._high.items():
            scaled, whole = (part[: high.size].reshape(high.shape) for part in self._floats)
            integer = self._integers[: high.size].reshape(high.shape)
            np.multiply(arrays[name], _HIGH, out=scaled, dtype=np.float64)
            np.floor(scaled, out=whole)
            np.copyto(integer, whole, casting="unsafe")
            high += integer
            scaled -= whole
            scaled *= _LOW
            np.copyto(integer, scaled, casting="unsafe")
            self._low[name] += integer
        self.count += 1

    def value(self) -> dict[str, np.ndarray]:
        """Returns the sum so far, rounded once, to float32."""
        return {
            name: ((high.astype(np.float64) + self._low[name] / _LOW) / _HIGH).astype(np.float32)
            for name, high in self._high.items()
        }
