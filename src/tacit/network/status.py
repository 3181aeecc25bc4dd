"""Reads the state of a federation from its directory, without Flower: its server, its clients and its runs."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.files import read_lines
from tacit.base.locks import is_locked
from tacit.base.reading import read_object, read_regular
from tacit.network import federation
from tacit.runs.directory import METRICS

PID = "server.pid"
_STOPS = 30.0


def status(place: Path) -> dict[str, Any]:
    """Returns the state of a federation."""
    home = federation.read(place)
    return {
        "served": is_locked(place / "flower"),
        "address": home.address,
        "clients": [client.name for client in home.clients if not client.removed],
        "runs": [run_of(order) for order in orders(place)],
    }


def orders(place: Path) -> list[Path]:
    """Returns the orders of a federation's runs, the oldest first."""
    return [order for order in sorted((place / "runs").iterdir()) if (order / "order.json").is_file()]


def stop(place: Path) -> bool:
    """Stops the server of a federation; returns whether there was one."""
    federation.read(place)
    if not is_locked(place / "flower"):
        return False
    os.kill(_server(place / PID), signal.SIGTERM)
    until = time.monotonic() + _STOPS
    while is_locked(place / "flower") and time.monotonic() < until:
        time.sleep(0.1)
    return True


def _server(file: Path) -> int:
    """Returns the number of the server's process; 0 and -1 would be many processes."""
    with contextlib.suppress(OSError, ValueError):
        if (number := int(read_regular(file))) > 1:
            return number
    raise TacitError(
        f"{file} does not name the server's process; stop the server with Ctrl-C in its terminal"
    )


def record(file: Path) -> dict[str, Any]:
    """Returns the content of a file of an order."""
    try:
        return read_object(file)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise TacitError(
            f"{file} is not as Tacit writes it ({why}); restore it, or remove its folder"
        ) from None


def run_of(order: Path) -> dict[str, Any]:
    """Returns the state of an order's run."""
    said = record(order / "order.json")
    out, work = Path(str(said.get("out"))), str(said.get("work", "train"))
    ended = record(order / "ended.json") if (order / "ended.json").is_file() else {}
    state = str(ended.get("state", "running" if is_locked(order) else "cut off"))
    return {
        "run": order.name,
        "work": work,
        "state": state,
        "rounds": len(read_lines(out / METRICS)) if work == "train" else None,
        "directory": str(out),
    }
