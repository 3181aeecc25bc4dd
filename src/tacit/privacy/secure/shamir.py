"""Shamir's secret sharing: any t shares give the secret, t − 1 give nothing (Shamir 1979).

The secret is the constant term of a random polynomial of degree t − 1 over the integers modulo p; a share is the
polynomial's value at x = 1, 2, …. p = 2²⁵⁶ + 297 is the smallest prime above 2²⁵⁶, so every 32 bytes are a secret. A
share is 33 bytes. All numbers are big-endian.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

from tacit.base.errors import TacitError

P = 2**256 + 297
SECRET = 32  # bytes
SHARE = 33  # bytes
COEFFICIENT = 48  # random bytes of a coefficient: reduced modulo p, its bias is below 2⁻¹²⁷

Random = Callable[[int], bytes]  # number of bytes → that many random bytes


def split(secret: bytes, xs: Sequence[int], threshold: int, random: Random) -> dict[int, bytes]:
    """Returns a share for each x. Takes (threshold − 1) · 48 random bytes: the coefficients of x, x², ….

    >>> shares = split(bytes(31) + b"7", [1, 2, 3], 2, lambda n: bytes(n - 1) + b"!")
    >>> join({x: shares[x] for x in (1, 3)}, 2)[-1:]
    b'7'
    """
    if len(secret) != SECRET:
        raise TacitError(f"a secret has {SECRET} bytes, not {len(secret)}")
    if not 1 <= threshold <= len(xs):
        raise TacitError(f"{len(xs)} shares cannot have the threshold {threshold}")
    if len(set(xs)) < len(xs) or not all(0 < x < 2**33 for x in xs):
        raise TacitError("shares need different places from 1 to 2³³ − 1")
    drawn = [int.from_bytes(random(COEFFICIENT)) % P for _ in range(threshold - 1)]
    coefficients = [int.from_bytes(secret), *drawn]

    def value(x: int) -> int:
        result = 0
        for c in reversed(coefficients):  # Horner's rule
            result = (result * x + c) % P
        return result

    return {x: value(x).to_bytes(SHARE) for x in xs}


def join(shares: Mapping[int, bytes], threshold: int) -> bytes:
    """Returns the secret from the first `threshold` shares by their places, by Lagrange's formula at 0."""
    if len(shares) < threshold:
        raise TacitError(f"{len(shares)} shares are too few: the threshold is {threshold}")
    xs = sorted(shares)[:threshold]
    secret = 0
    for x in xs:
        if not is_share(shares[x]):
            raise TacitError(f"the share at {x} is no number of the field")
        others = [other for other in xs if other != x]
        above, below = math.prod(others), math.prod(other - x for other in others)
        secret += int.from_bytes(shares[x]) * above * pow(below, -1, P)
    if (secret := secret % P) >= 2**256:
        raise TacitError("these shares do not belong to one secret of 256 bits")
    return secret.to_bytes(SECRET)


def is_share(share: bytes) -> bool:
    """Returns whether bytes are a number of the field, in the one way to write it."""
    return len(share) == SHARE and int.from_bytes(share) < P
