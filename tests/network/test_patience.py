"""The gates bound the time of a connection, print nothing of what strangers send, and say why they cannot listen."""

from __future__ import annotations

import os
import socket
import time
from pathlib import Path

import pytest
from starlette.requests import Request
from starlette.responses import PlainTextResponse

from tacit.base.errors import TacitError
from tacit.network import federation, patience
from tacit.network.server import _bound, _manners, _serving, _tls, serve

LONG = 60.0  # seconds until a test gives up


async def app(scope, receive, send):
    """Answers with the number of bytes that it got; with a megabyte for each of them at /large."""
    size = len(await Request(scope, receive).body())
    await PlainTextResponse("x" * (size << 20) if scope["path"] == "/large" else str(size))(
        scope, receive, send
    )


@pytest.fixture
def gate(tmp_path):
    """A gate with short limits; gives its address."""
    with _bound("127.0.0.1", 0) as bound, _serving(_manners(tmp_path / "gate.log", app), bound):
        yield bound.getsockname()


def until_closed(one: socket.socket, trickle: bytes = b"") -> bytes:
    """Returns what comes until the other side closes, while a byte is sent now and then."""
    one.settimeout(0.05)
    got, end = bytearray(), time.monotonic() + LONG
    while time.monotonic() < end:
        try:
            if trickle:
                one.sendall(trickle)
            part = one.recv(1 << 20)
            if not part:
                return bytes(got)
            got += part
        except TimeoutError:
            continue
        except OSError:
            return bytes(got)
    raise AssertionError("the connection is still open")


@pytest.mark.parametrize(
    ("begun", "trickle"),
    [
        (b"", b""),
        (b"GET / HTTP/1.1\r\nhost: x\r\nslow: ", b"x"),
        (b"GET / HTTP/1.1\r\nhost: x\r\n\r\n", b""),  # answered, and then idle
        (b"GET / HTTP/1.1\r\nhost: x\r\n\r\nGET / HTTP/1.1\r\nslow: ", b"x"),
    ],
)
def test_a_connection_without_a_whole_head_is_closed(monkeypatch, gate, begun, trickle):
    monkeypatch.setattr(patience, "HEAD", 0.3)
    with socket.create_connection(gate) as one:
        one.sendall(begun)
        assert until_closed(one, trickle).count(b"200 OK") == begun.count(b"\r\n\r\n")


@pytest.mark.parametrize("path", [b"/", b"/large"])
def test_a_body_that_never_ends_and_an_answer_that_nobody_reads_are_closed(monkeypatch, gate, path):
    monkeypatch.setattr(patience, "WHOLE", 0.3)
    with socket.create_connection(gate) as one:
        if path == b"/":
            one.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1000000\r\n\r\n")
            assert until_closed(one, b"x") == b""
        else:
            one.sendall(b"POST /large HTTP/1.1\r\nhost: x\r\ncontent-length: 40\r\n\r\n" + b"x" * 40)
            time.sleep(1.0)
            assert len(until_closed(one)) < 40 << 20


def test_a_slow_body_within_the_limit_is_answered(monkeypatch, gate):
    monkeypatch.setattr(patience, "HEAD", 0.3)
    with socket.create_connection(gate) as one:
        one.sendall(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\n")
        for _ in range(5):
            time.sleep(0.15)
            one.sendall(b"x")
        assert until_closed(one).endswith(b"\r\n\r\n5")


def test_an_answer_that_is_read_slowly_within_the_limit_is_whole(monkeypatch, gate):
    monkeypatch.setattr(patience, "HEAD", 0.3)
    with socket.create_connection(gate) as one:
        one.sendall(
            b"POST /large HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 40\r\n\r\n" + b"x" * 40
        )
        time.sleep(1.0)
        assert len(until_closed(one)) > 40 << 20


def test_nothing_is_printed_of_what_strangers_send(tmp_path, capfd):
    home = tmp_path / "home"
    federation.init(home)
    with _bound("127.0.0.1", 0) as bound, _serving(_tls(home, tmp_path / "gate.log", app), bound):
        for hello in (b"GET / HTTP/1.1\r\n\r\n", b"\x16\x03\x01\xff\xff", b""):
            with socket.create_connection(bound.getsockname()) as one:
                one.sendall(hello)
                one.shutdown(socket.SHUT_WR)
                until_closed(one)
    with _bound("127.0.0.1", 0) as bound, _serving(_manners(tmp_path / "gate.log", app), bound):
        for hello in (b"\0\r\n\r\n", b"GET / HTTP/9\r\n\r\n", b"GET /\xff HTTP/1.1\r\nx: \xff\r\n\r\n"):
            with socket.create_connection(bound.getsockname()) as one:
                one.sendall(hello)
                one.shutdown(socket.SHUT_WR)
                until_closed(one)
    assert capfd.readouterr() == ("", "")


def test_where_nobody_can_listen_is_said_before_flower_starts(tmp_path, capfd):
    home = tmp_path / "home"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        federation.init(home, port=port)
        with pytest.raises(TacitError, match=rf"cannot listen on 127\.0\.0\.1, port {port}: Address already"):
            serve(home)
        with pytest.raises(TacitError, match=r"cannot listen on 192\.0\.2\.1, port .*: Cannot assign"):
            serve(home, "192.0.2.1")
        with pytest.raises(TacitError, match=r"cannot listen on a\.\.b, port"):
            serve(home, "a..b")
    (home / "server.key").write_text("no key")
    with (
        pytest.raises(TacitError, match=r"server\.crt: cannot be used"),
        _bound("127.0.0.1", 0) as bound,
        _serving(_tls(home, Path(os.devnull), app), bound),
    ):
        pass
    assert capfd.readouterr().err == "" and not list((home / "logs").iterdir())
