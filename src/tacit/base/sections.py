"""Reads and writes binary files of named sections: the container of the compact n-gram file and the 8-bit network.

    header    8 bytes of magic, then uint32: version, number of sections, file size, CRC-32 of all other bytes
    table     for each section: its name, padded with zeros, and uint32: offset, size in bytes
    sections  each at a multiple of 8 bytes

All numbers are little-endian. A file is memory-mapped, not parsed, and checked before it is used; an error is one
line. This module does not import JAX, because a keyboard runs it.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tacit.base.errors import TacitError

HEADER = struct.Struct("<8sIIII")

Places = dict[str, tuple[int, int]]  # offset and size in bytes of each section


class Format(NamedTuple):
    """Describes a file format: its magic bytes, its version, and its name in errors."""

    magic: bytes
    version: int
    entry: struct.Struct  # one entry of the table: name, offset, size
    what: str  # for error messages: "a compact n-gram file"
    again: str  # for error messages, how to make the file again: "distil the model again"


def map_file(path: Path, form: Format, verify: bool = True) -> tuple[mmap.mmap, Places]:
    """Maps a file into memory and returns its bytes and sections; `verify` checks the CRC-32 (1 ms per megabyte)."""
    try:
        with path.open("rb") as file:
            if not path.stat().st_size:
                raise TacitError(f"{path}: the file is empty; {form.again}")
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except OSError as error:
        raise TacitError(
            f"{path}: cannot read this {form.what.partition(' ')[2]} ({error.strerror})"
        ) from None
    if data[:8] != form.magic[: len(data)]:
        name = form.magic.decode().strip()
        raise TacitError(f"{path}: not {form.what}; it should begin with '{name}'")
    if len(data) < HEADER.size:
        raise TacitError(f"{path}: cut short, {len(data)} bytes; copy it again")
    _, version, count, length, check = HEADER.unpack_from(data)
    if version != form.version:
        raise TacitError(
            f"{path}: format version {version}, but this Tacit reads version {form.version}; update Tacit"
        )
    if length != len(data) or HEADER.size + count * form.entry.size > length:
        raise TacitError(f"{path}: {len(data):,} bytes, but {length:,} were written; copy it again")
    if verify and zlib.crc32(memoryview(data)[HEADER.size :], zlib.crc32(data[: HEADER.size - 4])) != check:
        raise TacitError(f"{path}: damaged (its CRC-32 differs from the header's); copy it again")
    table = (form.entry.unpack_from(data, HEADER.size + i * form.entry.size) for i in range(count))
    return data, {name.rstrip(b"\0").decode("ascii", "replace"): (start, size) for name, start, size in table}


_WRONG = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
    zlib.error,
    struct.error,
)


@contextmanager
def fitting(path: Path, form: Format) -> Iterator[None]:
    """Turns any Python error while sections are read into a one-line error about the file."""
    try:
        yield
    except _WRONG as error:
        reason = " ".join(str(error).split())
        raise TacitError(f"{path}: its sections do not fit together ({reason}); {form.again}") from None


def assemble(form: Format, sections: Mapping[str, Any]) -> bytes:
    """Returns the bytes of a file with these sections, each bytes or an array.

    >>> form = Format(b"TacitXX\\n", 1, struct.Struct("<8sII"), "an example", "make it again")
    >>> len(assemble(form, {"meta": b"{}"}))
    48
    """
    table, parts = b"", []
    begin = HEADER.size + len(sections) * form.entry.size  # a multiple of 8, as both are
    for name, section in sections.items():
        content = section if isinstance(section, bytes) else section.tobytes()
        table += form.entry.pack(name.encode(), begin, len(content))
        parts.append(content + bytes(-len(content) % 8))
        begin += len(parts[-1])
    if begin >= 1 << 32:
        raise TacitError(f"{form.what} must be smaller than 4 GB; choose a smaller model")
    body = table + b"".join(parts)
    head = HEADER.pack(form.magic, form.version, len(sections), HEADER.size + len(body), 0)[:-4]
    return head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body
