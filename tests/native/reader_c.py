"""The C reader, built with the compiler of this machine and called through ctypes."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_int, c_size_t, c_uint32, c_void_p
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tacit.keyboard import layout

NATIVE = Path("native").resolve()
SOURCES = [str(NATIVE / name) for name in ("tacit.c", "unicode.c", "correct.c", "dictionary.c")]
STRICT = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wshadow", "-Werror"]
COMPILER = os.environ.get("CC") or next(filter(shutil.which, ("cc", "gcc", "clang")), None)
needs_compiler = pytest.mark.skipif(
    COMPILER is None, reason="no C compiler here: install gcc or clang, or set CC"
)


class Typed(NamedTuple):
    """A model of the built-in typists, with capitals, and contexts from other typists."""

    path: Path
    contexts: list[list[str]]


class Error(ctypes.Structure):
    _fields_ = [("message", c_char * 160)]


class Facts(ctypes.Structure):
    _fields_ = [
        ("network", c_int),
        ("cased", c_int),
        ("vocabulary", c_uint32),
        ("order", c_uint32),
        ("longest", c_size_t),
        ("language", c_char * 16),
    ]


class Suggested(ctypes.Structure):
    _fields_ = [("log_p", c_double), ("id", c_uint32)]


class Taps(ctypes.Structure):
    _fields_ = [
        (name, c_double)
        for name in (
            "sigma_x",
            "sigma_y",
            "steady",
            "usual",
            "omission",
            "single",
            "apostrophe",
            "insertion",
            "double",
            "edge",
            "transposition",
            "move",
            "slip",
            "vowel",
            "wrong",
            "space",
            "gap",
            "beam",
            "unknown",
            "letter",
            "listed",
            "spelt",
            "stays",
            "language",
        )
    ]


class Key(ctypes.Structure):
    _fields_ = [("letter", c_uint32), ("x", c_double), ("y", c_double)]


class Candidate(ctypes.Structure):
    _fields_ = [("score", c_double), ("cost", c_double), ("log_p", c_double), ("id", c_uint32)]


class Correction(ctypes.Structure):
    _fields_ = [
        ("literal", c_int),
        ("known", c_int),
        ("hidden", c_int),
        ("word", c_uint32),
        ("second", c_uint32),
        ("found", c_size_t),
        ("score", c_double),
    ]


class Refused(Exception):
    """The C reader's error."""


class Corrected(NamedTuple):
    """What a call of tacit_correct gave; `word` is None if what was typed stays."""

    word: str | None
    known: bool
    candidates: list[tuple[str, float, float]]  # word, score, cost
    result: Correction
    best: ctypes.Array[Candidate]


