"""Secure sums once more, written from the documented layouts with other means: what the program is compared with.

X25519 is RFC 7748's ladder on Python's integers, HKDF is RFC 5869 on `hmac`, the AES stream is AES-ECB of counters,
Shamir's secret is found by Lagrange interpolation with fractions.
"""

from __future__ import annotations

import hashlib
import hmac
from fractions import Fraction
from functools import cache

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

LABEL = b"tacit secure sum 1 "
BASE = bytes([9]) + bytes(31)
FIELD = 2**256 + 297


@cache
def x25519(private: bytes, point: bytes) -> bytes:
    p = 2**255 - 19
    scalar = bytearray(private)
    scalar[0] &= 248
    scalar[31] = scalar[31] & 127 | 64
    k, u = int.from_bytes(scalar, "little"), int.from_bytes(point, "little") % 2**255
    x2, z2, x3, z3, swap = 1, 0, u, 1, 0
    for t in reversed(range(255)):
        bit = k >> t & 1
        if swap ^ bit:
            x2, x3, z2, z3 = x3, x2, z3, z2
        swap = bit
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        da, cb = d * a, c * b
        e = a * a - b * b
        x3, z3 = (da + cb) ** 2 % p, u * (da - cb) ** 2 % p
        x2, z2 = a * a * b * b % p, e * (a * a + 121665 * e) % p
    if swap:
        x2, z2 = x3, z3
    return (x2 * pow(z2, p - 2, p) % p).to_bytes(32, "little")


def hkdf(secret: bytes, salt: bytes, info: bytes, length: int = 32) -> bytes:
    key = hmac.digest(salt, secret, "sha256")
    made, block = b"", b""
    for i in range(1, length // 32 + 2):
        block = hmac.digest(key, block + info + bytes([i]), "sha256")
        made += block
    return made[:length]


def number(i: int, size: int = 4) -> bytes:
    return i.to_bytes(size, "big")


def mask(key: bytes, words: int) -> np.ndarray:
    blocks = b"".join(number(i, 16) for i in range(words // 2 + 1))
    stream = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update(blocks)
    return np.array(
        [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(words)], dtype=np.uint64
    )


def share(coefficients: list[int], x: int) -> int:
    return sum(c * x**i for i, c in enumerate(coefficients)) % FIELD


def interpolated(points: dict[int, int]) -> int:
    """The polynomial's value at 0, as a fraction, then modulo the prime."""
    value = Fraction(0)
    for x, y in points.items():
        term = Fraction(y)
        for other in points:
            if other != x:
                term *= Fraction(other, other - x)
        value += term
    return value.numerator * pow(value.denominator, -1, FIELD) % FIELD


class Party:
    """A client's secrets, from the bytes it drew, and what follows from them."""

    def __init__(self, me: int, drawn: list[bytes], context: bytes) -> None:
        self.me, self.context = me, context
        self.share_private, self.mask_private, self.seed = drawn[:3]
        half = (len(drawn) - 3) // 2
        polynomials = [int.from_bytes(c) % FIELD for c in drawn[3:]]
        self.key_polynomial = [int.from_bytes(self.mask_private), *polynomials[:half]]
        self.seed_polynomial = [int.from_bytes(self.seed), *polynomials[half:]]
        self.share_public, self.mask_public = (
            x25519(self.share_private, BASE),
            x25519(self.mask_private, BASE),
        )

    def info(self, use: bytes, *ids: int) -> bytes:
        return LABEL + use + b"".join(number(i) for i in ids)

    def mask_key(self, other: Party) -> bytes:
        low, high = sorted((self.me, other.me))
        shared = x25519(self.mask_private, other.mask_public)
        return hkdf(shared, self.context, self.info(b"mask", low, high))

    def self_key(self) -> bytes:
        return hkdf(self.seed, self.context, self.info(b"self", self.me))

    def share_key(self, other: Party) -> bytes:
        shared = x25519(self.share_private, other.share_public)
        return hkdf(shared, self.context, self.info(b"share", self.me, other.me))

    def sealed(self, other: Party) -> bytes:
        plain = b"".join(self.shares(other.me))
        return AESGCM(self.share_key(other)).encrypt(bytes(12), plain, self.mask_public + other.mask_public)

    def commitment(self) -> bytes:
        return hashlib.sha256(LABEL + b"seed" + self.context + number(self.me) + self.seed).digest()

    def shares(self, other: int) -> tuple[bytes, bytes]:
        """Of the seed and of the mask key, for a neighbour."""
        return (
            share(self.seed_polynomial, other + 1).to_bytes(33),
            share(self.key_polynomial, other + 1).to_bytes(33),
        )

    def digests(self, other: int) -> list[bytes]:
        return [
            hashlib.sha256(
                LABEL + b"digest" + self.context + bytes([kind]) + number(self.me) + number(other) + part
            ).digest()
            for kind, part in enumerate(self.shares(other))
        ]

    def masked(self, vector: np.ndarray, partners: list[Party]) -> np.ndarray:
        total = vector + mask(self.self_key(), len(vector))
        for other in partners:
            common = mask(self.mask_key(other), len(vector))
            total = total + common if self.me < other.me else total - common
        return total
