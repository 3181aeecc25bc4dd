"""Files that are written whole or not at all, directories of results, locks, and logs of JSON lines.

Nothing here needs JAX: a keyboard reads and writes files, too. Parameters are in `tacit.runs.checkpoints`.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def write_atomic(path: Path, data: bytes | str) -> None:
    """Writes a file whole: a reader, or a power cut, finds the old file or the new one, never half of one."""
    if not path.name:
        raise TacitError(f"cannot write {path}: it is a directory; choose another --out")
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")  # another process may write it, too
    content = data.encode("utf-8") if isinstance(data, str) else data
    try:
        with part.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):  # there may be no place for it at all
            part.unlink()
        raise cannot_write(path, error, len(content)) from None


def cannot_write(path: Path, error: OSError, wanted: int = 0) -> TacitError:
    """Returns the error for a file that could not be written."""
    reason = error.strerror or str(error)
    try:
        free = shutil.disk_usage(path.parent).free
        room = f" ({wanted:,} bytes wanted, {free:,} free)" if wanted > free else ""
    except OSError:
        room = ""
    return TacitError(
        f"cannot write {path}: {reason}{room}; nothing half-written was left, free some space or "
        "choose another --out"
    )


@contextlib.contextmanager
def all_or_nothing(out: Path) -> Iterator[Path]:
    """Gives a temporary folder whose files move into `out` when all of them are written, summary.json last.

    On an error none of them moves: `out` stays what it was.
    """
    new = not out.exists()
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out, prefix=".part-") as name:
            folder = Path(name)
            yield folder
            files = [file for file in folder.rglob("*") if file.is_file()]
            for file in sorted(files, key=lambda file: (file.name == "summary.json", file)):
                place = out / file.relative_to(folder)
                place.parent.mkdir(exist_ok=True)
                file.replace(place)
    except OSError as error:
        raise cannot_write(out, error) from None
    finally:
        if new:
            with contextlib.suppress(OSError):  # fails where files were moved in: all is well
                out.rmdir()


def holds_nothing(out: Path) -> bool:
    """Whether there is nothing at `out`, or a directory with nothing but what an interrupted command may leave."""
    if not out.exists():
        return True
    return out.is_dir() and all(p.suffix == ".part" or p.name.startswith(".part-") for p in out.iterdir())


def check_file(out: Path, suffix: str) -> None:
    """Refuses to replace a file of another kind: it belongs to somebody else, or to a run."""
    if out.is_file() and out.suffix != suffix:
        raise TacitError(f"{out} exists and is not a {suffix} file; choose another --out")


def check_out(out: Path, reusable: Callable[[Path], bool], why: str) -> None:
    """Refuses, before any work, a directory that cannot be written or whose content must stay.

    `reusable` says whether a directory with something in it may be written again; `why` ends the error if not.
    """
    if not holds_nothing(out) and not reusable(out):
        raise TacitError(f"{out} {why}; choose another --out")
    above = next(p for p in (out, *out.absolute().parents) if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise TacitError(
            f"cannot write {out}: {above} is not a directory that may be written; choose another --out"
        )


@contextlib.contextmanager
def held(directory: Path) -> Iterator[None]:
    """Locks a directory for this process; a second process on the machine gets an error at once.

    The lock ends with the process and leaves no file. Systems and file systems without locks have no lock.
    """
    if fcntl is None:
        yield
        return
    number = os.open(directory, os.O_RDONLY)
    try:
        try:
            fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TacitError(
                f"{directory}: another process is using it; wait for it, or choose another --out"
            ) from None
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                raise TacitError(
                    f"{directory}: cannot be locked ({error.strerror}); choose another --out"
                ) from None
        yield
    finally:
        os.close(number)


def append_line(path: Path, record: Mapping[str, Any]) -> None:
    """Appends one JSON line to a log and flushes it to disk; a line that does not fit is removed again."""
    line = (json.dumps(record, sort_keys=True) + "\n").encode("utf-8")
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
    """Reads the JSON lines of a log; a last line that a crash cut short is left out."""
    if not path.is_file():
        return []
    records: list[dict[str, Any]] = []
    lines = path.read_bytes().split(b"\n")  # the last piece is empty, or a line cut short
    for number, line in enumerate(lines[:-1], start=1):
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        if not isinstance(record, dict) or not isinstance(record.get("round"), int):
            raise TacitError(
                f"{path}, line {number}: not a line written by Tacit; restore the file or train again"
            )
        records.append(record)
    return records


def to_json(value: Any) -> str:
    """Returns a value as JSON that every reader takes: a number that is not finite becomes null.

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
