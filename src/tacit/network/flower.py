"""Runs Flower's own programs with the flags and environment that they need; no other module knows these.

Flower's messages changed twice in 2026, so pyproject.toml bounds its versions, and tests run the real programs.
Telemetry, update checks and installation at run time are off.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tacit.base.errors import TacitError
from tacit.base.files import check_own, write_atomic

_BIN = Path(sys.executable).parent
_TETHER = Path(__file__).with_name("tether.py")
_STARTS = 600.0  # seconds; a program that has ended is noticed at once, a slow machine is waited for
_STOPS = 15.0


def require() -> None:
    """Raises an error if Flower is not installed."""
    if importlib.util.find_spec("flwr") is None:
        raise TacitError(
            "this command needs Flower: install Tacit with its extra, `pip install 'tacit[network]'`"
        )


def environment(home: Path) -> dict[str, str]:
    """Returns the environment of Flower's programs."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("FLWR_") and k != "PYTHONPATH"}
    return {
        **kept,
        "PATH": f"{_BIN}{os.pathsep}{kept.get('PATH', '')}",
        "FLWR_HOME": str(home),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
        "PYTHONSAFEPATH": "1",  # nothing is imported from the current directory
    }


def free_port() -> int:
    """Returns a port of loopback that is free now."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def start(program: str, arguments: list[str], home: Path, log: Path) -> subprocess.Popen[bytes]:
    """Starts one of Flower's programs in a new process group, with its output in a file.

    It ends with this process, even after kill -9 (`tether`).
    """
    file = _BIN / program
    if not file.is_file():
        raise TacitError(f"{file} is missing; install Tacit with its extra, `pip install 'tacit[network]'`")
    check_own(log)
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-P", str(_TETHER), str(file), *arguments],
            env=environment(home),
            stdin=subprocess.PIPE,  # nothing is written to it: it closes when this process ends
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ends a program and everything it started."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_STOPS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)  # what it started is in its group
    process.wait()
    if process.stdin:
        process.stdin.close()


def start_superlink(place: Path, port: int) -> subprocess.Popen[bytes]:
    """Starts SuperLink on loopback: TLS, and only registered keys."""
    arguments = ["--host", "127.0.0.1", "--port", str(port), "--enable-supernode-auth"]
    arguments += ["--ssl-ca-certfile", str(place / "ca.crt"), "--ssl-certfile", str(place / "server.crt")]
    arguments += [
        "--ssl-keyfile",
        str(place / "server.key"),
        "--database",
        str(place / "flower" / "state.db"),
    ]
    return start(
        "flower-superlink",
        [*arguments, "--disable-runtime-dependency-installation"],
        place / "flower",
        place / "logs" / "superlink.log",
    )


def start_supernode(
    home: Path, address: str, authority: Path, key: Path, port: int
) -> subprocess.Popen[bytes]:
    """Starts a SuperNode that hands tasks to this program instead of running code that a server sends."""
    arguments = ["--superlink", address, "--root-certificates", str(authority)]
    arguments += ["--auth-supernode-private-key", str(key), "--isolation", "process"]
    return start(
        "flower-supernode",
        [*arguments, "--host", "127.0.0.1", "--port", str(port)],
        home,
        home / "supernode.log",
    )


def wait_for_port(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    """Waits until a program listens."""
    until = time.monotonic() + _STARTS
    while time.monotonic() < until:
        if process.poll() is not None:
            raise TacitError(f"Flower ended at once (exit code {process.returncode}); {log} says why")
        with socket.socket() as one:
            one.settimeout(1)
            if one.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise TacitError(f"Flower does not listen after {_STARTS:.0f} s; {log} may say why")


def connect(place: Path, port: int) -> None:
    """Writes where Flower's command finds this SuperLink."""
    lines = ["[superlink]", 'default = "here"', "[superlink.here]", f'address = "127.0.0.1:{port}"']
    lines += [f"root-certificates = {json.dumps(str((place / 'ca.crt').resolve()))}"]
    write_atomic(place / "flower" / "config.toml", "\n".join(lines) + "\n")


def command(place: Path, *arguments: str) -> dict[str, Any]:
    """Runs Flower's command and returns what it prints as JSON."""
    done = subprocess.run(
        [sys.executable, "-P", str(_BIN / "flwr"), *arguments, "--format", "json"],
        env=environment(place / "flower"),
        capture_output=True,
        text=True,
        check=False,
    )
    text = done.stdout[done.stdout.find("{") :]
    try:
        said: dict[str, Any] = json.loads(text)
    except ValueError:
        said = {"success": False, "error-message": (done.stderr or done.stdout).strip()[-300:]}
    if not said.get("success"):
        why = " ".join(str(said.get("error-message", "it does not say why")).split())[:300]
        raise TacitError(f"Flower refuses `flwr {shlex.join(arguments[:2])}`: {why}")
    return said


def register(place: Path, public: Path, name: str) -> int:
    """Registers the key of a client; returns Flower's number for it."""
    return int(command(place, "supernode", "register", str(public), "here", "--name", name)["node-id"])


def unregister(place: Path, node: int) -> None:
    """Locks the key of a client out; does nothing for a node that Flower does not know."""
    try:
        command(place, "supernode", "unregister", str(node), "here")
    except TacitError as error:
        if "not found" not in str(error):
            raise


def submit(place: Path, bundle: Path, settings: Mapping[str, str]) -> int:
    """Starts a run of an app bundle; returns Flower's number for it."""
    given = " ".join(f"{key}={json.dumps(value)}" for key, value in settings.items())
    return int(command(place, "run", str(bundle), "here", "--run-config", given)["run-id"])


def has_ended(place: Path, run: int) -> bool:
    """Returns whether Flower says that a run has ended."""
    (said,) = command(place, "list", "here", "--run-id", str(run))["runs"]
    return str(said["status"]).startswith("finished")


def abandon(place: Path, run: int) -> None:
    """Stops a run of Flower."""
    command(place, "stop", str(run), "here")
