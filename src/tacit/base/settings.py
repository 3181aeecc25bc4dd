"""Builds typed configuration, frozen dataclasses, from plain tables and checks every key.

Each room declares its settings as a frozen dataclass. This module turns tables (from a TOML file or `--set`) into
such values and back into TOML. A misspelt key, a wrong type or a number out of range raises one line with the key.

A table may be open: it names a part (an aggregation rule, a server optimiser), and the part declares the other keys.
They are stored in the field with the metadata `OPEN`; in the table they appear beside the typed keys.
"""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, NamedTuple

from tacit.base.errors import TacitError, nearest, shown

_WHOLE = 2**31 - 1  # the largest int32, the integers of programs on devices
_FLOAT = 3.4e38  # about the largest float32

Scalar = bool | int | float | str
Settings = dict[str, Scalar]  # the keys of an open table (see tacit.federated.plugins)
Schedule = Literal["constant", "linear", "cosine", "inverse"]  # see tacit.federated.schedules


class Range(NamedTuple):
    """The range of a key, both ends included. A rule declares it as `Annotated[float, Range(0, 60)]`."""

    least: float = -math.inf
    most: float = math.inf
    why: str = ""  # the reason for a limit, for error messages


_ANY = Range()
OPEN = {"open": True}  # metadata of the field that stores the keys of an open table's part


def number(default: float, least: float = -math.inf, most: float = math.inf, why: str = "") -> Any:
    """Declares a numeric key with a range, and the reason for a limit that is not obvious."""
    return field(default=default, metadata={"range": Range(least, most, why)})


def checked(value: Any, kind: Any, key: str, limits: Range = _ANY) -> Any:
    """Returns `value` converted to the type of its key; raises a `TacitError` if it does not fit."""
    if typing.get_origin(kind) is Literal:
        choices = typing.get_args(kind)
        if value != value and "nan" in choices:
            return "nan"  # a word among these choices, which TOML reads as a number
        if value not in choices:
            raise TacitError(f"{key} = {value!r} is not known{nearest(str(value), choices)}")
        return value
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value) if abs(value) < _FLOAT else math.inf
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        wanted = {int: "a whole number", float: "a number", bool: "true or false", str: "a string"}[kind]
        raise TacitError(f"{key} = {value!r} must be {wanted}")
    if kind is str and not value.isascii() and value != value.encode("utf-8", "replace").decode("utf-8"):
        raise TacitError(f"{key} = {value!r} is not UTF-8; rename it or write it in UTF-8")
    if kind is str and "\0" in value:
        raise TacitError(
            f"{key} = {shown(value)} has a NUL character, which no path and no name has; remove it"
        )
    if kind in (int, float):
        least, most, why = limits
        largest = _WHOLE if kind is int else _FLOAT
        if not least <= value <= most or (kind is float and math.isinf(value)):  # also refuses NaN
            low, high = (str(x) if isinstance(x, int) else f"{x:g}" for x in (least, most))
            finite = "finite, " if kind is float else ""
            span = f"{finite}at least {low}" if most == math.inf else f"between {low} and {high}"
            span = "finite" if least == -math.inf and most == math.inf else span
            raise TacitError(f"{key} = {_short(value)} must be {span}{f' ({why})' if why else ''}")
        if abs(value) > largest:
            raise TacitError(f"{key} = {_short(value)} must be at most {largest}")
    return value


def _short(value: float) -> str:
    text = repr(value) if isinstance(value, float) or abs(value) < 10**30 else "a number of many digits"
    return text if len(text) < 40 else f"{text[:20]}…"


def build(kind: type, values: Mapping[str, Any], where: str = "") -> Any:
    """Builds a frozen configuration value from plain tables and checks every key."""
    hints = typing.get_type_hints(kind)
    fields = {f.name: f for f in dataclasses.fields(kind) if not f.metadata.get("open")}
    rest = next((f.name for f in dataclasses.fields(kind) if f.metadata.get("open")), None)
    result: dict[str, Any] = {rest: {}} if rest else {}
    for name, value in values.items():
        key = f"{where}{name}"
        if name not in fields and rest:
            result[rest][name] = _open_value(name, value, key)
        elif name not in fields:
            what = "table" if isinstance(value, dict) else "key"
            raise TacitError(f"unknown {what} '{key}' in the configuration{nearest(name, fields)}")
        elif dataclasses.is_dataclass(hints[name]):
            if not isinstance(value, Mapping):
                raise TacitError(f"'{key}' must be a table of keys, not {value!r}")
            result[name] = build(typing.cast(type, hints[name]), value, f"{key}.")
        else:
            result[name] = checked(value, hints[name], key, fields[name].metadata.get("range", _ANY))
    return kind(**result)


def _open_value(name: str, value: Any, key: str) -> Scalar:
    """Checks a key of an open table, whose type only its part declares, and returns the value."""
    if not (name.isidentifier() and name.isascii()):
        raise TacitError(f"{key}: a setting's name has only the letters a to z, digits and _")
    if isinstance(value, Mapping):
        raise TacitError(
            f"'{key}' is a table, but its settings belong in the table above it; if an older Tacit wrote it, train the "
            "run again"
        )
    if type(value) not in (bool, int, float, str):
        raise TacitError(f"{key} = {value!r} must be a number, a string, true or false")
    scalar: Scalar = checked(value, type(value), key)
    return scalar


def tables(config: Any) -> dict[str, Any]:
    """Returns a configuration as plain tables; `build` turns them back into the same configuration."""
    plain: dict[str, Any] = {}
    for f in dataclasses.fields(config):
        value = getattr(config, f.name)
        if f.metadata.get("open"):
            plain |= value
        else:
            plain[f.name] = tables(value) if dataclasses.is_dataclass(value) else value
    return plain


def dump(config: Any) -> str:
    """Returns a configuration as TOML with every key written out; parsed, `build` gives it back unchanged."""
    plain = tables(config)
    scalars = [f"{name} = {_toml(value)}" for name, value in plain.items() if not isinstance(value, dict)]
    parts = [
        "\n".join([f"\n[{name}]", *(f"{k} = {_toml(v)}" for k, v in table.items())])
        for name, table in plain.items()
        if isinstance(table, dict)
    ]
    return "\n".join([*scalars, *parts]) + "\n"


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in escaped) + '"'
    return repr(value)
