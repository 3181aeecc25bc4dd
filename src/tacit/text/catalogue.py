"""Finding and fetching the public corpora that `corpora` lists.

Nothing here is shipped. A corpus with a direct file address can be fetched by `get`; the others tell
where their source is, and the user brings the file. Either way it lies as `<data dir>/<folder>/<file>`,
plain or with `.gz` added, and `resolve` finds it there by name.
"""

from __future__ import annotations

import gzip
import hashlib
import http.client
import io
import os
import tempfile
import urllib.error
import urllib.request
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from tacit.base.errors import TacitError, nearest
from tacit.text.corpora import ENTRIES, Entry, File


def entries() -> tuple[Entry, ...]:
    """All known corpora, in reading order.

    >>> [e.name for e in entries()][:3]
    ['ptb', 'wikitext-2', 'nus-sms']
    """
    return ENTRIES


def find(name: str) -> Entry:
    """The corpus of that name.

    >>> find("ptb").counts["types"]
    9999
    """
    for entry in ENTRIES:
        if entry.name == name:
            return entry
    raise TacitError(f"no known corpus is called '{name}'{nearest(name, (e.name for e in ENTRIES))}")


def get(name: str, target_dir: Path) -> Path:
    """Download a corpus by name into `target_dir`, checked, and return the path to read it from."""
    return fetch(find(name), target_dir)


def data_directory(given: Path | None = None) -> Path:
    """Where known corpora lie: the directory given, else the one TACIT_DATA names, else ~/.cache/tacit."""
    return given or Path(os.environ.get("TACIT_DATA") or Path.home() / ".cache" / "tacit")


def user_path(given: str) -> Path:
    """A path as a person writes it; a `~` that means nobody is a character like others."""
    try:
        return Path(given).expanduser()
    except RuntimeError:
        return Path(given)


def resolve(name_or_path: str, data_dir: Path | None = None) -> Path:
    """The path meant by a path or by a known name looked up in the data directory."""
    path = user_path(name_or_path)
    if path.exists():
        return path
    if all(entry.name != name_or_path for entry in ENTRIES):
        if path.suffix or len(path.parts) > 1:
            raise TacitError(f"{path}: no such file or directory; `tacit data list` names known corpora")
        hint = nearest(name_or_path, ("typists", *(e.name for e in ENTRIES)))
        raise TacitError(f"'{name_or_path}' is neither a path nor a known corpus{hint}")
    entry = find(name_or_path)
    root = data_directory(data_dir)
    found = lies(entry, root)
    if found is None:
        raise TacitError(f"'{entry.name}' is not in {root}; {_how(entry)}")
    return found


def same_corpus(one: str, other: str, data_dir: Path | None = None) -> bool:
    """Whether two names mean the same corpus. Paths may be written in several ways, and a known corpus has one, too.

    >>> same_corpus("ptb", "ptb"), same_corpus("typists", "ptb")
    (True, False)
    """
    if one == other or "typists" in (one, other):
        return one == other
    try:
        return resolve(one, data_dir).samefile(resolve(other, data_dir))
    except (TacitError, OSError):  # one of them is not there: whoever reads it says so
        return False


def aside(name_or_path: str) -> tuple[str, ...]:
    """Names that are left out of a known corpus; a file that a person gives by its path is taken as it is.

    >>> "nus-unassigned" in aside("nus-sms"), aside("ptb")
    (True, ())
    """
    known = {entry.name: entry.aside for entry in ENTRIES}
    return () if user_path(name_or_path).exists() else known.get(name_or_path, ())


def opened(path: Path) -> IO[bytes]:
    """The content of a file that may be gzipped."""
    with path.open("rb") as file:
        zipped = file.read(2) == b"\x1f\x8b"
    return io.BufferedReader(gzip.GzipFile(path)) if zipped else path.open("rb")


def lies(entry: Entry, root: Path) -> Path | None:
    """Where under `root` the corpus lies: the file itself, or the directory when there are several; None: nowhere."""
    paths = [_present(file, root / entry.folder) for file in entry.files]
    if any(path is None for path in paths):
        return None
    return paths[0] if len(paths) == 1 else root / entry.folder


def fetch(entry: Entry, target_dir: Path) -> Path:
    """Download one entry's files, check each, and put them in place; what is there and right stays."""
    missing = [file for file in entry.files if not _right(file, target_dir / entry.folder)]
    for file in missing:
        if not file.address:
            raise TacitError(f"'{entry.name}' has no direct file address; {_by_hand(entry)}")
    folder = target_dir / entry.folder
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".part-") as name:
            scratch = Path(name)
            for file in missing:
                _unpack(entry, file, scratch)
            # Moved only when every one of them is right; each move is atomic.
            for file in missing:
                (scratch / file.name).replace(folder / file.name)
    except OSError as error:
        raise TacitError(
            f"{folder}: cannot write there ({error.strerror or error}); give another directory"
        ) from None
    found = lies(entry, target_dir)
    assert found is not None
    return found


def _unpack(entry: Entry, file: File, scratch: Path) -> None:
    """Put one file, downloaded and checked, into `scratch`; an address shared by files is visited once."""
    download = scratch / hashlib.sha256(file.address.encode()).hexdigest()
    if not download.exists():
        _download(entry, file.address, download)
    try:
        with _content(file, download) as source, (scratch / file.name).open("wb") as target:
            digest = hashlib.sha256()
            while block := source.read(1 << 20):
                digest.update(block)
                target.write(block)
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
    """The network's own troubles, each told in one line."""
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
    """The body; a body shorter than the server announced is an error, which urllib leaves unsaid."""
    expected = reply.length
    got = 0
    while block := reply.read(1 << 16):
        got += len(block)
        yield block
    if expected is not None and got < expected:
        raise http.client.IncompleteRead(b"", expected - got)


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
    """Is the file there, plain or packed, with the right content?"""
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
