"""Aggregation rules, and optimisers of server and clients, by name: built in, of a file, of a notebook.

All are declared the same way. A part is a factory: a function whose parameters are its settings, which returns an
`Aggregation` or an optax transformation. The settings are keys of the table that names the part:

    def clipped(norm: Annotated[float, Range(0, 60)] = 1.0) -> Aggregation: …
    RULES = {"clipped": clipped}                        # aggregation.rule = "clipped", aggregation.norm = 2.0

- A parameter with a default is a setting. The default sets its type (float, int, str or bool); an annotation may narrow
  it to choices (`Literal["a", "b"]`) or to a range.
- A parameter without a default is a typed key of the same table, such as `lr` of `[server]`.
- A default of any other type (a function, None) is not a setting; the factory keeps it.

Custom parts come from the Python files that TACIT_RULES names, or from `register_rule`, `register_optimiser` and
`register_client_optimiser`.
Before training, `settle` writes every setting and a hash of custom code into the configuration, so a run cannot
resume with a different rule of the same name.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
import typing
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from tacit.base.errors import TacitError, described, nearest
from tacit.base.settings import Range, Settings, checked
from tacit.federated.code_hash import object_hash, short_hash

if TYPE_CHECKING:
    import optax

    from tacit.federated.aggregation.sums import Aggregation, CohortRule

Table = TypeVar("Table", bound=Any)  # a frozen dataclass with `settings` and `code`
Made = TypeVar("Made")
Factory = Callable[..., Any]

_SCALARS = (bool, int, float, str)
# what files declare
_TABLES = RULES, OPTIMISERS, CLIENT_OPTIMISERS = "RULES", "OPTIMISERS", "CLIENT_OPTIMISERS"


class Kind(NamedTuple, Generic[Made]):
    """A kind of part."""

    declared: str  # one of `_TABLES`
    key: str  # the key that names a part, for example "aggregation.rule"
    returns: type[Made] | tuple[type, ...]  # what its factory returns: a type, or one of several
    built_in: Callable[[], Mapping[str, Factory]]


class Part(NamedTuple):
    """A rule or an optimiser, which a configuration chooses by name."""

    key: str
    name: str
    factory: Factory
    origin: str = ""  # a file, or how it was registered; "": built in
    code: str = ""  # hash of custom code

    def __str__(self) -> str:
        return f"{self.key} = '{self.name}'" + (f" ({self.origin})" if self.origin else "")


class Setting(NamedTuple):
    """A setting as its factory declares it."""

    kind: Any  # bool, int, float, str, or a Literal
    limits: Range
    default: Any


_registered: dict[str, dict[str, Part]] = {table: {} for table in _TABLES}


def register_rule(
    rule: Callable[..., Aggregation | CohortRule] | Aggregation | CohortRule, name: str | None = None
) -> str:
    """Registers a rule in this process and returns the name for `aggregation.rule`.

    `rule` is a factory as in RULES, or an `Aggregation` or `CohortRule`. A rule of the same name is replaced, so a
    notebook's cell can be run again. The name is by default that of the function.
    """
    return _register(RULES, "aggregation.rule", rule, name)


def register_optimiser(
    optimiser: Callable[..., optax.GradientTransformation] | optax.GradientTransformation,
    name: str | None = None,
) -> str:
    """Registers a server optimiser in this process and returns the name for `server.optimiser`.

    `optimiser` is a factory as in OPTIMISERS (its parameter `lr` is `server.lr`), or an optax transformation.
    """
    return _register(OPTIMISERS, "server.optimiser", optimiser, name)


def register_client_optimiser(
    optimiser: Callable[..., optax.GradientTransformation] | optax.GradientTransformation,
    name: str | None = None,
) -> str:
    """Registers a client optimiser in this process and returns the name for `client.optimiser`.

    `optimiser` is a factory as in CLIENT_OPTIMISERS, or an optax transformation. It returns the step for the rate 1.
    """
    return _register(CLIENT_OPTIMISERS, "client.optimiser", optimiser, name)


def _register(declared: str, key: str, thing: Any, name: str | None) -> str:
    name = name or _default_name(thing)
    factory = thing if callable(thing) else lambda: thing
    _registered[declared][name] = Part(key, name, factory, "registered in Python", object_hash(thing))
    return name


def _default_name(thing: Any) -> str:
    """Returns the function's name; for a tuple of functions, the name of the function that made the first."""
    first = thing[0] if isinstance(thing, tuple) and thing and callable(thing[0]) else thing
    qualified = getattr(first, "__name__" if first is thing else "__qualname__", None)
    return (qualified or type(thing).__name__).partition(".")[0].strip("<>")


