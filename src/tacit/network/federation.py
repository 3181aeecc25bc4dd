"""Makes and reads the directory of a federation, and its invitations.

    federation.json      host and port, and the clients in the order of their invitations
    ca.crt               the authority that clients trust
    server.crt, .key     the server's certificate; the key never leaves the directory
    clients/NAME.pub     the public key of an invited client
    flower/              Flower's own state
    runs/                orders of runs, and how they ended
    logs/

An invitation is a file for one client, with the server's address, the authority to trust, and the client's private key.
Anybody who has it can take part as that client, so it must be sent like a password. The server does not keep the
private key.

A browser is invited by a link instead. Its token works for one key: the browser makes a key, which cannot be exported,
and sends the public key with the token. It may send both again, in case the answer was lost. The directory keeps the
token's hash.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterator
from ipaddress import ip_address
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tacit.base.errors import TacitError, nearest, shown
from tacit.base.files import followed, write_atomic
from tacit.base.locks import waited_for
from tacit.base.reading import read_object, read_regular
from tacit.base.transaction import Kind, transaction

NAME = "federation.json"
FORMAT = 1
LEFT = "left"  # in place of an invitation's key, once its client has left for good: when
_FOLDERS = ("clients", "flower", "runs", "logs")
_KIND = Kind("tacit federation init", "", (NAME, "ca.crt", "server.crt", "server.key"))
_TOKEN = 24  # random bytes of a browser's token
_LABEL = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")
_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class Client(NamedTuple):
    """Holds an invited client; its place among them is its number, as in the simulator."""

    name: str
    public: str  # its key, in OpenSSH's format; "" for a browser that has not come yet
    removed: bool = False  # its key is locked out; its number is not given again
    token: str = ""  # SHA-256 of the token of an invited browser


class Federation(NamedTuple):
    """Holds the content of the directory."""

    place: Path
    host: str  # by which clients reach the server
    port: int  # of the gate
    clients: tuple[Client, ...]

    @property
    def address(self) -> str:
        """Where clients connect, as host:port."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Invitation(NamedTuple):
    """Holds what a client needs to take part."""

    name: str
    address: str
    authority: str  # PEM
    private: str  # OpenSSH


def init(place: Path, host: str = "127.0.0.1", port: int = 9092) -> Federation:
    """Makes the directory of a new federation."""
    from tacit.network.keys import server_certificates

    if place.exists() and (not place.is_dir() or any(place.iterdir())):
        raise TacitError(f"{place} exists and is not empty; choose another directory")
    if not _is_host(host):
        raise TacitError(
            f"--host {shown(host)} is neither a host name nor an address; write it like keyboards.example.org "
            "or 192.0.2.1"
        )
    authority, server = server_certificates(list(dict.fromkeys([host, "127.0.0.1", "localhost"])))
    made = Federation(place, host, port, ())
    with transaction(place, _KIND) as folder:
        folder.chmod(0o700)
        for name in _FOLDERS:
            (folder / name).mkdir()
        write_atomic(folder / "ca.crt", authority)
        write_atomic(folder / "server.crt", server.public)
        write_atomic(folder / "server.key", server.private, secret=True)
        _write(made._replace(place=folder))
    return made


def read(place: Path) -> Federation:
    """Reads the directory of a federation."""
    file = place / NAME
    if not file.is_file():
        raise TacitError(
            f"{place} is not a federation (it has no {NAME}); make one with `tacit federation init`"
        )
    for folder in _FOLDERS:
        if not (place / folder).is_dir():
            raise TacitError(f"{place} has no folder {folder}, which every federation has; restore it")
    try:
        said = read_object(file)
        if said.get("format") != FORMAT:
            raise ValueError(f"its format is {said.get('format')!r}, this version reads {FORMAT}")
        clients = tuple(
            Client(str(c["name"]), str(c["public"]), c.get("removed", False) is True, str(c.get("token", "")))
            for c in said["clients"]
        )
        host, port = said["host"], said["port"]
        if not isinstance(host, str) or type(port) is not int or not 0 < port < 1 << 16:
            raise ValueError("it has no host and port")
        return Federation(place, host, port, clients)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise TacitError(f"{file} is not as Tacit writes it ({error}); restore it") from None


def invite(place: Path, name: str, out: Path) -> Invitation:
    """Invites a client: writes the invitation, and registers the new key in it.

    If an earlier command was killed after it wrote the invitation, the key in that file is registered now.
    """
    from tacit.network.keys import client_keys, public_of

    with _changing(place):
        federation = read(place)
        authority = _authority(place / "ca.crt")
        given = Invitation(name, federation.address, authority, "")
        if out.exists():
            given = _unregistered(federation, given, out)
        _check_room(federation, name)
        if not given.private:
            given = given._replace(private=client_keys().private.decode())
            said = json.dumps({"format": FORMAT, **given._asdict()}, indent=1) + "\n"
            write_atomic(followed(out), said, secret=True)
        public = public_of(given.private)
        write_atomic(place / "clients" / f"{name}.pub", f"{public} {name}\n")
        _write(federation._replace(clients=(*federation.clients, Client(name, public))))
    return given


