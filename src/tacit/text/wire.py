"""Values through a pipe between processes of this program: JSON, and after it the bytes of arrays as they are.

Numbers, texts, lists, tuples, paths, arrays, named tuples, dataclasses, errors, functions of modules, and objects that
tell by `made_of` what to make them of again; nothing else. No code travels: functions and classes go by their names.
"""

from __future__ import annotations

import dataclasses
import json
import struct
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import IO, Any

import numpy as np

_LENGTH = struct.Struct("<Q")


def dump(value: Any, file: IO[bytes]) -> None:
    """Write a value."""
    buffers: list[Any] = []
    head = json.dumps(_plain(value, buffers)).encode()
    file.write(_LENGTH.pack(len(head)) + head)
    for buffer in buffers:
        file.write(buffer)
    file.flush()


def load(file: IO[bytes]) -> Any:
    """The next value; EOFError where there is none, or none that is whole.

    >>> import io
    >>> pipe = io.BytesIO()
    >>> dump((1, [b"two", Path("three")], np.arange(2)), pipe)
    >>> _ = pipe.seek(0)
    >>> load(pipe)
    (1, [b'two', PosixPath('three')], array([0, 1]))
    """
    (length,) = _LENGTH.unpack(_exactly(file, _LENGTH.size))
    return _value(json.loads(_exactly(file, length)), file)


def _plain(value: Any, buffers: list[Any]) -> Any:
    """What JSON can say, a kind before what is not itself; bytes go to `buffers`, in the order of reading."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        buffers.append(value)
        return {"bytes": memoryview(value).nbytes}
    if isinstance(value, np.ndarray):
        buffers.append(np.ascontiguousarray(value).reshape(-1).view(np.uint8).data)
        return {"array": [value.dtype.str, value.shape]}
    if isinstance(value, np.generic):
        return _plain(value.item(), buffers)
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        every = isinstance(value, list) and all(type(x) is str for x in value)
        return {type(value).__name__: value if every else [_plain(x, buffers) for x in value]}
    if isinstance(value, Path):
        return {"path": str(value)}
    if isinstance(value, partial):
        return {
            "partial": [_plain(x, buffers) for x in (value.func, value.args, list(value.keywords.items()))]
        }
    parts = _parts(value)
    if parts is None:
        return {"named": _name(value)}
    return {"made": [_name(type(value)), [_plain(x, buffers) for x in parts]]}


def _parts(value: Any) -> Sequence[Any] | None:
    """What to call an object's class with to have it again; None for what goes by its own name."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, BaseException):
        return value.args
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return None if isinstance(value, type) else getattr(value, "made_of", None)


def _value(plain: Any, file: IO[bytes]) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, said),) = plain.items()
    match kind:
        case "bytes":
            return bytes(_exactly(file, said))
        case "array":
            dtype, shape = np.dtype(said[0]), said[1]
            return np.frombuffer(_exactly(file, dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape)
        case "list":
            return [_value(x, file) for x in said]
        case "tuple":
            return tuple(_value(x, file) for x in said)
        case "path":
            return Path(said)
        case "partial":
            function, given, named = (_value(x, file) for x in said)
            return partial(function, *given, **dict(named))
        case "made":
            return _named(said[0])(*[_value(x, file) for x in said[1]])
    return _named(said)


def _name(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _named(name: str) -> Any:
    module, _, path = name.partition(":")
    found: Any = import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def _exactly(file: IO[bytes], size: int) -> bytearray:
    """So many bytes, in memory that can be written to."""
    found = bytearray(size)
    view = memoryview(found)
    while view:
        got = file.readinto(view)  # type: ignore[attr-defined]
        if not got:
            raise EOFError
        view = view[got:]
    return found