def files() -> list[Path]:
    """Returns the files that TACIT_RULES names."""
    return [Path(name) for name in os.environ.get("TACIT_RULES", "").split(os.pathsep) if name]


def code_hashes() -> list[str]:
    """Returns a hash of every custom file and registered part; a sweep measures again when one changes."""
    read = [short_hash(file.read_bytes()) for file in files() if file.is_file()]
    return read + [part.code for parts in _registered.values() for part in parts.values()]


def known(kind: Kind[Any]) -> dict[str, Part]:
    """Returns all parts of a kind by name: built in, of files, registered."""
    parts = {name: Part(kind.key, name, factory) for name, factory in kind.built_in().items()}
    for path in files():
        source, module = _module(path)
        for name, factory in getattr(module, kind.declared, {}).items():
            if name in parts:
                other = parts[name].origin or "Tacit"
                raise TacitError(
                    f"TACIT_RULES: {path}: '{name}' of {kind.declared} is also a name in {other}; choose another"
                )
            parts[name] = Part(kind.key, name, factory, path.name, short_hash(source))
    for name, part in list(_registered[kind.declared].items()):
        if name in parts:
            other = parts[name].origin or "Tacit"
            del _registered[kind.declared][name]  # the next call is not refused for the same mistake
            raise TacitError(f"{part}: '{name}' is also a name in {other}; register it under another name")
        parts[name] = part
    return parts


def _module(path: Path) -> tuple[bytes, ModuleType]:
    """Returns a file's content and what it declares; reloads an edited file."""
    if path.suffix != ".py" or not path.is_file():
        raise TacitError(
            f"TACIT_RULES: {path} does not exist or is no .py file; name files that declare {' or '.join(_TABLES)}"
        )
    source = path.read_bytes()
    return source, _read(path, source)


@cache
def _read(path: Path, source: bytes) -> ModuleType:
    name = f"tacit_rules_{short_hash(bytes(path.resolve()))}_{short_hash(source)}"
    module = sys.modules[name] = ModuleType(name)  # dataclasses look modules up there
    module.__file__ = str(path)
    try:
        exec(compile(source, path, "exec", dont_inherit=True), module.__dict__)
    except BaseException as error:
        del sys.modules[name]
        if isinstance(error, KeyboardInterrupt):
            raise
        raise TacitError(f"TACIT_RULES: {path}: {described(error)}") from error
    declared = {table: getattr(module, table, {}) for table in _TABLES}
    for table, factories in declared.items():
        if not isinstance(factories, dict) or not all(
            isinstance(k, str) and callable(v) for k, v in factories.items()
        ):
            raise TacitError(f"TACIT_RULES: {path}: {table} must be a dict of functions by name")
    if not any(declared.values()):
        raise TacitError(
            f"TACIT_RULES: {path} declares none of {', '.join(_TABLES)}; CONTRIBUTING.md shows how"
        )
    return module


def settle(kind: Kind[Any], table: Table) -> Table:
    """Returns the table with every setting of its part written out, and the hash of custom code."""
    return _settled(kind, known(kind), table)


def check_built_in(kind: Kind[Any], table: Any) -> None:
    """Refuses a setting that a built-in part does not have; a custom part is not looked up: it may be missing."""
    parts = {name: Part(kind.key, name, factory) for name, factory in kind.built_in().items()}
    if getattr(table, kind.key.partition(".")[2]) in parts:
        _settled(kind, parts, table)


