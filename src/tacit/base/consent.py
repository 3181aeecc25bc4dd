"""Decides whether Tacit may open a file that a run directory names outside itself.

A run directory may come from somebody else, and its config.toml and summaries name paths: the corpus, a supplement, a
word list. If Tacit opened them all, a run could read any file of this machine into a model. So such a path is opened
only with the user's consent:

- Training or distilling here is consent to the paths that the user named, and Tacit remembers it for this run. It
  keeps one line for each path, a sha256 of the path and the run's config.toml, in $XDG_STATE_HOME/tacit/given
  (default: ~/.local/state). A hash in the run directory would prove nothing, because its author could write it, too.
- `--trust` on the command line and `Run.trust()` in Python are consent to all paths of a run. It is remembered, too.
- A path given by an option, such as --corpus, needs no other consent.

A path that a run names is a `Named`, which is ordinary text until it is opened. Even with consent, only regular files
and directories are opened, because a pipe that nobody writes to would never end. Paths inside the run directory need
no consent.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path

from tacit.base.errors import TacitError

_now: set[str] = set()  # what the user has said in this process, for machines where nothing can be remembered


class Named(str):
    """A path, or the name of a known corpus, that a run directory names."""

    run: Path
    trusted: bool


def named(path: str, run: Path, config: bytes) -> Named:
    """Marks a path as named by the run whose config.toml has this content."""
    value = Named(path)
    value.run, value.trusted = run, _entry(path, config) in _remembered() | _now
    return value


def check(given: str, path: Path) -> None:
    """Refuses to open `path`, the value of `given`, if a run names it and the user has not consented."""
    if not isinstance(given, Named):
        return
    if not (path.is_file() or path.is_dir()):
        raise TacitError(f"{given.run} names {path}, which is neither a file nor a directory; restore it")
    if given.trusted or path.resolve().is_relative_to(given.run.resolve()):
        return
    raise TacitError(
        f"{given.run} was not made here, and names {path}, outside itself; to read that file add --trust (in Python, "
        "call Run.trust())"
    )


def remember(path: str, config: bytes) -> None:
    """Remembers the user's consent to this path for the run with this config.toml."""
    entry = _entry(path, config)
    _now.add(entry)
    if entry in _remembered() or (file := _file()) is None:
        return
    with contextlib.suppress(OSError):  # a home that cannot be written: the user will be asked again
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as lines:
            lines.write(f"{entry}\n")


def _entry(path: str, config: bytes) -> str:
    return hashlib.sha256(hashlib.sha256(config).digest() + os.fsencode(path)).hexdigest()


def _remembered() -> set[str]:
    file = _file()
    try:
        return set(file.read_text("utf-8").split()) if file and file.is_file() else set()
    except (OSError, ValueError):
        return set()


def _file() -> Path | None:
    """Returns the file of remembered paths; None on a machine without a home."""
    try:
        state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    except RuntimeError:
        return None
    return Path(state) / "tacit" / "given"
