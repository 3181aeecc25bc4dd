"""A message of a chat export, and the limits of every reader of one."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tacit.base.errors import TacitError
from tacit.text import sources

LONGEST = 1 << 20  # characters of a message
LARGEST = 1 << 31  # bytes of an unpacked export
_PIECE = 1 << 18

SYSTEM, MEDIA, DELETED, FORWARDED, DRAFTS = (
    "system lines",
    "media",
    "deleted messages",
    "forwarded or from a bot",
    "drafts",
)


class ChatMessage(NamedTuple):
    """What somebody typed; `left_out` says why a message is not text that its sender typed, "" if it is."""

    user: str
    text: str
    time: str  # ISO
    left_out: str = ""


def pieces(path: Path, largest: int = LARGEST) -> Iterator[bytes]:
    """Yields the bytes of a file, plain or gzipped, in parts; refuses more than `largest`."""
    total = 0
    try:
        with sources.opened(path) as file:
            zipped = path.suffix == ".gz" or file.peek(2)[:2] == b"\x1f\x8b"
            source: io.BufferedIOBase = gzip.GzipFile(fileobj=file) if zipped else file
            while piece := source.read1(_PIECE):
                total += len(piece)
                if total > largest:
                    raise TacitError(f"{path}: more than {largest >> 20} MB; export fewer chats at a time")
                yield piece
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TacitError(f"{path}: damaged gzip ({error}); copy the export again") from None
    except OSError as error:
        raise TacitError(f"{path}: cannot be read ({error.strerror or error}); check the file") from None


def checked(where: str, text: str) -> str:
    """Returns the text of a message without white space around it; refuses one that nobody typed."""
    if len(text) > LONGEST:
        raise TacitError(f"{where}: a message of {len(text):,} characters; a chat export has none that long")
    return text.strip()
