"""Reads small files whole, and JSON in them; every failure is an OSError or a ValueError with a short reason.

Files of a run directory may be anything: a pipe that nobody writes to, JSON nested 100,000 deep, numbers of 5,000
digits. The caller catches these two errors and says what the file should be.
"""

from __future__ import annotations

import errno
import json
import os
import stat
from pathlib import Path
from typing import Any


def read_regular(path: Path) -> bytes:
    """Returns the bytes of a regular file; raises an OSError for anything else, without waiting for a pipe."""
    number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(number, "rb") as file:
        if not stat.S_ISREG(os.fstat(number).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        return file.read()


def is_regular(path: Path) -> bool:
    """Returns whether a regular file is at a path; False if no file can have this name, such as 300 letters."""
    try:
        return path.is_file()
    except OSError:
        return False


def parse(text: bytes | str) -> Any:
    """Parses JSON; raises a ValueError for anything that is not JSON, or that Python cannot hold.

    >>> parse("[" * 100_000)
    Traceback (most recent call last):
    ValueError: nested too deeply
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def read_object(path: Path) -> dict[str, Any]:
    """Returns the JSON object in a file; raises an OSError or a ValueError if there is none."""
    value = parse(read_regular(path))
    if not isinstance(value, dict):
        raise ValueError("it is not a table")
    return value


def is_figure(value: Any) -> bool:
    """Returns whether a value is an ordinary number: no bool, not NaN, small enough to compute with and print.

    >>> is_figure(1.5), is_figure(True), is_figure(float("nan")), is_figure(10**400), is_figure("1")
    (True, False, False, False, False)
    """
    return type(value) in (int, float) and -1e300 < value < 1e300
