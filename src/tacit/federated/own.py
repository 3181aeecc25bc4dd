"""Parts of one's own: aggregation rules and server optimisers from files that lie anywhere.

TACIT_RULES names Python files; a file declares `RULES`, `OPTIMISERS` or both, by name. What a name stands for is a
function of the configuration's table. Its other parameters are settings of its own, with their defaults:

    def cut(config, length=1.0): …              # aggregation.own.length = 2.0
"""

from __future__ import annotations

import importlib.util
import inspect
import os
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol

from tacit.errors import TacitError, nearest
from tacit.settings import Own, checked


class Table(Protocol):
    """A table of a configuration that leaves room for keys it does not know."""

    @property
    def own(self) -> Own: ...


def declared(what: str) -> dict[str, Callable[..., Any]]:
    """What the files of TACIT_RULES declare as `what`."""
    files = [Path(name) for name in os.environ.get("TACIT_RULES", "").split(os.pathsep) if name]
    return {name: made for path in files for name, made in getattr(_module(path), what, {}).items()}


@cache
def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"tacit_rules_{path.stem}", path)
    if path.suffix != ".py" or not path.is_file() or spec is None or spec.loader is None:
        raise TacitError(f"TACIT_RULES: there is no .py file {path}; name files that declare RULES")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise TacitError(f"TACIT_RULES: {path}: {type(error).__name__}: {error}") from error
    if not (getattr(module, "RULES", None) or getattr(module, "OPTIMISERS", None)):
        raise TacitError(
            f"TACIT_RULES: {path} declares no RULES and no OPTIMISERS; CONTRIBUTING.md shows how"
        )
    return module


def make(known: Mapping[str, Callable[..., Any]], key: str, name: str, config: Table) -> Any:
    """What `known` has under that name, made from the table it is set in; `key` is what names it there.

    >>> from tacit.federated.server import ServerConfig
    >>> make({"still": lambda config, speed=1.0: speed}, "server.optimiser", "still", ServerConfig())
    1.0
    """
    if name not in known:
        files = "TACIT_RULES names the files of your own"
        raise TacitError(f"{key} = '{name}' is not known ({files}){nearest(name, known)}")
    defaults = _settings(known[name], f"{key} = '{name}'")
    given = {}
    for setting, value in config.own:
        where = f"{key.partition('.')[0]}.own.{setting}"
        if setting not in defaults:
            there = nearest(setting, defaults) if defaults else "; it has none"
            raise TacitError(f"{where}: {key} = '{name}' has no such setting{there}")
        given[setting] = checked(value, type(defaults[setting]), where)
    return known[name](config, **given)


def _settings(function: Callable[..., Any], what: str) -> dict[str, Any]:
    """The settings that a function declares by its parameters, with their defaults."""
    parameters = list(inspect.signature(function).parameters.values())
    if not parameters or any(
        p.default is p.empty and p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters[1:]
    ):
        raise TacitError(
            f"{what}: it must be a function of the configuration's table, with defaults for the rest"
        )
    return {p.name: p.default for p in parameters[1:] if type(p.default) in (bool, int, float, str)}
