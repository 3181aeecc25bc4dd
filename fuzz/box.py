"""A box for each trial: the command's own directory, and around it files that nobody may touch.

    BOX/work      the current directory of the trial; its files, too, must stay, except those that are the command's
    BOX/home      HOME; new files are allowed (caches), old ones must stay
    BOX/tmp       TMPDIR, likewise
    BOX/outside   what hostile input tries to reach: read, replace or delete
    BOX/endless.toml   a device that can be read for ever

Every file is recorded before and after: kind, mode, size, time, content.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from fuzz.trial import Fault

State = dict[str, tuple[object, ...]]
SECRET = "the secret of the xylophone"


class Box(NamedTuple):
    """Where a trial happens."""

    root: Path

    @property
    def work(self) -> Path:
        """The current directory of the trial."""
        return self.root / "work"

    @property
    def home(self) -> Path:
        """HOME of the trial's processes."""
        return self.root / "home"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the trial's processes."""
        return self.root / "tmp"

    @property
    def outside(self) -> Path:
        """Files of somebody else."""
        return self.root / "outside"

    @property
    def endless(self) -> Path:
        """A device of its own that can be read for ever; without the right to make one, a link to the real one."""
        return self.root / "endless.toml"


def make(root: Path) -> Box:
    """Makes a box with its canaries."""
    box = Box(root)
    for folder in (box.work, box.home / "documents", box.temporary, box.outside / "docs" / "results"):
        folder.mkdir(parents=True, exist_ok=True)
    box.temporary.chmod(0o1777)
    for path, content in {
        box.home / "documents" / "letter.txt": SECRET,
        box.home / ".bashrc": "# nothing\n",
        box.outside / "secret.jsonl": f'{{"user": "eve", "text": "{SECRET}"}}\n',
        box.outside / "page.html": "<p>somebody's page\n",
        box.outside / "model.tacit": "not a model\n",
        box.outside / "summary.json": "{}\n",
        box.outside / "config.toml": "format = 2\n",
        box.outside / "docs" / "results.md": "# Somebody's results\n",
        box.outside / "docs" / "results" / "drawing.svg": "<svg/>\n",
        box.outside / "gzip.py": "raise SystemExit('a foreign module was imported')\n",
    }.items():
        path.write_text(content, "utf-8")
    if not (box.outside / "link").is_symlink():
        (box.outside / "link").symlink_to("secret.jsonl")
    if not os.path.lexists(box.endless):
        if os.geteuid() == 0:
            os.mknod(box.endless, stat.S_IFCHR | 0o444, os.makedev(1, 5))
        else:
            box.endless.symlink_to("/dev/zero")
    return box


def empty(box: Box) -> None:
    """Removes what a trial made; the canaries stay."""
    for folder in (box.work, box.temporary):
        for path in folder.iterdir():
            remove(path)


def remove(path: Path) -> None:
    """Removes a file or a tree, also one that may not be written."""
    if path.is_symlink() or not path.is_dir():
        path.unlink()
        return
    with suppress(OSError):
        path.chmod(0o700)
    for folder, names, _ in os.walk(path):
        for name in names:
            with suppress(OSError):
                (Path(folder) / name).chmod(0o700)
    shutil.rmtree(path)


def state(folder: Path, ours: Sequence[Path] = ()) -> State:
    """Returns what is in a folder, by path; what is `ours` is left out, as are times of directories."""
    entries: State = {}
    for path in _walk(folder, frozenset(map(str, ours))):
        status = path.lstat()
        kind = stat.S_IFMT(status.st_mode)
        if stat.S_ISLNK(kind):
            entries[str(path)] = (kind, str(path.readlink()))
        elif stat.S_ISREG(kind):
            content = hashlib.blake2b(path.read_bytes()).digest() if status.st_size < 1 << 20 else b""
            entries[str(path)] = (status.st_mode, status.st_ino, status.st_size, status.st_mtime_ns, content)
        else:
            entries[str(path)] = (status.st_mode, status.st_ino)
    return entries


def _walk(folder: Path, ours: frozenset[str]) -> Iterator[Path]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.path in ours:
            continue
        yield Path(entry.path)
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path), ours)


@contextmanager
def untouched(box: Box, ours: Sequence[Path] = ()) -> Iterator[None]:
    """Raises a fault if a file changes that is not `ours`: paths that the command may make, change or remove.

    New files in HOME and TMPDIR are allowed.
    """
    before = state(box.root, ours)
    yield
    check_untouched(box, before, ours)


def check_untouched(box: Box, before: State, ours: Sequence[Path] = ()) -> None:
    """Raises a fault if the box differs from a state of it."""
    after = state(box.root, ours)
    if before == after:
        return
    free = (str(box.home) + os.sep, str(box.temporary) + os.sep)
    for path in sorted({*before, *after}):
        told = path.removeprefix(str(box.root) + os.sep)
        if path not in after:
            raise Fault("foreign", f"{told} was removed")
        if path not in before and not path.startswith(free):
            raise Fault("foreign", f"{told} was made, which is not the command's to make")
        if path in before and before[path] != after[path]:
            raise Fault("foreign", f"{told} was changed")
