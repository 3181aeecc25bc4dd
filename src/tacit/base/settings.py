"""The mechanics of typed configuration: frozen dataclasses filled from plain tables, every key checked.

Each room declares the settings it understands as a frozen dataclass; this module turns tables (from a
TOML file or `--set`) into such values and back into TOML. A misspelt key, a wrong type or a number out
of its range is one clear line that names the key.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import field
from types import MappingProxyType
from typing import Any, Literal

from tacit.base.errors import TacitError, nearest

_WHOLE = 2**31 - 1  # what programs on devices can count to
_FLOAT = 3.4e38  # and the largest number that they know

# keys that only a part of one's own knows, in the order of their names (see tacit.federated.plugins)
Own = tuple[tuple[str, bool | int | float | str], ...]
Schedule = Literal["constant", "linear", "cosine", "inverse"]  # see tacit.federated.schedules


def number(default: float, least: float = -math.inf, most: float = math.inf) -> Any:
    """A numeric key with a range."""
    return field(default=default, metadata={"least": least, "most": most})


def checked(value: Any, kind: Any, key: str, limits: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """`value` as the type a key wants, or one line about it."""
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if value not in choices:
            raise TacitError(f"{key} = {value!r} is not known{nearest(str(value), choices)}")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < _FLOAT else math.inf
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
        raise TacitError(f"{key} = {value!r} must be {wanted}")
    if kind is str and not value.isascii() and value != value.encode("utf-8", "replace").decode("utf-8"):
        raise TacitError(f"{key} = {value!r} is not UTF-8; rename it or write it in UTF-8")
    if kind in (int, float):
        least, most = limits.get("least", -math.inf), limits.get("most", math.inf)
        largest = _WHOLE if kind is int else _FLOAT
        if not least <= value <= most or (kind is float and math.isinf(value)):  # also refuses NaN
            low, high = (str(x) if isinstance(x, int) else f"{x:g}" for x in (least, most))
            finite = "finite, " if kind is float else ""
            span = f"{finite}at least {low}" if most == math.inf else f"between {low} and {high}"
            span = "finite" if least == -math.inf and most == math.inf else span
            raise TacitError(f"{key} = {_short(value)} must be {span}")
        if abs(value) > largest:
            raise TacitError(f"{key} = {_short(value)} must be at most {largest}")
    return value


def _short(value: float) -> str:
    text = repr(value) if isinstance(value, float) or abs(value) < 10**30 else "a number of many digits"
    return text if len(text) < 40 else f"{text[:20]}…"


def build(kind: type, values: Mapping[str, Any], where: str = "") -> Any:
    """A frozen configuration value from plain tables, every key checked."""
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind)}
    result: dict[str, Any] = {}
    for name, value in values.items():
        key = f"{where}{name}"
        if name not in fields:
            what = "table" if isinstance(value, dict) else "key"
            raise TacitError(f"unknown {what} '{key}' in the configuration{nearest(name, fields)}")
        if dataclasses.is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise TacitError(f"'{key}' must be a table of keys, not {value!r}")
            result[name] = build(typing.cast(type, hints[name]), value, f"{key}.")
        elif hints[name] == Own:
            result[name] = _own(value, key)
        else:
            result[name] = checked(value, hints[name], key, fields[name].metadata)
    return kind(**result)


def _own(values: Any, key: str) -> Own:
    """A table whose keys are not known here; each value is checked as what it is."""
    if not isinstance(values, Mapping):
        raise TacitError(f"'{key}' must be a table of keys, not {values!r}")
    for name, value in values.items():
        if not (name.isidentifier() and name.isascii()):
            raise TacitError(f"{key}.{name}: a setting's name is letters a to z, digits and _")
        if type(value) not in (bool, int, float, str):
            raise TacitError(f"{key}.{name} = {value!r} must be a number, a text, true or false")
    return tuple((k, checked(v, type(v), f"{key}.{k}")) for k, v in sorted(values.items()))


def dump(config: Any) -> str:
    """A configuration of tables as TOML, every key written out; `build` reads it back unchanged."""
    scalars, tables = [], []
    for name, value in dataclasses.asdict(config).items():
        if isinstance(value, dict):
            tables.append("\n".join([f"\n[{name}]", *(f"{k} = {_toml(v)}" for k, v in value.items())]))
        else:
            scalars.append(f"{name} = {_toml(value)}")
    return "\n".join([*scalars, *tables]) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value) + "}"
    return repr(value)