def compiled(folder: Path, *sources: str, options: Sequence[str] = (), name: str = "libtacit.so") -> Path:
    """Builds sources and returns the file; a warning is an error."""
    out = folder / name
    command = [str(COMPILER), *STRICT, "-O2", *options, f"-I{NATIVE}", *sources, "-o", str(out), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"
    return out


def loaded(folder: Path) -> ctypes.CDLL:
    """Builds the reader as a shared library and loads it."""
    library = ctypes.CDLL(str(compiled(folder, *SOURCES, options=["-shared", "-fPIC"])))
    texts, ids = POINTER(c_char_p), POINTER(c_uint32)
    signatures: dict[str, tuple[Any, list[Any]]] = {
        "tacit_open": (c_int, [c_void_p, c_size_t, POINTER(c_void_p), POINTER(Error)]),
        "tacit_close": (None, [c_void_p]),
        "tacit_block": (c_int, [c_void_p, texts, c_size_t, POINTER(Error)]),
        "tacit_about": (Facts, [c_void_p]),
        "tacit_word": (c_size_t, [c_void_p, c_uint32, c_char_p, c_size_t]),
        "tacit_id": (c_uint32, [c_void_p, c_char_p]),
        "tacit_hidden": (c_int, [c_void_p, c_uint32]),
        "tacit_session_open": (c_int, [c_void_p, POINTER(c_void_p), POINTER(Error)]),
        "tacit_session_close": (None, [c_void_p]),
        "tacit_complete": (
            c_int,
            [
                c_void_p,
                texts,
                c_size_t,
                c_char_p,
                c_size_t,
                POINTER(Suggested),
                POINTER(c_size_t),
                POINTER(Error),
            ],
        ),
        "tacit_suggest": (
            c_int,
            [c_void_p, texts, c_size_t, c_size_t, POINTER(Suggested), POINTER(c_size_t), POINTER(Error)],
        ),
        "tacit_log_p": (
            c_int,
            [c_void_p, texts, c_size_t, ids, c_size_t, POINTER(c_double), POINTER(Error)],
        ),
        "tacit_default_taps": (Taps, []),
        "tacit_keys_open": (
            c_int,
            [c_void_p, POINTER(Key), c_size_t, POINTER(Taps), POINTER(c_void_p), POINTER(Error)],
        ),
        "tacit_keys_close": (None, [c_void_p]),
        "tacit_keys_dictionary": (c_int, [c_void_p, c_char_p, c_size_t, POINTER(Error)]),
        "tacit_correct": (
            c_int,
            [
                c_void_p,
                c_void_p,
                texts,
                c_size_t,
                c_char_p,
                POINTER(c_double),
                c_size_t,
                c_size_t,
                POINTER(Candidate),
                POINTER(Correction),
                POINTER(Error),
            ],
        ),
        "tacit_joins": (
            c_int,
            [c_void_p, POINTER(Correction), POINTER(Correction), POINTER(Candidate)],
        ),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


def texts(words: Sequence[str]) -> Any:
    """Returns words as a C array of strings."""
    return (c_char_p * max(1, len(words)))(*(word.encode("utf-8", "replace") for word in words))


class Reader:
    """An open model and a session on it."""

    def __init__(self, library: ctypes.CDLL, data: bytes, blocked: Sequence[str] = ()) -> None:
        self.c, self.data = library, ctypes.create_string_buffer(data, len(data) or 1)
        self.model, self.session, self.keys, self.error = c_void_p(), c_void_p(), c_void_p(), Error()
        address = ctypes.addressof(self.data)
        self._do(library.tacit_open(address, len(data), byref(self.model), byref(self.error)))
        if blocked:
            self._do(library.tacit_block(self.model, texts(blocked), len(blocked), byref(self.error)))
        self._do(library.tacit_session_open(self.model, byref(self.session), byref(self.error)))

    def _do(self, code: int) -> None:
        if code:
            raise Refused(self.error.message.decode("utf-8", "replace"))

    def close(self) -> None:
        self.c.tacit_keys_close(self.keys)
        self.c.tacit_session_close(self.session)
        self.c.tacit_close(self.model)

    @property
    def facts(self) -> Facts:
        about: Facts = self.c.tacit_about(self.model)
        return about

    def word(self, i: int) -> str:
        room = ctypes.create_string_buffer(self.facts.longest + 1)
        length = self.c.tacit_word(self.model, i, room, len(room))
        return room.raw[:length].decode()

    def id(self, word: str) -> int:
        return int(self.c.tacit_id(self.model, word.encode("utf-8", "replace")))

    def complete(self, context: Sequence[str], typed: str, k: int) -> list[tuple[int, float]]:
        best, found = (Suggested * max(1, k))(), c_size_t()
        words, key = texts(context), typed.encode("utf-8", "replace")
        at = (self.session, words, len(context))
        if typed:
            self._do(self.c.tacit_complete(*at, key, k, best, byref(found), byref(self.error)))
        else:
            self._do(self.c.tacit_suggest(*at, k, best, byref(found), byref(self.error)))
        return [(best[i].id, best[i].log_p) for i in range(found.value)]

    def log_p(self, context: Sequence[str], ids: Sequence[int]) -> list[float]:
        out = (c_double * max(1, len(ids)))()
        asked = (c_uint32 * max(1, len(ids)))(*ids)
        at = (self.session, texts(context), len(context))
        self._do(self.c.tacit_log_p(*at, asked, len(ids), out, byref(self.error)))
        return list(out)[: len(ids)]

    def open_keys(self, keys: Sequence[tuple[str, float, float]] = (), taps: Taps | None = None) -> None:
        listed = (Key * max(1, len(keys)))(*(Key(ord(c), x, y) for c, x, y in keys)) if keys else None
        self._do(
            self.c.tacit_keys_open(
                self.model,
                listed,
                len(keys),
                byref(taps) if taps else None,
                byref(self.keys),
                byref(self.error),
            )
        )

    def read_dictionary(self, data: bytes) -> None:
        self._do(self.c.tacit_keys_dictionary(self.keys, data, len(data), byref(self.error)))

    def correct(
        self,
        context: Sequence[str],
        typed: str,
        points: Sequence[tuple[float, float]] | None = None,
        k: int = 3,
    ) -> Corrected:
        best, result = (Candidate * max(1, k))(), Correction()
        flat = None
        if points is not None:
            flat = (c_double * max(1, 2 * len(points)))(*(x for point in points for x in point))
        self._do(
            self.c.tacit_correct(
                self.session,
                self.keys,
                texts(context),
                len(context),
                typed.encode(),
                flat,
                len(points or ()),
                k,
                best,
                byref(result),
                byref(self.error),
            )
        )
        every = [(self.word(best[i].id), best[i].score, best[i].cost) for i in range(result.found)]
        words = [self.word(i) for i in (result.word, result.second) if i != 2]
        written = None if result.literal else " ".join(words)
        return Corrected(written, bool(result.known), every, result, best)

    def join(
        self, context: Sequence[str], parts: tuple[str, str]
    ) -> tuple[Corrected, Candidate | None, bool]:
        """Corrects two parts; with the word that joins them, if any is near, and whether it is to be written."""
        first = self.correct(context, parts[0])
        second = self.correct([*context, *(first.word or parts[0]).split()], parts[1])
        both = self.correct(context, "".join(parts))
        if not both.candidates:
            return second, None, False
        one = both.best[0]
        wins = self.c.tacit_joins(self.keys, byref(first.result), byref(second.result), byref(one))
        return second, one, bool(wins)


def keys_of(keys: layout.Layout) -> list[tuple[str, float, float]]:
    """A layout as C takes it: every key, then each letter of a long press in the place of the key that offers it."""
    held = layout.held_letters(keys.locale)
    return [(letter, *layout.centre(held.get(letter, letter), keys)) for letter in (*keys.letters, *held)]


@contextmanager
def opened(library: ctypes.CDLL, data: bytes, blocked: Sequence[str] = ()) -> Iterator[Reader]:
    """Opens a model and closes it again."""
    reader = Reader(library, data, blocked)
    try:
        yield reader
    finally:
        reader.close()
