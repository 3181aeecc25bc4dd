"""Calls a function at every point at which this process writes below a folder; `die` kills it there, as kill -9 would.

A write point is the moment before a file is opened for writing, flushed to disk, renamed, linked, shortened or removed,
or its mode is changed, and before a directory is made or removed. Python reports these calls to an audit hook, from
any library; only `os.fsync` is wrapped. Paths that are relative to an open directory count, too: `shutil.rmtree`
removes files that way.
"""

from __future__ import annotations

import os
import signal
import stat
from collections.abc import Callable
from pathlib import Path
from sys import addaudithook
from typing import Any, NamedTuple

_PATHS = {  # the audit events that change files: where in their arguments a path is, and its directory's number
    "os.rename": ((0, 2), (1, 3)),
    "os.remove": ((0, 1),),
    "os.mkdir": ((0, 2),),
    "os.rmdir": ((0, 1),),
    "os.link": ((0, 2), (1, 3)),
    "os.symlink": ((1, 2),),
    "os.chmod": ((0, 2),),
    "os.truncate": ((0, None),),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


class Point(NamedTuple):
    """A write point."""

    number: int  # from 0
    what: str  # "open", "fsync", "rename", …
    file: int | None = None  # the file of an fsync
    safe: int = 0  # bytes of it that an earlier fsync has put on the disk


def watch(folder: Path, at: Callable[[Point], None]) -> None:
    """Calls `at` before every write below `folder`, from now to the end of this process."""
    root, fsync, points, is_busy = folder.resolve(), os.fsync, 0, False
    flushed: dict[tuple[int, int], int] = {}  # bytes of each file that are on the disk

    def name_of(number: int) -> Path:
        return Path(f"/proc/self/fd/{number}").readlink()

    def inside(path: Any, directory: int = -1) -> bool:
        named = name_of(path) if isinstance(path, int) else Path(os.fsdecode(path))
        place = (name_of(directory) / named if directory >= 0 else named).absolute()
        return place == root or (place.parent.resolve() / place.name).is_relative_to(root)

    def point(what: str, file: int | None = None, safe: int = 0) -> None:
        nonlocal points, is_busy
        is_busy = True  # what happens at a write point may itself write
        at(Point(points, what, file, safe))
        points, is_busy = points + 1, False

    def heard(event: str, arguments: tuple[Any, ...]) -> None:
        if is_busy:
            return
        if event == "open":
            path, mode, flags = arguments
            is_writing = bool(flags & _WRITING) or (mode is not None and bool(set(mode) & set("wax+")))
            if is_writing and path is not None and not isinstance(path, int) and inside(path):
                if not flags & os.O_TRUNC and Path(os.fsdecode(path)).is_file():  # what it holds is old
                    status = Path(os.fsdecode(path)).stat()
                    flushed[status.st_dev, status.st_ino] = status.st_size
                point("open")
        elif any(inside(arguments[i], -1 if k is None else arguments[k]) for i, k in _PATHS.get(event, ())):
            point(event.removeprefix("os."))

    def flush(file: Any) -> None:
        number = file if isinstance(file, int) else file.fileno()
        status = os.fstat(number)
        key = status.st_dev, status.st_ino
        if not is_busy and inside(number):
            point("fsync", number, min(flushed.get(key, 0), status.st_size))
        fsync(number)
        flushed[key] = status.st_size

    os.fsync = flush  # type: ignore[assignment]
    addaudithook(heard)


def die(point: Point, torn: bool = True) -> None:
    """Kills this process; with `torn`, a file first loses half of what is not yet on the disk, as in a power cut."""
    if torn and point.file is not None and stat.S_ISREG((status := os.fstat(point.file)).st_mode):
        half = point.safe + (status.st_size - point.safe) // 2
        os.truncate(f"/proc/self/fd/{point.file}", half)  # by name: it may be open for reading only
    os.kill(os.getpid(), signal.SIGKILL)


def install(root: str, kill_at: int, log: str) -> None:
    """Kills at the point `kill_at` below `root`, counted from 1 (0: never); `log` gets a line for each point."""
    journal = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def at(point: Point) -> None:
        os.write(journal, f"{point.number + 1} {point.what}\n".encode())
        if point.number + 1 == kill_at:
            die(point)

    watch(Path(root), at)
