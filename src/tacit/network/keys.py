"""Makes the certificates and keys of a federation, as PEM and OpenSSH text.

A federation has its own certificate authority, which signs only the certificate of its server. Every client has a key
pair on the curve P-384, by which Flower identifies its nodes.
"""

from __future__ import annotations

import datetime
import ipaddress
from typing import NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_der_public_key,
    load_ssh_private_key,
)
from cryptography.x509.oid import NameOID

from tacit.base.errors import TacitError

_DAYS = 10 * 365


class Pair(NamedTuple):
    """Holds a private key and the public part: a certificate, or an OpenSSH key."""

    private: bytes
    public: bytes


def client_keys() -> Pair:
    """Returns a new key pair of a client, in OpenSSH's format."""
    key = ec.generate_private_key(ec.SECP384R1())
    return Pair(
        key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption()),
        key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH),
    )


def public_of(private: str) -> str:
    """Returns the public key of a client's private key, in OpenSSH's format."""
    try:
        key = load_ssh_private_key(private.encode(), None)
    except (ValueError, UnsupportedAlgorithm):
        raise TacitError(
            "the invitation's key cannot be read; remove the invitation, then invite again"
        ) from None
    return key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def openssh(spki: bytes) -> str:
    """Returns a public key (SubjectPublicKeyInfo) in OpenSSH's format; refuses every key but one of P-384."""
    try:
        key = load_der_public_key(spki)
    except (ValueError, UnsupportedAlgorithm):
        raise TacitError("this is not a public key") from None
    if not isinstance(key, ec.EllipticCurvePublicKey) or key.curve.name != ec.SECP384R1().name:
        raise TacitError("this is not a key of the curve P-384, which clients have")
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def server_certificates(hosts: list[str]) -> tuple[bytes, Pair]:
    """Returns the certificate of a new authority, and one for a server with these names and addresses.

    The authority's key is not kept, so nobody can sign another server later. To rotate keys, make both again.
    """
    now = datetime.datetime.now(datetime.UTC)
    root, key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1())
    issuer = _name("Tacit federation")

    def certificate(
        subject: x509.Name, public: ec.EllipticCurvePublicKey, is_root: bool
    ) -> x509.CertificateBuilder:
        usage = x509.KeyUsage(not is_root, False, False, False, False, is_root, is_root, False, False)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(days=1))  # a clock may be behind
            .not_valid_after(now + datetime.timedelta(days=_DAYS))
            .add_extension(x509.BasicConstraints(is_root, 0 if is_root else None), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(root.public_key()), critical=False
            )
        )

    names = x509.SubjectAlternativeName([_general(host) for host in hosts])
    signed_root = certificate(issuer, root.public_key(), True).sign(root, hashes.SHA384())
    server = certificate(_name(hosts[0]), key.public_key(), False).add_extension(names, critical=False)
    signed = server.sign(root, hashes.SHA384())
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return signed_root.public_bytes(Encoding.PEM), Pair(private, signed.public_bytes(Encoding.PEM))


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text[:64])])


def _general(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
