"""Collects bytes in memory and, once they are many, in a temporary file.

A large corpus passes through two spills between its file and the packed arrays: its text, then the ids of its words.
Neither is ever held as Python objects, and the system can reclaim the memory of both. The temporary file is in
TMPDIR, has no name and is deleted when it is closed.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import IO

from tacit.base.errors import TacitError

_IN_MEMORY = 1 << 25  # bytes


class Spill:
    """A growing buffer: write pieces, then view all of them.

    >>> spill = Spill()
    >>> spill.write(b"ab")
    >>> spill.write(b"c")
    >>> spill.view()[1:3]
    b'bc'
    """

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._file: IO[bytes] | None = None

    def write(self, piece: bytes | memoryview | mmap.mmap) -> None:
        """Appends a piece."""
        self._buffer += piece
        if len(self._buffer) > _IN_MEMORY:
            self._flush()

    def view(self) -> bytes | mmap.mmap:
        """Returns everything written, for slicing. Do not write after this call."""
        if self._file is None:
            return bytes(self._buffer)
        self._flush()
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # closed with this object
            self._file.write(self._buffer)
            self._file.flush()
        except OSError as error:
            raise TacitError(
                f"{tempfile.gettempdir()}: cannot hold a large corpus while it is read "
                f"({error.strerror or error}); free some space there, or set TMPDIR to another directory"
            ) from None
        self._buffer.clear()


def release(view: bytes | mmap.mmap) -> None:
    """Releases the memory of a view's pages; the view stays usable."""
    if isinstance(view, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        view.madvise(mmap.MADV_DONTNEED)
