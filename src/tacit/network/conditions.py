"""Decides whether a device may work for a federation now: idle, charging, on an unmetered network, enough memory.

A function that is called before each task gives the device's state. There are three: `from_file` reads a file that the
host's own scripts or a phone's service keep up to date, `of_system` reads power and memory from Linux, and `OPEN`
requires nothing. A run may also ask for a language, a region and a version of the app (`tacit.runs.conditions`). A
condition that a device does not state does not hold.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tacit import __version__
from tacit.base.errors import TacitError, nearest, shown
from tacit.base.reading import is_figure, read_object
from tacit.runs.conditions import ConditionsConfig, check

SYSTEM = "system"
_MEMINFO, _POWER = Path("/proc/meminfo"), Path("/sys/class/power_supply")


class State(NamedTuple):
    """Holds what a device states about itself; None or "" for what it does not state."""

    idle: bool | None = None
    charging: bool | None = None
    unmetered: bool | None = None
    memory_gb: float | None = None  # 10⁹ bytes
    language: str = ""
    region: str = ""
    version: str = ""  # of the app that Tacit is part of


class Required(NamedTuple):
    """Holds the conditions that must hold for every run."""

    idle: bool = True
    charging: bool = True
    unmetered: bool = True
    memory_gb: float = 2.0


class Conditions(NamedTuple):
    """Holds a function that gives the device's state before each task, and what must hold."""

    state: Callable[[], State]
    required: Required = Required()


OPEN = Conditions(State, Required(idle=False, charging=False, unmetered=False, memory_gb=0.0))


def unmet(state: State, required: Required, asked: ConditionsConfig) -> list[str]:
    """Returns the conditions that do not hold, in words for the owner; none if the device may work.

    >>> unmet(State(idle=True, charging=False, unmetered=True, memory_gb=4), Required(), ConditionsConfig())
    ['the device is not charging']
    """
    said = {
        "idle": "the device is in use",
        "charging": "the device is not charging",
        "unmetered": "the network is metered",
    }
    why = []
    for name, words in said.items():
        holds = getattr(state, name)
        if getattr(required, name) and holds is not True:
            why.append(words if holds is False else f"it is not known whether the device is {name}")
    if required.memory_gb and not (state.memory_gb or 0) >= required.memory_gb:
        has = "memory that is not known" if state.memory_gb is None else f"{state.memory_gb:.3g} GB of memory"
        why.append(f"the device has {has}, and {required.memory_gb:g} GB are needed")
    if asked.language and not _speaks(state.language, asked.language):
        why.append(f"the run asks for the language {asked.language}")
    if asked.region and state.region.upper() != asked.region.upper():
        why.append(f"the run asks for the region {asked.region}")
    if asked.version and not (state.version and _numbers(state.version) >= _numbers(asked.version)):
        why.append(f"the run asks for version {asked.version} of the app, or a later one")
    return why


def named(name: str) -> Conditions:
    """Returns the conditions of `--conditions`: a file, or `system`."""
    if name == SYSTEM:
        of_system()  # refuses a system that tells nothing
        return Conditions(of_system, Required(idle=False, unmetered=False))
    return from_file(Path(name))


def from_file(file: Path) -> Conditions:
    """Returns conditions whose state is read from a JSON file before each task.

    The file has any of the fields of `State`, such as `{"idle": true, "charging": true, "memory_gb": 3.7}`.
    """
    read_state(file)  # a wrong file is told at once
    return Conditions(lambda: read_state(file))


def read_state(file: Path) -> State:
    """Reads a device's state."""
    try:
        said = read_object(file)
    except FileNotFoundError:
        raise TacitError(
            f"{file} is missing; write the device's state there, or leave --conditions out"
        ) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise TacitError(f"{file} is not a device's state ({why}); write it as JSON") from None
    for name, value in said.items():
        if name not in State._fields:
            raise TacitError(f"{file}: unknown key {shown(name)}{nearest(name, State._fields)}")
        if name in ("idle", "charging", "unmetered"):
            fits, wanted = type(value) is bool, "true or false"
        elif name == "memory_gb":
            fits, wanted = is_figure(value) and value >= 0, "a number of at least 0"
        else:
            fits, wanted = isinstance(value, str), "a string"
        if not fits:
            raise TacitError(f"{file}: {name} = {shown(value)} must be {wanted}")
    _check_words(said, file)
    return State(**said)


def of_system(meminfo: Path = _MEMINFO, power: Path = _POWER, locale: str | None = None) -> State:
    """Returns what Linux tells of a device: its memory, whether it runs on mains power, and the person's locale."""
    try:
        total = next(line for line in meminfo.read_text("utf-8").splitlines() if line.startswith("MemTotal:"))
        memory = int(total.split()[1]) * 1024 / 1e9
    except (OSError, StopIteration, ValueError, IndexError):
        raise TacitError(
            f"--conditions system reads {meminfo}, which this system does not have; give a file with the state"
        ) from None
    if locale is None:
        locale = next(filter(None, map(os.environ.get, ("LC_ALL", "LC_MESSAGES", "LANG"))), "") or ""
    tag = locale.partition(".")[0].partition("@")[0].replace("_", "-")
    tag = "" if tag.upper() in ("C", "POSIX") else tag
    return State(None, _charging(power), None, memory, tag, tag.partition("-")[2], __version__)


def _charging(power: Path) -> bool:
    """Returns whether a device runs on mains power: without a battery, or with one that is not discharging."""
    try:
        supplies = [
            {name: _line(folder / name) for name in ("type", "scope", "status", "online")}
            for folder in sorted(power.iterdir())
        ]
    except OSError:
        supplies = []
    own = [supply for supply in supplies if supply["scope"] != "Device"]  # not the battery of a mouse
    states = {supply["status"] for supply in own if supply["type"] == "Battery"}
    if not states:
        return True
    plugged = any(supply["online"] == "1" for supply in own if supply["type"] != "Battery")
    return "Discharging" not in states and (plugged or bool(states & {"Charging", "Full", "Not charging"}))


def _line(file: Path) -> str:
    try:
        return file.read_text("utf-8").strip()
    except (OSError, ValueError):
        return ""


def _check_words(said: Mapping[str, Any], file: Path) -> None:
    """Refuses a value that is not a language, a region or a version."""
    try:
        check(
            ConditionsConfig(**{k: v for k, v in said.items() if k in ConditionsConfig.__dataclass_fields__})
        )
    except TacitError as error:
        raise TacitError(f"{file}: {str(error).removeprefix('conditions.')}") from None


def _speaks(language: str, asked: str) -> bool:
    """Returns whether a language is the one asked for, or a variety of it.

    >>> _speaks("de-AT", "de"), _speaks("de", "de-AT"), _speaks("den", "de")
    (True, False, False)
    """
    return f"{language.lower()}-".startswith(f"{asked.lower()}-")


def _numbers(version: str) -> tuple[int, ...]:
    """Returns a version as numbers; what follows them, such as `.dev1`, does not count.

    >>> _numbers("2.10") > _numbers("2.9"), _numbers("2.0") == _numbers("2")
    (True, True)
    """
    numbers: list[int] = []
    for part in version.split("."):
        if not (part.isascii() and part.isdecimal()):
            break
        numbers.append(int(part))
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
