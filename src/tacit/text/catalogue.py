"""Finds and downloads the public corpora that `corpora` lists.

Tacit ships no corpus. `get` downloads a corpus whose files have a URL. For the others an error names the source, and
the user provides the file. Both are stored as `<data dir>/<folder>/<file>`, plain or with `.gz` added, where `resolve`
finds them by name.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import http.client
import io
import os
import shutil
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tacit.base import consent
from tacit.base.errors import TacitError, nearest, shown
from tacit.base.files import sync
from tacit.base.locks import claimed
from tacit.text.corpora import ENTRIES, Entry, File


def entries() -> tuple[Entry, ...]:
    """Returns all known corpora, in display order.

    >>> [e.name for e in entries()][:3]
    ['ptb', 'wikitext-2', 'nus-sms']
    """
    return ENTRIES


def find(name: str) -> Entry:
    """Returns the corpus of that name.

    >>> find("ptb").counts["types"]
    9999
    """
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise TacitError(f"no known corpus is called '{name}'{nearest(name, (e.name for e in ENTRIES))}")


def get(name: str, target_dir: Path) -> Path:
    """Downloads a corpus by name into `target_dir`, checks it and returns the path to read it from."""
    return fetch(find(name), target_dir)


def data_directory(given: Path | None = None) -> Path:
    """Returns the directory of known corpora: the one given, else TACIT_DATA, else ~/.cache/tacit."""
    named = os.environ.get("TACIT_DATA")
    if given or named:
        return given or Path(str(named))
    home = user_path("~")
    if not home.is_absolute():
        raise TacitError(
            "there is no home directory to keep known corpora in (HOME is not set); give --data DIR or set TACIT_DATA"
        )
    return home / ".cache" / "tacit"


def user_path(given: str) -> Path:
    """Expands `~` in a path; `~unknownuser` is taken literally. To open it, use `opened_path` or `resolve`."""
    try:
        return Path(given).expanduser()
    except RuntimeError:
        return Path(given)


def opened_path(given: str) -> Path:
    """Returns a path that is about to be opened; refuses one that only a run directory names."""
    path = user_path(given)
    try:
        exists = path.exists()
    except OSError as error:  # a name that is too long
        raise TacitError(f"{shown(given)} cannot be opened ({error.strerror})") from None
    if exists:
        consent.check(given, path)
    return path


def resolve(name_or_path: str, data_dir: Path | None = None) -> Path:
    """Returns the path of a corpus given by path or by name; a name is looked up in the data directory."""
    path = opened_path(name_or_path)
    if path.exists():
        return path
    return _known(name_or_path, path, data_dir)


def _known(name_or_path: str, path: Path, data_dir: Path | None) -> Path:
    if all(entry.name != name_or_path for entry in ENTRIES):
        if path.suffix or len(path.parts) > 1:
            raise TacitError(f"{path}: no such file or directory; `tacit data list` names known corpora")
        hint = nearest(name_or_path, ("typists", *(e.name for e in ENTRIES)))
        raise TacitError(f"'{name_or_path}' is neither a path nor a known corpus{hint}")
    entry = find(name_or_path)
    root = data_directory(data_dir)
    located = locate(entry, root)
    if located is None:
        raise TacitError(f"'{entry.name}' is not in {root}; {_how(entry)}")
    return located


def same_corpus(one: str, other: str, data_dir: Path | None = None) -> bool:
    """Returns whether two names or paths refer to the same corpus.

    >>> same_corpus("ptb", "ptb"), same_corpus("typists", "ptb")
    (True, False)
    """
    if one == other or "typists" in (one, other):
        return one == other
    try:
        paths = [
            path if (path := user_path(name)).exists() else _known(name, path, data_dir)
            for name in (one, other)
        ]
        return paths[0].samefile(paths[1])
    except (TacitError, OSError):  # one of them is missing, which reading it will report
        return False


def aside(name_or_path: str) -> tuple[str, ...]:
    """Returns the users to exclude from a known corpus; nobody is excluded from a file given by its path.

    >>> "nus-unassigned" in aside("nus-sms"), aside("ptb")
    (True, ())
    """
    known = {entry.name: entry.aside for entry in ENTRIES}
    return () if user_path(name_or_path).exists() else known.get(name_or_path, ())


def opened(path: Path) -> IO[bytes]:
    """Opens a file for reading and unpacks it if it is gzipped."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return io.BufferedReader(gzip.GzipFile(path)) if zipped else path.open("rb")


def locate(entry: Entry, root: Path) -> Path | None:
    """Returns the path of a corpus under `root`: its file, or the directory if it has several; None if missing."""
    paths = [_present(file, root / entry.folder) for file in entry.files]
    if any(path is None for path in paths):
        return None
    return paths[0] if len(paths) == 1 else root / entry.folder


