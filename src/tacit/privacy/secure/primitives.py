"""The cryptographic parts, with the labels that separate their uses. All of them are of the package `cryptography`.

Integers in labels are 4 bytes, big-endian. `context` is SHA-256 of the round's terms: it is the salt of every key, so
parties that do not agree on the terms share no keys. "/" below joins bytes, it is not part of them.

    mask key of i < j   HKDF(X25519(mask keys of i and j), salt context, info "tacit secure sum 1 mask" / i / j)
    self-mask key of i  HKDF(seed of i,                    salt context, info "tacit secure sum 1 self" / i)
    share key i → j     HKDF(X25519(share keys of i, j),   salt context, info "tacit secure sum 1 share" / i / j)
    seed commitment     SHA-256("tacit secure sum 1 seed" / context / i / seed)
    share digest        SHA-256("tacit secure sum 1 digest" / context / kind (1 byte) / i / j / share)

HKDF is RFC 5869 with SHA-256 and gives 32 bytes. Shares travel under AES-256-GCM with a nonce of twelve zeros: a share
key encrypts one message, once. The public mask keys of sender and receiver are its associated data: shares open only
where both clients know the same mask keys, otherwise their masks would not cancel.
"""

from __future__ import annotations

import hashlib
import struct

from tacit.base.errors import TacitError
from tacit.privacy.secure.errors import Refused

try:
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF
except ImportError:
    raise TacitError("secure sums need an extra package: pip install 'tacit[privacy]'") from None

KEY = 32  # bytes of a public, a private and a symmetric key
DIGEST = 32
TAG = 16  # bytes that AES-GCM adds
SEED_SHARE, KEY_SHARE = 0, 1  # kinds of shares
_LABEL = b"tacit secure sum 1 "
_NONCE = bytes(12)


def public_key(private: bytes) -> bytes:
    """Returns the X25519 public key of 32 private bytes (RFC 7748)."""
    return X25519PrivateKey.from_private_bytes(private).public_key().public_bytes_raw()


def agree(private: bytes, public: bytes) -> bytes:
    """Returns the X25519 secret that two parties share."""
    try:
        return X25519PrivateKey.from_private_bytes(private).exchange(
            X25519PublicKey.from_public_bytes(public)
        )
    except ValueError:  # a point of small order makes the secret 0, whatever the private key is
        raise Refused("a public key is a point of small order; its owner cannot take part") from None


def derive(secret: bytes, context: bytes, use: bytes, *ids: int) -> bytes:
    """Returns a key of 32 bytes for one use: HKDF-SHA256."""
    return HKDF(hashes.SHA256(), KEY, salt=context, info=info(use, *ids)).derive(secret)


def info(use: bytes, *ids: int) -> bytes:
    """Returns the label of a use and the clients it concerns."""
    return _LABEL + use + struct.pack(f">{len(ids)}I", *ids)


def mask_key(private: bytes, public: bytes, context: bytes, one: int, other: int) -> bytes:
    """Returns the key of the mask that two clients share; the order of the two does not matter."""
    return derive(agree(private, public), context, b"mask", min(one, other), max(one, other))


def self_key(seed: bytes, context: bytes, client: int) -> bytes:
    """Returns the key of a client's own mask."""
    return derive(seed, context, b"self", client)


def share_key(private: bytes, public: bytes, context: bytes, sender: int, receiver: int) -> bytes:
    """Returns the key under which a sender's shares travel to a receiver."""
    return derive(agree(private, public), context, b"share", sender, receiver)


def seed_commitment(seed: bytes, context: bytes, client: int) -> bytes:
    """Returns the hash by which the server recognises a reconstructed seed."""
    return hashlib.sha256(_LABEL + b"seed" + context + struct.pack(">I", client) + seed).digest()


def share_digest(share: bytes, context: bytes, kind: int, dealer: int, holder: int) -> bytes:
    """Returns the hash by which the server recognises a single share."""
    return hashlib.sha256(
        _LABEL + b"digest" + context + struct.pack(">BII", kind, dealer, holder) + share
    ).digest()


def seal(key: bytes, plain: bytes, known: bytes) -> bytes:
    """Encrypts the one message of a key, bound to what both parties know."""
    return AESGCM(key).encrypt(_NONCE, plain, known)


def unseal(key: bytes, sealed: bytes, known: bytes) -> bytes | None:
    """Decrypts a message; None if it was not made with this key, or by one who knows something else."""
    try:
        return AESGCM(key).decrypt(_NONCE, sealed, known)
    except InvalidTag:
        return None


def key_stream(key: bytes, block: int) -> CipherContext:
    """Returns AES-256-CTR from a counter block on: what it makes of zeros is the stream itself."""
    return Cipher(algorithms.AES256(key), modes.CTR(block.to_bytes(16))).encryptor()
