"""A privacy plan, and its file: how much noise a training needs, worked out before it begins.

`tacit privacy plan --out FILE` writes the file. Training reads it and needs no accounting library: it takes the noise
multiplier, the matrix and the ε of each round from here.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError, shown
from tacit.base.files import check_file, make_folder, write_atomic
from tacit.base.reading import is_figure, read_object

FORMAT = "tacit privacy plan 1"


@dataclass(frozen=True)
class Plan:
    """The noise of a training, and what it gives."""

    mechanism: str  # gaussian, matrix or local
    sampling: str  # poisson, fixed or separated
    delta: float
    rounds: int
    population: int
    clients: int  # expected cohort size: the fixed denominator
    rate: float  # clients / population
    noise_multiplier: float  # gaussian, local: std / sensitivity of a round; matrix: std of z / clip
    epsilon: float  # after the last round: the smaller of the two below
    epsilon_rdp: float | None
    epsilon_pld: float | None
    epsilons: tuple[float, ...]  # ε after each round
    noise_in_mean: float | None  # std of the noise on a round's mean, in clips; None for a matrix
    noise_in_sum: float  # the same on the sum of all means so far, root mean square over rounds
    assumption: str  # in words
    zcdp: float | None = None
    separation: int | None = None
    participations: int | None = None
    sensitivity: float | None = None  # of the strategy matrix C
    coefficients: str | None = None  # the matrix C, as privacy.coefficients
    error: float | None = None  # prefix-sum error of C × its sensitivity
    error_independent: float | None = None  # the same for independent noise


def check_out(out: Path) -> Path:
    """Returns the file that a path leads to; refuses one that is not a plan."""
    return check_file(out, f'"format": "{FORMAT[:-1]}'.encode(), "a privacy plan of Tacit")


def write(out: Path, plan: Plan) -> None:
    """Writes the file of a plan."""
    target = check_out(out)
    make_folder(target)
    record = {"format": FORMAT, **dataclasses.asdict(plan)}
    write_atomic(target, json.dumps(record, indent=1, allow_nan=False) + "\n")


def read(path: Path) -> Plan:
    """Reads the file of a plan, checked field by field."""
    try:
        record = read_object(path)
        if record.pop("format", None) != FORMAT:
            raise ValueError(f"its format is not '{FORMAT}'")
        _check(record)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise TacitError(
            f"{path}: not a privacy plan ({why}); write one with `tacit privacy plan … --out FILE`"
        ) from None
    return Plan(**{**record, "epsilons": tuple(record["epsilons"])})


def _check(record: dict[str, Any]) -> None:
    names = {f.name: f.default is dataclasses.MISSING for f in dataclasses.fields(Plan)}
    for name, needed in names.items():
        if needed and name not in record:
            raise ValueError(f"it has no '{name}'")
    for name, value in record.items():
        if name not in names:
            raise ValueError(f"unknown key {shown(name)}")
        if not _FITS[name](value):
            raise ValueError(f"{name} = {shown(value)} is not what it should be")
    if record["epsilons"] != sorted(record["epsilons"]):
        raise ValueError("its ε falls from one round to the next")
    if len(record["epsilons"]) != record["rounds"]:
        raise ValueError("it has not one ε for each round")
    if record["mechanism"] == "matrix" and None in (record.get("sensitivity"), record.get("coefficients")):
        raise ValueError("its matrix is missing")


def _positive(value: Any) -> bool:
    return is_figure(value) and value > 0


def _count(value: Any) -> bool:
    return type(value) is int and 0 < value < 2**53


def _or_null(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or fits(value)


def _text(value: Any) -> bool:
    return isinstance(value, str)


_FITS: dict[str, Callable[[Any], bool]] = {
    "mechanism": lambda value: value in ("gaussian", "matrix", "local"),
    "sampling": lambda value: value in ("poisson", "fixed", "separated"),
    "delta": lambda value: _positive(value) and value < 1,
    "rounds": _count,
    "population": _count,
    "clients": _count,
    "rate": lambda value: _positive(value) and value <= 1,
    "noise_multiplier": _positive,
    "epsilon": _positive,
    "epsilon_rdp": _or_null(_positive),
    "epsilon_pld": _or_null(_positive),
    "epsilons": lambda value: isinstance(value, list) and all(is_figure(x) and x >= 0 for x in value),
    "noise_in_mean": _or_null(_positive),
    "noise_in_sum": _positive,
    "assumption": _text,
    "zcdp": _or_null(_positive),
    "separation": _or_null(_count),
    "participations": _or_null(_count),
    "sensitivity": _or_null(_positive),
    "coefficients": _or_null(_text),
    "error": _or_null(_positive),
    "error_independent": _or_null(_positive),
}
assert set(_FITS) == {f.name for f in dataclasses.fields(Plan)}


def within(plan: Plan, budget: float) -> int:
    """Returns how many rounds of a plan stay within a budget of ε.

    >>> import types
    >>> within(types.SimpleNamespace(epsilons=(1.0, 2.0, 3.0)), 2.5)
    2
    """
    return sum(epsilon <= budget for epsilon in plan.epsilons) if math.isfinite(budget) else plan.rounds