def _settled(kind: Kind[Any], parts: Mapping[str, Part], table: Table) -> Table:
    part = _chosen(kind, parts, table)
    declared = declared_settings(part, table)
    room = kind.key.partition(".")[0]
    for name in table.settings:
        if name not in declared:
            raise TacitError(f"{room}.{name}: {part} has no such setting{_hint(name, part, parts, table)}")
    settings: Settings = {}
    for name, setting in declared.items():
        value = table.settings.get(name, setting.default)
        settings[name] = checked(value, setting.kind, f"{room}.{name}", setting.limits)
    return dataclasses.replace(table, settings=settings, code=part.code)


def make(kind: Kind[Made], table: Any) -> Made:
    """Calls the factory that a table names with its settings, and returns the rule or optimiser."""
    part = _chosen(kind, known(kind), table)
    table = settle(kind, table)
    typed = {p.name: getattr(table, p.name) for p in _parameters(part, table) if p.default is p.empty}
    try:
        result = part.factory(**typed, **table.settings)
    except (TacitError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also SystemExit
        raise TacitError(f"{part}: {described(error)}") from error
    if not isinstance(result, kind.returns):
        expected = kind.returns if isinstance(kind.returns, tuple) else (kind.returns,)
        names = " or ".join(each.__name__ for each in expected)
        raise TacitError(f"{part}: returns {type(result).__name__}, expected {names}")
    return typing.cast(Made, result)


def _chosen(kind: Kind[Any], parts: Mapping[str, Part], table: Any) -> Part:
    name = getattr(table, kind.key.partition(".")[2])
    if name not in parts:
        raise TacitError(
            f"{kind.key} = '{name}' is not known (TACIT_RULES names files of custom ones){nearest(name, parts)}"
        )
    return parts[name]


def _hint(name: str, part: Part, parts: Mapping[str, Part], table: Any) -> str:
    """Returns the end of the error about an unknown setting: which part has it, and the nearest name."""
    if any(p.name == name for p in _parameters(part, table)):
        return ": its default is not a number, a string, true or false"
    owners = [repr(other.name) for other in parts.values() if name in _declared_or_none(other, table)]
    elsewhere = f" ({part.key} = {' or '.join(owners)} has)" if owners else ""
    return elsewhere + nearest(name, [*typed_keys(table), *declared_settings(part, table)])


def _declared_or_none(part: Part, table: Any) -> Mapping[str, Setting]:
    try:
        return declared_settings(part, table)
    except TacitError:  # a mistake in another part does not matter here
        return {}


def typed_keys(table: Any) -> list[str]:
    """Returns the keys that a table has for every part."""
    return [f.name for f in dataclasses.fields(table) if f.name not in ("settings", "code")]


def declared_settings(part: Part, table: Any) -> dict[str, Setting]:
    """Returns the settings of a part by name, in the order of its parameters."""
    given = [p for p in _parameters(part, table) if p.default is not p.empty and type(p.default) in _SCALARS]
    return {p.name: _setting(p) for p in given}


def _setting(parameter: inspect.Parameter) -> Setting:
    kind, limits = parameter.annotation, Range()
    if typing.get_origin(kind) is typing.Annotated:
        kind, *notes = typing.get_args(kind)
        limits = next((note for note in notes if isinstance(note, Range)), limits)
    if kind not in _SCALARS and typing.get_origin(kind) is not typing.Literal:
        kind = type(parameter.default)
    return Setting(kind, limits, parameter.default)


def _parameters(part: Part, table: Any) -> list[inspect.Parameter]:
    """Returns the parameters of a factory, each a setting or a typed key of the table; refuses any other."""
    keys = typed_keys(table)
    room = part.key.partition(".")[0]
    try:
        signature = inspect.signature(part.factory, eval_str=True)
    except Exception as error:  # no signature, or an annotation that cannot be read
        raise TacitError(f"{part}: its parameters cannot be read: {described(error)}") from None
    named = [p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    for p in named:
        if p.kind is p.POSITIONAL_ONLY or (p.default is p.empty and p.name not in keys):
            raise TacitError(
                f"{part}: its parameter '{p.name}' needs a default, which makes it a setting; only the keys of "
                f"[{room}] go without: {', '.join(keys)}"
            )
        if p.default is not p.empty and p.name in (*keys, "code"):
            raise TacitError(
                f"{part}: its parameter '{p.name}' has the name of a key of [{room}]; remove its default to get the "
                "key's value, or rename it"
            )
    return named
