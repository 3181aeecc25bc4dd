"""Parts of one's own: aggregation rules and server optimisers from files that lie anywhere.

TACIT_RULES names Python files; a file declares `RULES`, `OPTIMISERS` or both, by name. What a name stands for is a
function of the configuration's table. Its other parameters are settings of its own, and their defaults say of which
type:

    def cut(config, length=1.0): …              # aggregation.own.length = 2.0

A configuration that is to be trained with is settled first: every setting is written out in it, and a mark of the
file, so that a run is not gone on with by another rule of the same name.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from tacit.base.errors import TacitError, nearest
from tacit.base.settings import Own, checked

Table = TypeVar("Table", bound=Any)  # of a configuration, with `own` and `code`
Made = TypeVar("Made")

_TYPES = (bool, int, float, str)


class Part(NamedTuple):
    """Something that a configuration chooses by name."""

    key: str  # the key that names it, of the table that it is made from
    name: str
    function: Callable[..., Any]
    file: Path | None  # None: built in

    def __str__(self) -> str:
        return f"{self.key} = '{self.name}'" + (f" ({self.file.name})" if self.file else "")


def files() -> list[Path]:
    """The files that TACIT_RULES names."""
    return [Path(name) for name in os.environ.get("TACIT_RULES", "").split(os.pathsep) if name]


def find(what: str, built_in: Mapping[str, Callable[..., Any]], key: str, name: str) -> Part:
    """The part of that name: built in, or one that a file declares as `what`."""
    known = {n: Part(key, n, function, None) for n, function in built_in.items()}
    for path in files():
        for n, function in getattr(_module(path), what, {}).items():
            if n in known:
                other = known[n].file or "Tacit"
                raise TacitError(
                    f"TACIT_RULES: {path}: '{n}' of {what} is a name in {other}, too; choose another"
                )
            known[n] = Part(key, n, function, path)
    if name not in known:
        others = "TACIT_RULES names the files of your own"
        raise TacitError(f"{key} = '{name}' is not known ({others}){nearest(name, known)}")
    return known[name]


def mark(content: bytes) -> str:
    """A few characters that are others when a file's content is."""
    return hashlib.sha256(content).hexdigest()[:12]


def _module(path: Path) -> ModuleType:
    """What a file declares; one that was edited is read again."""
    if path.suffix != ".py" or not path.is_file():
        raise TacitError(
            f"TACIT_RULES: {path} is not there or no .py file; name files that declare RULES or OPTIMISERS"
        )
    return _read(path, path.read_bytes())


@cache
def _read(path: Path, source: bytes) -> ModuleType:
    name = f"tacit_rules_{mark(bytes(path.resolve()))}_{mark(source)}"
    module = sys.modules[name] = ModuleType(name)  # dataclasses look for it there
    module.__file__ = str(path)
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise TacitError(f"TACIT_RULES: {path}: {type(error).__name__}: {error}") from error
    tables = {what: getattr(module, what, {}) for what in ("RULES", "OPTIMISERS")}
    for what, table in tables.items():
        if not isinstance(table, dict) or not all(
            isinstance(k, str) and callable(v) for k, v in table.items()
        ):
            raise TacitError(f"TACIT_RULES: {path}: {what} must be a dict of functions by name")
    if not any(tables.values()):
        raise TacitError(
            f"TACIT_RULES: {path} declares no RULES and no OPTIMISERS; CONTRIBUTING.md shows how"
        )
    return module


def settle(part: Part, config: Table) -> Table:
    """The table with every setting of the part written out, as the type that its default has."""
    defaults = _defaults(part)
    table = part.key.partition(".")[0]
    given: dict[str, Any] = {}
    for name, value in config.own:
        if name not in defaults:
            there = nearest(name, defaults) if defaults else "; it has none"
            raise TacitError(f"{table}.own.{name}: {part} has no such setting{there}")
        kind = type(defaults[name])
        if kind not in _TYPES:
            raise TacitError(
                f"{table}.own.{name}: {part} has {defaults[name]!r} for a default, and settings are numbers, texts, "
                "true or false"
            )
        given[name] = checked(value, kind, f"{table}.own.{name}")
    scalars = {n: v for n, v in defaults.items() if type(v) in _TYPES}
    own: Own = tuple(sorted((scalars | given).items()))
    return dataclasses.replace(config, own=own, code=mark(part.file.read_bytes()) if part.file else "")


def make(part: Part, config: Any, kind: type[Made]) -> Made:
    """What the part makes of the table, which must be a `kind`."""
    table = settle(part, config)
    try:
        made = part.function(table, **dict(table.own))
    except TacitError:
        raise
    except Exception as error:
        raise TacitError(f"{part}: {type(error).__name__}: {error}") from error
    if not isinstance(made, kind):
        raise TacitError(f"{part}: it makes {type(made).__name__}, and {kind.__name__} is wanted")
    return made


def _defaults(part: Part) -> dict[str, Any]:
    """The parameters after the first, with their defaults."""
    try:
        first, *rest = inspect.signature(part.function).parameters.values()
        fine = first.default is first.empty and all(p.default is not p.empty or _any(p) for p in rest)
    except ValueError:  # no parameter at all, or none that can be known
        fine, rest = False, []
    if not fine or any(p.kind is p.POSITIONAL_ONLY for p in rest):
        raise TacitError(
            f"{part}: it must be a function (config, setting=default, …), its first without a default"
        )
    return {p.name: p.default for p in rest if not _any(p)}


def _any(parameter: inspect.Parameter) -> bool:
    return parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
