"""Leaves a federation for good: overwrites the private key in the invitation by a note.

A running client checks its invitation, and ends when it finds the note. The journal stays. Flash memory writes to a new
place each time, so old bytes may survive until their space is reused. So the server can lock the key out, too
(`tacit federation remove`).
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

from tacit.base.errors import TacitError
from tacit.base.reading import read_object
from tacit.network import journal
from tacit.network.federation import FORMAT, LEFT, read_invitation


def leave(file: Path, journal_file: Path) -> str:
    """Destroys the key of an invitation and writes a note, there and in `journal_file`; returns the name."""
    name = read_invitation(file).name
    now = time.time()
    note = (
        json.dumps({"format": FORMAT, "name": name, LEFT: time.strftime("%Y-%m-%d", time.gmtime(now))}) + "\n"
    )
    try:
        overwrite(file, note.encode())
    except OSError as error:
        raise TacitError(
            f"cannot write {file}: {error.strerror}; make it writable, then leave again"
        ) from None
    journal.write(journal_file, now, {"task": "leave", "ended": "left the federation"})
    return name


def has_left(file: Path) -> bool:
    """Returns whether an invitation is the note of a client that has left."""
    try:
        return LEFT in read_object(file)
    except (OSError, ValueError):
        return False


def overwrite(file: Path, content: bytes = b"") -> None:
    """Overwrites a file in place up to its end, so that no freed block keeps the old content.

    It is a single write, padded with spaces, so a killed process has written all of it or nothing.
    """
    with file.open("r+b", buffering=0) as opened:
        size = os.fstat(opened.fileno()).st_size
        opened.write(content.ljust(size) if content else bytes(size))
        os.fsync(opened.fileno())
        opened.truncate(len(content))
        os.fsync(opened.fileno())
