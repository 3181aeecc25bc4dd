"""Reads a file, plain or gzipped, in blocks of whole lines that can be parsed independently.

A block is a few megabytes and carries its position, so that a parser can report the line number of an error. A
damaged file yields all lines before the damage first, so the earliest error in the file is the one reported. A line
is at most 16 MB long: a file without line feeds, such as an image of a disk, is refused before it fills the memory.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tacit.base.errors import TacitError
from tacit.base.progress import Progress, no_progress
from tacit.text import sources

_BLOCK, _PIECE = 1 << 22, 1 << 18  # bytes in a block of text, and in one read
_LONGEST = 1 << 24  # bytes in a line


class Block(NamedTuple):
    """Consecutive whole lines of a file."""

    path: Path
    line: int  # number of its first line, from 1
    start: int  # bytes before it
    raw: bytes


def blocks(path: Path, progress: Progress = no_progress, size: int = _BLOCK) -> Iterator[Block]:
    """Yields the blocks of a file; raises a `TacitError` if the file cannot be read or unpacked."""
    line, start, held = 1, 0, bytearray()
    pieces = _pieces(path, progress)
    while True:
        damage: Exception | None = None
        try:
            piece = next(pieces, b"")
        except (OSError, EOFError, zlib.error) as error:
            piece, damage = b"", error
        held += piece
        if len(held) >= size or not piece:
            end = held.rfind(b"\n") + 1 if piece or damage else len(held)
            if end:
                raw = bytes(held[:end])
                del held[:end]
                yield Block(path, line, start, raw)
                line, start = line + raw.count(b"\n"), start + end
        if len(held) > max(size, _LONGEST):
            raise TacitError(
                f"{path}, line {line}: longer than {_LONGEST >> 20} MB; put one message or sentence on a line"
            )
        if damage is not None:
            raise _read_error(path, line - 1, damage) from None
        if not piece:
            return


def lines(block: Block) -> Iterator[tuple[int, str]]:
    """Yields the line number and the text of each line in a block."""
    raw, wrong = block.raw, -1
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        wrong = error.start
        text = raw[: raw.rfind(b"\n", 0, wrong) + 1].decode()
    if block.line == 1:
        text = text.removeprefix("\ufeff")
    for number, line in enumerate(text.split("\n"), start=block.line):
        yield number, line.rstrip("\r")
    if wrong >= 0:
        number = block.line + raw.count(b"\n", 0, wrong)
        raise TacitError(
            f"{block.path}, line {number}: byte {block.start + wrong} is not UTF-8; save the file as UTF-8"
        )


def first_line(path: Path) -> str:
    """Returns the first line that is not blank, or ""."""
    return next((line for block in blocks(path, size=1) for _, line in lines(block) if line.strip()), "")


def _pieces(path: Path, progress: Progress) -> Iterator[bytes]:
    whole = sources.size(path)
    with sources.opened(path) as file:
        zipped = path.suffix == ".gz" or file.peek(2)[:2] == b"\x1f\x8b"
        source = gzip.GzipFile(fileobj=file) if zipped else file
        while piece := source.read1(_PIECE):  # read1 also returns what comes before damage
            progress("reading", file.tell() / max(1, whole))
            yield piece


def _read_error(path: Path, line: int, error: Exception) -> TacitError:
    if isinstance(error, EOFError):
        return TacitError(f"{path}, after line {line}: the gzip data ends early; copy or download it again")
    if isinstance(error, gzip.BadGzipFile | zlib.error):
        return TacitError(f"{path}, after line {line}: damaged gzip ({error}); copy or download it again")
    reason = getattr(error, "strerror", None) or error
    return TacitError(f"{path}: cannot be read ({reason}); check the file and its permissions")
