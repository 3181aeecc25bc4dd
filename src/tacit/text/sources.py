"""Opens the files that a user names; what comes from a pipe is first copied to a temporary file.

A corpus is opened several times: for its kind, for its messages, and by `tacit distill` for its capitals. A pipe, such
as bash's `<(zcat messages.gz)`, can be read only once, so its bytes are kept until the process ends, in TMPDIR, in a
file without a name. A device or a socket is refused: it may never end.
"""

from __future__ import annotations

import io
import os
import shutil
import stat
import tempfile
from pathlib import Path
from typing import IO

from tacit.base.errors import TacitError

_copies: dict[
    tuple[int, int], IO[bytes]
] = {}  # what pipes held, by device and inode; open until the process ends


def opened(path: Path) -> io.BufferedReader:
    """Opens a file, or the copy of what a pipe held, for reading from its beginning."""
    facts = path.stat()
    if stat.S_ISREG(facts.st_mode):
        return path.open("rb")
    copy = _copy(path, facts)
    file = os.fdopen(os.dup(copy.fileno()), "rb")
    file.seek(0)
    return file


def read(path: Path) -> bytes:
    """Returns the bytes of a small file, or of what a pipe held."""
    with opened(path) as file:
        return file.read()


def size(path: Path) -> int:
    """Returns the bytes of a file, or of what a pipe held."""
    facts = path.stat()
    return facts.st_size if stat.S_ISREG(facts.st_mode) else os.fstat(_copy(path, facts).fileno()).st_size


def _copy(path: Path, facts: os.stat_result) -> IO[bytes]:
    if not stat.S_ISFIFO(facts.st_mode):
        raise TacitError(f"{path}: is not a file but a {_kind(facts.st_mode)}; give a file or a pipe")
    key = facts.st_dev, facts.st_ino
    if key not in _copies:
        copy = tempfile.TemporaryFile()  # noqa: SIM115  # closed with the process
        with path.open("rb") as pipe:
            shutil.copyfileobj(pipe, copy)
        copy.flush()
        _copies[key] = copy
    return _copies[key]


def _kind(mode: int) -> str:
    return "directory" if stat.S_ISDIR(mode) else "socket" if stat.S_ISSOCK(mode) else "device"
