"""Writes files whole or not at all, and logs of JSON lines.

Nothing here needs JAX, because a keyboard reads and writes files, too. `tacit.runs.checkpoints` writes parameters, and
`tacit.base.transaction` writes directories whole.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from tacit.base.errors import TacitError
from tacit.base.locks import lock, part_of, remove_leftover
from tacit.base.reading import is_figure, is_regular, parse

_WAIT = 5.0  # seconds that a writer waits for another one of the same file
_KINDS = {
    stat.S_IFLNK: "a symbolic link, which may lead to a file of others",
    stat.S_IFDIR: "a directory",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def write_atomic(path: Path, data: bytes | str, secret: bool = False) -> None:
    """Writes a file atomically: a reader, even after a power cut, finds the old file or the new one.

    Only a regular file is replaced. For a link that the user has named, callers use `followed` first. Only the owner
    can read a `secret` file.
    """
    check_own(path)
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        with _new_part(path) as (part, file):
            if secret:
                part.chmod(0o600)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
            part.replace(path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error, len(content)) from None


def followed(out: Path) -> Path:
    """Returns the file that a path of the user's leads to, links followed; refuses what is no regular file."""
    _check_kind(out, out.stat, "choose another --out")
    return Path(os.path.realpath(out)) if out.is_symlink() else out


def check_own(path: Path) -> None:
    """Refuses what Tacit cannot have made at a path where it writes a file: a link, a directory, a device, a FIFO.

    A directory of results may come from somebody else, and a link in it would lead to a file of others.
    """
    _check_kind(path, path.lstat, "remove it, or choose another --out")


def _check_kind(path: Path, look: Callable[[], os.stat_result], remedy: str) -> None:
    try:
        mode = look().st_mode
    except FileNotFoundError:
        return
    except OSError as error:
        raise cannot_write(path, error) from None
    if not stat.S_ISREG(mode):
        kind = _KINDS.get(stat.S_IFMT(mode), "no regular file")
        raise TacitError(f"cannot write {path}: it is {kind}; {remedy}")


def inside(folder: Path, name: str) -> Path:
    """Returns a place in a run directory that a command writes to by itself; refuses a link there."""
    path = folder / name
    if path.is_symlink():
        check_own(path)
    return path


@contextlib.contextmanager
def _new_part(target: Path) -> Iterator[tuple[Path, IO[bytes]]]:
    """Opens a new, locked file next to `target`, replaces what a killed process left, and removes it on an error."""
    part, until = part_of(target), math.inf
    while True:
        try:
            file = part.open("xb")
        except FileExistsError:
            is_removed = remove_leftover(part)
            if is_removed is None:
                part = part_of(target, secrets.token_hex(4))
            elif not is_removed and time.monotonic() > until:
                raise TacitError(
                    f"cannot write {target}: another process is writing it; wait for it"
                ) from None
            elif not is_removed:
                until = min(until, time.monotonic() + _WAIT)
                time.sleep(0.005)
            continue
        with file:
            try:
                lock(file.fileno())
                if not os.fstat(file.fileno()).st_nlink:
                    continue
            except BlockingIOError:  # another process took it for a leftover and is removing it
                continue
            try:
                yield part, file
            except BaseException:
                with contextlib.suppress(OSError):
                    part.unlink()
                raise
        return


def sync(directory: Path) -> None:
    """Flushes a directory, so that a new name in it survives a power cut, if the file system can."""
    with contextlib.suppress(OSError):
        number = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


def cannot_write(path: Path, error: OSError, wanted: int = 0) -> TacitError:
    """Returns the error for a file that could not be written."""
    reason = error.strerror or str(error)
    try:
        free = shutil.disk_usage(path.parent).free
        room = f" ({wanted:,} bytes needed, {free:,} free)" if wanted > free else ""
    except OSError:
        room = ""
    return TacitError(
        f"cannot write {path}: {reason}{room}; no half-written file is left, free some space or "
        "choose another --out"
    )


def check_file(out: Path, mark: bytes, what: str, option: str = "--out") -> Path:
    """Returns the file that a path of the user's leads to, links followed; an empty file, or none, is all right.

    Refuses a file that does not have `mark` in its first 1,000 bytes.
    """
    target = followed(out)
    try:
        with target.open("rb") as file:
            head = file.read(1000)
    except FileNotFoundError:
        return target
    except OSError as error:
        raise cannot_write(out, error) from None
    if head and mark not in head:
        raise TacitError(f"{out} exists and is not {what}; choose another {option}")
    return target


def make_folder(out: Path) -> None:
    """Makes the folder of a file that is about to be written, if it is missing."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(out, error) from None


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Appends one JSON line to a log and flushes it to disk; removes a line that does not fit on the disk."""
    line = (json.dumps(record, sort_keys=True) + "\n").encode("utf-8")
    check_own(path)
    try:
        with path.open("ab", buffering=0) as file:
            before = file.tell()
            try:
                if file.write(line) != len(line):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
                os.fsync(file.fileno())
            except OSError:
                file.truncate(before)
                raise
    except OSError as error:
        raise cannot_write(path, error, len(line)) from None


def read_lines(path: Path) -> list[dict[str, Any]]:
    """Reads the JSON lines of a log, each an object with a round; skips a last line that a crash cut short."""
    if not is_regular(path):
        return []
    records: list[dict[str, Any]] = []
    lines = path.read_bytes().split(b"\n")  # the last piece is empty, or a line cut short
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record = parse(line)
        except ValueError:
            record = None
        if (
            not isinstance(record, dict)
            or not (isinstance(record.get("round"), int) and record["round"] > 0)
            or not all(map(is_figure, record.values()))
        ):
            raise TacitError(
                f"{path}, line {number}: not a line written by Tacit; restore the file or train again"
            )
        records.append(record)
    return records


def to_json(value: Any) -> str:
    """Returns a value as standard JSON: a number that is not finite becomes null.

    >>> to_json({"b": float("nan"), "a": [1.5]})
    '{\\n "a": [\\n  1.5\\n ],\\n "b": null\\n}'
    """

    def plain(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [plain(v) for v in value]
        return None if isinstance(value, float) and not math.isfinite(value) else value

    return json.dumps(plain(value), indent=1, sort_keys=True, allow_nan=False)
