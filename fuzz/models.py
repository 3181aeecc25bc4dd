"""Asks a model that was opened, and seals damaged files so that their checksums fit.

A damaged file is refused, or read: then what it says must be probabilities.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import numpy as np

import tacit
from fuzz.trial import Fault

CONTEXTS = ("", "see you", "xyzzy are", "are you coming home now i am")
_HEADER = struct.Struct("<8sIIII")


def ask(path: Path, user: str | None = None) -> None:
    """Opens a model and asks it for suggestions and probabilities; raises a fault for what is no probability."""
    model = tacit.open(path, user)
    for context in CONTEXTS[:2] if path.is_dir() else CONTEXTS:  # a run's network is compiled for each length
        for word, p in model.suggest(context, k=3):
            if not isinstance(word, str) or not 0 <= p <= 1 + 1e-6:
                raise Fault("nonsense", f"suggests {word[:40]!r} with probability {p} after {context!r}")
        log_p = model.log_probs(context)
        worst = float(np.max(log_p, initial=-np.inf))
        if np.isnan(log_p).any() or worst > 1e-6:
            raise Fault(
                "nonsense", f"ln p of a word is {'nan' if np.isnan(log_p).any() else worst} after {context!r}"
            )


def sealed(content: bytes) -> bytes:
    """Returns a file of sections with the length and the CRC-32 that its bytes have."""
    if len(content) < _HEADER.size:
        return content
    magic, version, count, _, _ = _HEADER.unpack_from(content)
    head = _HEADER.pack(magic, version, count, len(content), 0)[:-4]
    body = content[_HEADER.size :]
    return head + struct.pack("<I", zlib.crc32(body, zlib.crc32(head))) + body


def sections(content: bytes, entry: struct.Struct) -> list[tuple[int, int]]:
    """Returns offset and size of every section of a good file."""
    count = _HEADER.unpack_from(content)[2]
    return [entry.unpack_from(content, _HEADER.size + i * entry.size)[1:] for i in range(count)]
