"""Starts Python processes that import from the same places as this one, and never from the current directory.

`python -m` puts the current directory first on the path, so a `gzip.py` next to a corpus would run. PYTHONPATH would
put package directories before the standard library. So a process is started with the option -P (no current directory)
and without PYTHONPATH, and its first line sets the path of this process.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import tacit


def start_python(
    module: str,
    function: str,
    arguments: Sequence[str] = (),
    stdin: int | IO[Any] | None = None,
    stdout: int | IO[Any] | None = None,
    stderr: int | IO[Any] | None = None,
    environment: Mapping[str, str] = os.environ,
) -> subprocess.Popen[bytes]:
    """Starts a process that calls a function of a module; the function finds the arguments in `sys.argv`.

    Ctrl-C at a terminal reaches only this process, which then stops the other.
    """
    program = f"import sys; sys.path[:] = {safe_path()!r}; from {module} import {function}; {function}()"
    return subprocess.Popen(
        [sys.executable, "-P", "-c", program, *arguments],
        env={name: value for name, value in environment.items() if name != "PYTHONPATH"},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,
    )


def safe_path() -> list[str]:
    """Returns the directories that this process imports from, without the current one (unless Tacit lies in it)."""
    package = Path(tacit.__file__).resolve().parents[1]
    unsafe = {Path.cwd().resolve()} - {package}
    return [path for path in sys.path if Path(path).is_absolute() and Path(path).resolve() not in unsafe]
