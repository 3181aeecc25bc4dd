"""A short hash of a file or of a Python object, so that a run cannot resume with another rule of the same name.

A function is hashed by its source (by its bytecode and constants where there is no source), its default values, the
values that it closes over, and the functions and plain values of its own module that it names. So editing a helper of a
rule in a notebook changes the hash of the rule. An object that cannot be inspected is hashed by its type.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

import jax
import numpy as np

_PLAIN = (bool, int, float, complex, str, bytes, type(None))


def short_hash(content: bytes) -> str:
    """Returns a content hash of twelve characters."""
    return hashlib.sha256(content).hexdigest()[:12]


def object_hash(thing: Any) -> str:
    """Returns the short hash of a function, or of a tuple of functions such as an `Aggregation`.

    >>> def scaled(factor):
    ...     return lambda x: factor * x
    >>> object_hash(scaled(2)) == object_hash(scaled(2)), object_hash(scaled(2)) == object_hash(scaled(3))
    (True, False)
    """
    return short_hash("\n".join(_texts(thing, {})).encode("utf-8", "surrogatepass"))


def _texts(thing: Any, seen: dict[int, Any]) -> Iterator[str]:
    """Yields the texts that determine how a thing behaves; a function, which may be recursive, only once."""
    if isinstance(thing, _PLAIN):
        yield repr(thing)
        return
    if isinstance(thing, np.ndarray | np.generic | jax.Array):
        array = np.asarray(thing)
        yield f"{array.dtype}{array.shape}{short_hash(array.tobytes())}"
        return
    if id(thing) in seen:
        return
    if not isinstance(thing, tuple):
        seen[id(thing)] = thing  # kept alive, so that no other object gets its id
    yield type(thing).__qualname__
    for part in _parts(thing):
        yield from _texts(part, seen)


def _parts(thing: Any) -> Iterator[Any]:
    if isinstance(thing, tuple | list):
        yield from thing
    elif isinstance(thing, dict):
        yield from thing.items()
    elif isinstance(thing, functools.partial):
        yield from (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, FunctionType):
        yield from _parts_of_function(thing)
    elif inspect.ismethod(thing):
        yield from (thing.__func__, thing.__self__)
    elif inspect.isclass(thing):
        yield thing.__qualname__
        yield _source(thing)
    elif hasattr(thing, "__wrapped__"):  # a compiled function
        yield thing.__wrapped__
    elif type(thing).__module__ == "__main__":  # an instance of a notebook's class
        yield from (type(thing), vars(thing) if hasattr(thing, "__dict__") else None)


def _parts_of_function(function: FunctionType) -> Iterator[Any]:
    code = function.__code__
    yield _source(function) or [code.co_code.hex(), *_constants(code)]
    yield from (function.__defaults__, function.__kwdefaults__)
    for cell in function.__closure__ or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not yet assigned
            yield None
    for name in sorted(_names(code)):
        value = function.__globals__.get(name)
        beside = isinstance(value, FunctionType) and value.__module__ == function.__module__
        if beside or (isinstance(value, _PLAIN) and not name.startswith("__")):
            yield (name, value)


def _source(thing: Any) -> str | None:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # typed into an interpreter that keeps no source
        return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yields a function's code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _names(code: CodeType) -> set[str]:
    return {name for inner in _codes(code) for name in inner.co_names}


def _constants(code: CodeType) -> list[Any]:
    return [
        inner.co_code.hex() if isinstance(constant, CodeType) else constant
        for inner in _codes(code)
        for constant in inner.co_consts
    ]
