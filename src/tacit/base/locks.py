"""Locks against a second process, and the hidden parts that a killed process leaves.

What is being written lies beside its place as `.NAME.tacit.part`, a file or a directory, and its process locks it. So
a part that nobody has locked is a leftover of a killed process, and may be removed. A lock ends with its process and
leaves no file. Systems and file systems without locks have no lock: there a leftover stays.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tacit.base.errors import TacitError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class InUse(TacitError):
    """Another process on the machine has the lock."""


_PART = ".tacit.part"
_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)


def part_of(path: Path, number: str = "") -> Path:
    """Returns where `path` is while it is written.

    >>> part_of(Path("runs/ngram")).name, part_of(Path("a.txt"), "7f").name
    ('.ngram.tacit.part', '.a.txt.7f.tacit.part')
    """
    return path.with_name(f".{path.name}{'.' if number else ''}{number}{_PART}")


def is_part(path: Path) -> bool:
    """Whether a name is that of something half-written."""
    return path.name.startswith(".") and path.name.endswith(_PART)


def there_are_locks() -> bool:
    """Whether this system has file locks."""
    return fcntl is not None


def lock(number: int) -> bool:
    """Locks an open file or directory; False where there are no locks, BlockingIOError if another process has it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return False
    return True


@contextlib.contextmanager
def held(directory: Path, name: Path | None = None) -> Iterator[bool]:
    """Locks a directory for this process; a second process on the machine gets an error at once.

    Yields whether there is a lock. `name` is the directory that the error names.
    """
    if fcntl is None:
        yield False
        return
    number, is_locked = _locked(directory, name or directory)
    try:
        yield is_locked
    finally:
        os.close(number)


def is_locked(directory: Path) -> bool:
    """Whether a process works in a directory at this moment; a missing one is free."""
    try:
        with held(directory):
            return False
    except InUse:
        return True
    except FileNotFoundError:
        return False


def _locked(directory: Path, name: Path) -> tuple[int, bool]:
    """Opens and locks a directory; opens it again if another process has replaced it meanwhile."""
    while True:
        number = os.open(directory, os.O_RDONLY)
        try:
            is_locked = lock(number)
            if os.path.samestat(os.fstat(number), directory.stat()):
                return number, is_locked
        except BlockingIOError:
            os.close(number)
            raise InUse(
                f"{name}: another process is using it; wait for it, or choose another --out"
            ) from None
        except OSError as error:
            os.close(number)
            if isinstance(error, FileNotFoundError):
                raise
            raise TacitError(f"{name}: cannot be locked ({error.strerror}); choose another --out") from None
        os.close(number)


@contextlib.contextmanager
def made_and_held(directory: Path) -> Iterator[None]:
    """Makes a directory and locks it; makes it again if another process has removed it in between."""
    with contextlib.ExitStack() as locks:
        while True:
            directory.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                locks.enter_context(held(directory))
                break
        yield


@contextlib.contextmanager
def waited_for(directory: Path, seconds: float = 60.0) -> Iterator[None]:
    """Makes and locks a directory for a short step; waits while another process has it."""
    end = time.monotonic() + seconds
    with contextlib.ExitStack() as locks:
        while True:
            try:
                locks.enter_context(made_and_held(directory))
                break
            except InUse:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)
        yield


def claimed(place: Path, locks: contextlib.ExitStack, name: Path | None = None) -> Path:
    """Returns the hidden folder beside `place`, new or emptied, locked until `locks` end.

    Where there are no locks it has a random name. `name` is what the error names if another process has it.
    """
    folder = part_of(place)
    while True:
        if folder.is_symlink():
            raise TacitError(f"{folder} is in the way; remove it")
        folder.mkdir(exist_ok=True)
        try:
            is_locked = locks.enter_context(held(folder, name or place))
        except FileNotFoundError:  # another process has finished with it meanwhile
            continue
        break
    if not is_locked:
        with contextlib.suppress(OSError):
            folder.rmdir()
        folder = part_of(place, secrets.token_hex(4))
        folder.mkdir()
    for left in folder.iterdir():  # by a killed process
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left)
        else:
            left.unlink()
    return folder


def remove_leftover(part: Path) -> bool | None:
    """Removes a part that no process has locked: True if removed, False if locked, None where there are no locks."""
    if fcntl is None:
        return None
    try:
        number = os.open(part, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    except OSError:  # a link or a socket
        raise TacitError(f"{part} is in the way; remove it") from None
    try:
        mode = os.fstat(number).st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
            raise TacitError(f"{part} is in the way; remove it")
        if not lock(number):
            return None
        if os.path.samestat(os.fstat(number), part.lstat()):
            if stat.S_ISDIR(mode):
                shutil.rmtree(part)
            else:
                part.unlink()
    except FileNotFoundError:  # its process has finished
        pass
    except BlockingIOError:
        return False
    finally:
        os.close(number)
    return True


def remove_leftovers(folder: Path) -> None:
    """Removes what killed processes left half-written in a folder."""
    for path in sorted(folder.iterdir()):
        if is_part(path):
            remove_leftover(path)