def fetch(entry: Entry, target_dir: Path) -> Path:
    """Downloads the files of a corpus, checks each and moves them into place; keeps files that are already correct.

    A file of that name with other content is somebody's own: it is refused.
    """
    folder = target_dir / entry.folder
    missing = [file for file in entry.files if not _right(file, folder)]
    for file in missing:
        if other := _present(file, folder):
            raise TacitError(
                f"{other}: this is not {file.name} of '{entry.name}' (its sha256 differs); move it elsewhere, or give "
                "another --data"
            )
        if not file.address:
            raise TacitError(f"'{entry.name}' has no direct file address; {_by_hand(entry)}")
    new = [path for path in (folder, *folder.parents) if not path.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            stack.callback(_remove_empty, new)
            scratch = claimed(folder / entry.name, stack)
            stack.callback(shutil.rmtree, scratch, ignore_errors=True)
            for file in missing:
                _unpack(entry, file, scratch)
            # Moved only after all of them are checked; each move is atomic.
            for file in missing:
                (scratch / file.name).replace(folder / file.name)
            sync(folder)
    except OSError as error:
        raise TacitError(
            f"{folder}: cannot write there ({error.strerror or error}); give another directory"
        ) from None
    path = locate(entry, target_dir)
    assert path is not None
    return path


def _remove_empty(folders: Sequence[Path]) -> None:
    """Removes those of these folders that are empty, the innermost first: nothing was downloaded into them."""
    with contextlib.suppress(OSError):
        for folder in folders:
            folder.rmdir()


def _unpack(entry: Entry, file: File, scratch: Path) -> None:
    """Downloads, unpacks and checks one file in `scratch`; downloads an archive shared by several files once."""
    download = scratch / hashlib.sha256(file.address.encode()).hexdigest()
    if not download.exists():
        _download(entry, file.address, download)
    try:
        with _content(file, download) as source, (scratch / file.name).open("wb") as target:
            digest = hashlib.sha256()
            while block := source.read(1 << 20):
                digest.update(block)
                target.write(block)
            target.flush()
            os.fsync(target.fileno())
    except (KeyError, zipfile.BadZipFile, EOFError, zlib.error, gzip.BadGzipFile) as error:
        reason = str(error).strip("\"'")
        raise TacitError(
            f"{file.address}: the download is not what was expected ({reason}); {_by_hand(entry)}"
        ) from None
    if digest.hexdigest() != file.sha256:
        raise TacitError(
            f"{file.address}: {file.name} has sha256 {digest.hexdigest()[:12]}…, not {file.sha256[:12]}…;"
            f" the source has changed or the download is damaged, nothing was kept; {_by_hand(entry)}"
        )


@contextmanager
def _content(file: File, download: Path) -> Iterator[IO[bytes]]:
    if file.member:
        with zipfile.ZipFile(download) as archive, archive.open(file.member) as source:
            yield source
    else:
        with opened(download) as source:
            yield source


def _download(entry: Entry, address: str, target: Path) -> None:
    """Downloads a file; turns each kind of network error into one line."""
    request = urllib.request.Request(address, headers={"User-Agent": "tacit"})
    try:
        with urllib.request.urlopen(request, timeout=30) as reply:
            body = _blocks(reply)
            with target.open("wb") as file:
                file.writelines(body)
    except urllib.error.HTTPError as error:
        error.close()  # it holds the connection
        raise TacitError(
            f"{address}: the server answered {error.code} {error.reason}; {_by_hand(entry)}"
        ) from None
    except urllib.error.URLError as error:
        raise TacitError(
            f"{address}: the network could not be reached ({error.reason}); {_by_hand(entry)}"
        ) from None
    except (http.client.HTTPException, ConnectionError, TimeoutError) as error:
        raise TacitError(
            f"{address}: the download broke off ({type(error).__name__}); try again, or {_by_hand(entry)}"
        ) from None


def _blocks(reply: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yields the body; raises an error, which urllib does not, if it is shorter than the server announced."""
    expected = reply.length
    received = 0
    while block := reply.read(1 << 16):
        received += len(block)
        yield block
    if expected is not None and received < expected:
        raise http.client.IncompleteRead(b"", expected - received)


def _how(entry: Entry) -> str:
    if all(file.address for file in entry.files):
        return f"run `tacit data get {entry.name}`, or pass --corpus PATH, {entry.layout}"
    return _by_hand(entry)


def _by_hand(entry: Entry) -> str:
    made = f" ({entry.made})" if entry.made else ""
    return f"fetch it by hand from {entry.source}, {entry.path}{made}, and pass --corpus PATH, {entry.layout}"


def _present(file: File, folder: Path) -> Path | None:
    for name in (file.name, file.name + ".gz"):
        if (folder / name).is_file():
            return folder / name
    return None


def _right(file: File, folder: Path) -> bool:
    """Returns whether the file is present, plain or gzipped, with the right content."""
    path = _present(file, folder)
    if path is None:
        return False
    digest = hashlib.sha256()
    try:
        with opened(path) as source:
            while block := source.read(1 << 20):
                digest.update(block)
    except (OSError, EOFError, zlib.error):
        return False
    return digest.hexdigest() == file.sha256
