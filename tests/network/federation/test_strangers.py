"""Clients that a server must not admit, each by its own process: one line says why, and nothing goes on."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import Served, Told, tacit
from tacit.network import federation
from tacit.network.keys import client_keys


@pytest.fixture(scope="module")
def open_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has invited a client who is not there."""
    pytest.importorskip("flwr")
    one = Served(tmp_path_factory.mktemp("strangers"), ["ana"])
    try:
        one.serve()
        yield one
    finally:
        one.end()


def refused(served: Served, invitation: federation.Invitation, *before: str) -> str:
    """The line by which a client with this invitation ends."""
    file = served.folder / f"{invitation.name}-{len(list(served.folder.iterdir()))}.invitation"
    file.write_text(json.dumps({"format": 1, **invitation._asdict()}), "utf-8")
    command = [*before, *tacit("client", file, "--data", served.folder / "ana.jsonl")]
    said = subprocess.run(command, capture_output=True, text=True, timeout=120, env=served.environment)
    assert said.returncode == 2 and said.stderr.count("\n") == 1, said
    assert served.arrivals() == 0
    return said.stderr


def test_another_certificate(open_server: Served, told: Told, tmp_path: Path) -> None:
    federation.init(tmp_path / "other")
    ours = federation.read_invitation(open_server.folder / "ana.invitation")
    wrong = ours._replace(authority=(tmp_path / "other/ca.crt").read_text("utf-8"))
    assert "is not the server of this invitation" in refused(open_server, wrong)
    told("a server with another certificate", "the client refuses it with one line, before it sends anything")


def test_a_key_that_nobody_registered(open_server: Served, told: Told) -> None:
    ours = federation.read_invitation(open_server.folder / "ana.invitation")
    stranger = ours._replace(private=client_keys().private.decode(), name="eve")
    assert "that the invitation is still valid" in refused(open_server, stranger)
    told("a key that nobody registered", "refused; the client ends with one line")


@pytest.mark.parametrize("skew", ["+1h", "-1h"])
def test_a_clock_that_is_an_hour_off(open_server: Served, told: Told, skew: str) -> None:
    """Flower signs the time: a client whose clock is ahead or behind is refused until it is right."""
    if not shutil.which("faketime"):
        pytest.skip("faketime is not installed (apt-get install faketime)")
    ours = federation.read_invitation(open_server.folder / "ana.invitation")
    assert "check that this device's clock is right" in refused(open_server, ours, "faketime", "-f", skew)
    told(
        f"a client's clock {skew} off",
        "its signature has the time in it and is refused; the client ends with one line",
    )
