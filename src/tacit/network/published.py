"""Publishes files through the gate, such as a new model for the clients, and fetches them on a client.

    GET /files/NAME             a file of the folder that `server --publish` named
    GET /files/manifest.json    {"files": {NAME: {"bytes": …, "sha256": …}}}

The folder is read once, when the server starts, and answers come from that copy in memory. So no path of a request is
looked up on disk, and later changes of the folder have no effect. Anybody who reaches the gate can read the files.
"""

from __future__ import annotations

import hashlib
import json
import re
import ssl
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import httpx

from tacit.base.errors import TacitError
from tacit.base.files import followed, write_atomic
from tacit.base.reading import parse
from tacit.network.federation import Invitation

MANIFEST = "manifest.json"
MOST_FILES, MOST_BYTES = 100, 256 * 2**20  # of all files together
NOTHING: Mapping[str, bytes] = MappingProxyType({})
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_LONG_MANIFEST = 64 * 1024
_LATE = 60.0  # seconds without a byte


class Listed(NamedTuple):
    """Describes a file of a manifest."""

    bytes: int
    sha256: str


def published(folder: Path) -> dict[str, bytes]:
    """Returns the content of every published path; refuses a folder with anything but plain files."""
    try:
        found = sorted(folder.iterdir())
        for file in found:
            if not _NAME.fullmatch(file.name) or file.name == MANIFEST:
                raise TacitError(
                    f"{file}: a published name is letters, digits, '.', '-' and '_', at most 100, and not {MANIFEST}; "
                    "rename it"
                )
            if file.is_symlink() or not file.is_file():
                raise TacitError(f"{file} is not a plain file; publish a folder of files only")
        size = sum(file.stat().st_size for file in found)
        if len(found) > MOST_FILES or size > MOST_BYTES:
            raise TacitError(
                f"{folder} holds {len(found)} files of {size:,} bytes; at most {MOST_FILES} files of {MOST_BYTES:,} "
                "bytes together can be published"
            )
        contents = {file.name: file.read_bytes() for file in found}
    except OSError as error:
        raise TacitError(f"cannot publish {folder}: {error.strerror}; give a folder of files") from None
    listed = {name: Listed(len(data), sha256(data))._asdict() for name, data in contents.items()}
    contents[MANIFEST] = (json.dumps({"files": listed}, indent=1) + "\n").encode()
    return {f"/files/{name}": data for name, data in contents.items()}


def sha256(data: bytes) -> str:
    """Returns the SHA-256 of bytes in hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def manifest(invitation: Invitation) -> dict[str, Listed]:
    """Returns the published files of a federation, by name."""
    try:
        said = parse(_get(invitation, MANIFEST, _LONG_MANIFEST))["files"]
        found = {
            name: Listed(one["bytes"], one["sha256"]) for name, one in said.items() if _NAME.fullmatch(name)
        }
        if not all(map(_is_listed, found.values())):
            raise ValueError
    except (ValueError, TypeError, KeyError, AttributeError):
        raise TacitError(
            f"{invitation.address} sends a manifest that cannot be read; ask its operator"
        ) from None
    return found


def _is_listed(one: Listed) -> bool:
    """Whether what a server says of a file can be so."""
    is_hash = isinstance(one.sha256, str) and re.fullmatch("[0-9a-f]{64}", one.sha256) is not None
    return is_hash and type(one.bytes) is int and 0 <= one.bytes <= MOST_BYTES


def fetch(invitation: Invitation, name: str, out: Path) -> Listed:
    """Writes a published file; refuses one that does not match the manifest, and then writes nothing."""
    if out.exists():
        raise TacitError(f"{out} exists; choose another --out")
    every = manifest(invitation)
    if name not in every:
        raise TacitError(
            f"{invitation.address} does not publish {name}; it publishes {', '.join(every) or 'nothing'}"
        )
    data = _get(invitation, name, every[name].bytes)
    if len(data) != every[name].bytes or sha256(data) != every[name].sha256:
        raise TacitError(f"{name} from {invitation.address} does not match the server's manifest; try again")
    write_atomic(followed(out), data)
    return every[name]


def _get(invitation: Invitation, name: str, most: int) -> bytes:
    """Returns a published file of at most so many bytes, from a server with a certificate of the authority."""
    url = f"https://{invitation.address}/files/{name}"
    try:
        trusted: Any = ssl.create_default_context(cadata=invitation.authority)
        with (
            httpx.Client(verify=trusted, trust_env=False, timeout=_LATE) as client,
            client.stream("GET", url) as answer,
        ):
            if answer.status_code == 404:
                raise TacitError(
                    f"{invitation.address} publishes {'nothing' if name == MANIFEST else f'no {name}'}"
                )
            answer.raise_for_status()
            parts, size = [], 0
            for part in answer.iter_raw():
                size += len(part)
                if size > most:
                    raise TacitError(
                        f"{name} from {invitation.address} is larger than the server's manifest says; try again"
                    )
                parts.append(part)
            return b"".join(parts)
    except (httpx.HTTPError, httpx.InvalidURL, ssl.SSLError) as error:
        raise TacitError(
            f"cannot fetch {name} from {invitation.address}: {error}; is the server running, and the invitation valid?"
        ) from None