def _authority(file: Path) -> str:
    """Returns the certificate that clients trust."""
    try:
        return read_regular(file).decode("ascii")
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no PEM"
        raise TacitError(f"{file}: cannot be read ({why}); restore it") from None


def _unregistered(federation: Federation, wanted: Invitation, out: Path) -> Invitation:
    """Returns the invitation in a file, if only its key differs and no client has its name yet."""
    with contextlib.suppress(TacitError):
        found = read_invitation(out)
        is_known = found.name in [client.name for client in federation.clients]
        if found._replace(private="") == wanted and not is_known:
            return found
    raise TacitError(f"{out} exists; choose another --out")


def invite_browser(place: Path, name: str) -> str:
    """Invites a browser: returns a new token, with which one browser can register its key, once."""
    with _changing(place):
        federation = read(place)
        _check_room(federation, name)
        token = secrets.token_urlsafe(_TOKEN)
        _write(federation._replace(clients=(*federation.clients, Client(name, "", token=_hash(token)))))
    return token


def admit(place: Path, token: str, key: bytes) -> str:
    """Registers the public key (SubjectPublicKeyInfo) of the browser that has this token; returns its name.

    The same token with the same key gives the same name again: the browser may not have heard the first answer.
    """
    from tacit.network.keys import openssh

    public = openssh(key)
    with _changing(place):
        federation = read(place)
        given = _hash(token)
        place_of = [
            i for i, c in enumerate(federation.clients) if c.token and hmac.compare_digest(c.token, given)
        ]
        invited = federation.clients[place_of[0]] if place_of else None
        if invited is None or invited.removed or invited.public not in ("", public):
            raise TacitError("this invitation is not known, or was used before; ask for another")
        if invited.public:
            return invited.name
        if public in [client.public for client in federation.clients]:
            raise TacitError("this browser takes part already, by another invitation")
        clients = list(federation.clients)
        came = clients[place_of[0]] = invited._replace(public=public)
        write_atomic(place / "clients" / f"{came.name}.pub", f"{public} {came.name}\n")
        _write(federation._replace(clients=tuple(clients)))
    return came.name


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _check_room(federation: Federation, name: str) -> None:
    """Refuses a name that is not allowed or already taken."""
    if not _CLIENT.fullmatch(name):
        raise TacitError(f"a client's name is letters, digits, - and _, at most 64; {name!r} is not")
    if name in [client.name for client in federation.clients]:
        raise TacitError(f"{name} has been invited before; choose another name")


def remove(place: Path, name: str) -> None:
    """Locks a client's key out for good; a running server does so within a second or two."""
    with _changing(place):
        federation = read(place)
        known = [client.name for client in federation.clients if not client.removed]
        if name not in known:
            raise TacitError(f"{place} has no client {name!r}{nearest(name, known) if known else ''}")
        _write(
            federation._replace(
                clients=tuple(c._replace(removed=c.removed or c.name == name) for c in federation.clients)
            )
        )


def read_invitation(file: Path) -> Invitation:
    """Reads an invitation."""
    try:
        said = read_object(file)
        if LEFT in said:
            raise TacitError(
                f"{file}: this client has left the federation for good on {said[LEFT]}; to take part again, ask for "
                "another invitation"
            )
        if said.get("format") != FORMAT:
            raise ValueError(f"its format is {said.get('format')!r}, this version reads {FORMAT}")
        given = Invitation(*(said[name] for name in Invitation._fields))
        if not all(isinstance(part, str) and part for part in given):
            raise ValueError("a part is missing")
        if not given.authority.isascii():
            raise ValueError("its certificate is no PEM")
        if not _is_address(given.address):
            raise ValueError(f"{shown(given.address)} is not the address of a server, such as 192.0.2.1:9092")
    except KeyError as error:
        raise TacitError(f"{file} is not an invitation: it has no {error}; ask for another") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise TacitError(f"{file} is not an invitation ({why}); ask for another") from None
    return given


def _is_host(text: str) -> bool:
    """Whether a text is an address, or a host name of letters, digits and hyphens; the last part is no number.

    >>> [_is_host(text) for text in ("keyboards.example.org", "::1", "127.0.0.1", "127.1", "a..b", "-a", "a b")]
    [True, True, True, False, False, False, False]
    """
    try:
        return "%" not in text and bool(ip_address(text))
    except ValueError:
        parts = text.split(".")
        return len(text) < 254 and all(map(_LABEL.fullmatch, parts)) and not parts[-1].isdigit()


def _is_address(text: str) -> bool:
    """Returns whether a text is HOST:PORT; an IPv6 address stands in brackets."""
    try:
        parts = urlsplit(f"//{text}")
        return bool(parts.hostname and parts.port) and parts.netloc == text and "@" not in text
    except ValueError:
        return False


@contextlib.contextmanager
def _changing(place: Path) -> Iterator[None]:
    """Waits until no other process changes the clients: two browsers may join in the same moment."""
    read(place)  # refuses what is no federation
    with waited_for(place / "clients"):
        yield


def _write(federation: Federation) -> None:
    said: dict[str, Any] = {"format": FORMAT, **federation._asdict()}
    del said["place"]
    said["clients"] = [client._asdict() for client in federation.clients]
    write_atomic(federation.place / NAME, json.dumps(said, indent=1) + "\n")
