"""Sends values through a pipe between processes of this program: JSON, followed by the raw bytes of arrays.

It sends numbers, strings, lists, tuples, paths, arrays, named tuples, dataclasses, errors, module-level functions and
objects with `rebuild_args` (the arguments that rebuild them), and nothing else. No code is sent: functions and classes
are sent by name.
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
    """Writes a value."""
    buffers: list[Any] = []
    head = json.dumps(_plain(value, buffers)).encode()
    file.write(_LENGTH.pack(len(head)) + head)
    for buffer in buffers:
        file.write(buffer)
    file.flush()


def load(file: IO[bytes]) -> Any:
    """Reads the next value; raises EOFError if there is none or if it is incomplete.

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
    """Converts a value to JSON types, {kind: content} for what JSON lacks; appends bytes to `buffers` in order."""
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
        strings = isinstance(value, list) and all(type(x) is str for x in value)
        return {type(value).__name__: value if strings else [_plain(x, buffers) for x in value]}
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
    """Returns the arguments that rebuild an object from its class; None for what is sent by name."""
    if isinstance(value, tuple):
        return value
    if isinstance(value, BaseException):
        return value.args
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name) for field in dataclasses.fields(value)]
    return None if isinstance(value, type) else getattr(value, "rebuild_args", None)


def _value(plain: Any, file: IO[bytes]) -> Any:
    if not isinstance(plain, dict):
        return plain
    ((kind, content),) = plain.items()
    match kind:
        case "bytes":
            return bytes(_exactly(file, content))
        case "array":
            dtype, shape = np.dtype(content[0]), content[1]
            return np.frombuffer(_exactly(file, dtype.itemsize * int(np.prod(shape))), dtype).reshape(shape)
        case "list":
            return [_value(x, file) for x in content]
        case "tuple":
            return tuple(_value(x, file) for x in content)
        case "path":
            return Path(content)
        case "partial":
            function, arguments, keywords = (_value(x, file) for x in content)
            return partial(function, *arguments, **dict(keywords))
        case "made":
            return _named(content[0])(*[_value(x, file) for x in content[1]])
    return _named(content)


def _name(thing: Any) -> str:
    return f"{thing.__module__}:{thing.__qualname__}"


def _named(name: str) -> Any:
    module, _, path = name.partition(":")
    thing: Any = import_module(module)
    for part in path.split("."):
        thing = getattr(thing, part)
    return thing


def _exactly(file: IO[bytes], size: int) -> bytearray:
    """Reads exactly `size` bytes, into writable memory."""
    data = bytearray(size)
    view = memoryview(data)
    while view:
        count = file.readinto(view)  # type: ignore[attr-defined]
        if not count:
            raise EOFError
        view = view[count:]
    return data
