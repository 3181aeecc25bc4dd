"""Replaces a directory of results whole, for `tacit distill`, `personalize` and `count`.

A command writes all files into a hidden directory next to the result, `.NAME.tacit.part`, which it keeps locked while
it works. At the end the files are flushed to disk, and one call of the file system puts the directory into its place:

    nothing there, or an empty directory    rename(2)
    an earlier result                       renameat2(2) with RENAME_EXCHANGE; then the earlier one is removed

So a killed process leaves the old result or the new one, whole. Its hidden directory is no longer locked, and the next
command there removes it. If the file system cannot exchange directories (NFS, for example), the earlier result is moved
to `.NAME.tacit.old` first. If the process is killed before the second move, the next command moves it back.

A directory is replaced only if it is an earlier result: its summary.json has the right `format`, and it holds no file
that the command does not write.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from tacit.base.errors import TacitError
from tacit.base.files import cannot_write, sync
from tacit.base.locks import claimed, held, is_part, part_of, remove_leftovers
from tacit.base.reading import read_object

_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS
_AT_FDCWD = -100
_CANNOT_EXCHANGE = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP, errno.ENOTSUP)


class Kind(NamedTuple):
    """Describes a kind of result, and how to recognise it."""

    command: str  # that writes it
    format: str  # in its summary.json
    files: tuple[str, ...]  # its names and patterns


@contextlib.contextmanager
def transaction(out: Path, kind: Kind) -> Iterator[Path]:
    """Gives an empty folder that replaces `out` at the end; after an error `out` is unchanged.

    Refuses an `out` that holds anything but an earlier result of this kind, or that another process is writing.
    """
    place = check(out, kind)
    new = [above for above in place.parents if not above.exists()]
    locked: list[os.stat_result] = []  # directories of this process, wherever they are moved
    folder = part_of(place)
    with contextlib.ExitStack() as locks:
        try:
            try:
                place.parent.mkdir(parents=True, exist_ok=True)
                folder = claimed(place, locks, out)
                locked.append(folder.stat())
                is_old = _earlier(place, out, locks)
                if is_old:
                    locked.append(place.stat())
                remove_leftovers(place.parent)
            except OSError as error:
                raise cannot_write(out, error) from None
            check(out, kind)  # again, now that nobody else can change it
            yield folder
            if is_old != place.exists():
                raise TacitError(f"{out} was created or removed while the command ran; run the command again")
            try:
                _flush(folder)
                if is_old:
                    shutil.copymode(place, folder)
                _swap(folder, place)
                sync(place.parent)
            except OSError as error:
                raise cannot_write(out, error) from None
        finally:  # before the locks end
            if folder.is_dir() and any(os.path.samestat(folder.stat(), one) for one in locked):
                shutil.rmtree(folder, ignore_errors=True)
            for above in new:
                with contextlib.suppress(OSError):  # fails where the result is: all is well
                    above.rmdir()


def check(out: Path, kind: Kind) -> Path:
    """Refuses a directory that cannot be written or is no earlier result; returns it, with links followed."""
    place = Path(os.path.realpath(out))
    if not holds_nothing(place):
        if not place.is_dir() or summary_of(place, kind) is None:
            raise TacitError(f"{out} exists and was not left by `{kind.command}`; choose another --out")
        if foreign := _foreign(place, kind):
            raise TacitError(
                f"{out} holds {foreign}, which `{kind.command}` did not write; move it elsewhere or "
                "choose another --out"
            )
    if place.exists() and Path(os.path.realpath(os.curdir)).is_relative_to(place):
        raise TacitError(f"{out} is the current directory, which is replaced whole; choose another --out")
    if os.path.ismount(place):
        raise TacitError(f"cannot write {out}: it is a mount point; choose a directory in it as --out")
    above = next(p for p in place.parents if p.exists())
    if not above.is_dir() or not os.access(above, os.W_OK):
        raise TacitError(f"cannot write {out}: {above} is not a writable directory; choose another --out")
    return place


def holds_nothing(out: Path) -> bool:
    """Returns whether `out` is missing, or a directory that is empty but for leftovers of a killed command."""
    if not out.exists():
        return True
    return out.is_dir() and all(is_part(path) for path in out.iterdir())


def summary_of(out: Path, kind: Kind) -> dict[str, Any] | None:
    """Returns the summary in a directory of this kind; None in any other."""
    try:
        summary = read_object(out / "summary.json")
    except (OSError, ValueError):
        return None
    return summary if summary.get("format") == kind.format else None


def _foreign(place: Path, kind: Kind) -> str:
    """Returns the name of a file in a directory that this kind does not have; "" if there is none."""
    folders = {str(PurePath(pattern).parent) for pattern in kind.files}
    for root, names, files in os.walk(place):
        for name in sorted([*names, *files]):
            path = Path(root, name)
            inside, mode = path.relative_to(place), path.lstat().st_mode
            is_file = stat.S_ISREG(mode) and (is_part(path) or any(inside.match(p) for p in kind.files))
            if not is_file and not (stat.S_ISDIR(mode) and str(inside) in folders):
                return str(inside)
    return ""


def _earlier(place: Path, out: Path, locks: contextlib.ExitStack) -> bool:
    """Locks the directory that is to be replaced; False if there is none.

    If a killed process moved it aside, it is moved back, or removed if the new directory is in place.
    """
    aside = _aside(place)
    if not place.exists() and aside.is_dir():
        aside.rename(place)
    if not place.exists():
        return False
    locks.enter_context(held(place, out))
    if aside.is_dir():
        shutil.rmtree(aside)
    return True


def _flush(folder: Path) -> None:
    """Flushes every file of a folder to disk, and the folders."""
    for root, _, files in os.walk(folder, topdown=False):
        for name in files:
            with Path(root, name).open("rb") as file:
                os.fsync(file.fileno())
        sync(Path(root))


def _swap(folder: Path, place: Path) -> None:
    """Moves the folder to its place; an earlier result is then where the folder was."""
    if not place.exists() or not any(place.iterdir()):
        folder.rename(place)
    elif not _exchanged(folder, place):
        aside = _aside(place)
        place.rename(aside)
        folder.rename(place)
        shutil.rmtree(aside, ignore_errors=True)


def _exchanged(one: Path, other: Path) -> bool:
    """Exchanges two directories in one step; returns False if the system or the file system cannot."""
    sys.audit("os.rename", str(one), str(other), -1, -1)
    if os.name != "posix":
        return False
    library = ctypes.CDLL(None, use_errno=True)
    paths = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        failed = library.renameat2(_AT_FDCWD, paths[0], _AT_FDCWD, paths[1], ctypes.c_uint(_EXCHANGE))
    elif hasattr(library, "renamex_np"):
        failed = library.renamex_np(*paths, ctypes.c_uint(_EXCHANGE))
    else:
        return False
    number = ctypes.get_errno()
    if failed and number not in _CANNOT_EXCHANGE:
        raise OSError(number, os.strerror(number), str(other))
    return not failed


def _aside(place: Path) -> Path:
    return place.with_name(f".{place.name}.tacit.old")
