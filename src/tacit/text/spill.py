"""Bytes that grow: in memory while they are few, in a temporary file once they are many.

A large corpus passes through two of these on its way from a file to packed arrays (its text, then the numbers
of its words), so that neither is ever held as Python objects and the memory for both can be taken back by the
system. The file lies where TMPDIR says, has no name and is gone when nobody looks at it any more.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import IO

from tacit.base.errors import TacitError

_IN_MEMORY = 1 << 25  # bytes


class Spill:
    """Write pieces, then look at all of them.

    >>> spill = Spill()
    >>> spill.write(b"ab")
    >>> spill.write(b"c")
    >>> spill.look()[1:3]
    b'bc'
    """

    def __init__(self) -> None:
        self._few = bytearray()
        self._file: IO[bytes] | None = None

    def write(self, piece: bytes | memoryview | mmap.mmap) -> None:
        """Append a piece."""
        self._few += piece
        if len(self._few) > _IN_MEMORY:
            self._flush()

    def look(self) -> bytes | mmap.mmap:
        """Everything written, to be sliced; nothing can be written after it."""
        if self._file is None:
            return bytes(self._few)
        self._flush()
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

    def _flush(self) -> None:
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115  # it ends with this object
            self._file.write(self._few)
            self._file.flush()
        except OSError as error:
            raise TacitError(
                f"{tempfile.gettempdir()}: cannot hold a large corpus while it is read "
                f"({error.strerror or error}); free some space there, or set TMPDIR to another directory"
            ) from None
        self._few.clear()


def forget(view: bytes | mmap.mmap) -> None:
    """Let go of the memory of what was looked at; it can be looked at again."""
    if isinstance(view, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
        view.madvise(mmap.MADV_DONTNEED)
