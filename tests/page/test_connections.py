"""Hostile connections to the server of the page: slow ones, many, with a body, by other names of this machine."""

from __future__ import annotations

import socket
import time
from urllib.parse import urlsplit

import pytest
from page_site import running

from commands import Commands
from tacit.base.errors import TacitError
from tacit.page import server
from tacit.page.files import Answer

FILES = {"/": Answer("text/plain", b"hello")}
REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


def connect(address: str) -> socket.socket:
    where = urlsplit(address)
    return socket.create_connection((where.hostname, where.port), timeout=30)


def answer(connection: socket.socket, request: bytes) -> bytes:
    """What comes back until the server closes the connection."""
    connection.sendall(request)
    received = b""
    while part := connection.recv(65536):
        received += part
    return received


def test_a_request_has_a_deadline_however_its_bytes_come(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.3)
    for whole in (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 99, b"G" * 500):  # in the head, and in its first line
        with running(FILES) as address, connect(address) as slow:
            began = time.monotonic()
            with pytest.raises(OSError):
                for i in range(500):  # a byte every now and then: no pause is long
                    slow.sendall(whole[i : i + 1])
                    time.sleep(0.05)
            assert time.monotonic() - began < 10
            with connect(address) as quick:  # and meanwhile others are answered
                assert answer(quick, REQUEST + b"Connection: close\r\n\r\n").endswith(b"hello")


def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SECONDS", 0.1)
    with running(FILES) as address, connect(address) as silent:
        assert silent.recv(1) == b""
    monkeypatch.setattr(server, "SECONDS", 30.0)
    with running(FILES) as address, connect(address) as kept:  # a browser asks again by the same connection
        for _ in range(3):
            kept.sendall(REQUEST + b"\r\n")
            got = b""
            while not got.endswith(b"hello"):
                got += kept.recv(65536)


def test_one_connection_too_many_is_closed_and_others_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 2)
    with running(FILES) as address:
        first, second = connect(address), connect(address)
        with connect(address) as third:
            assert third.recv(1) == b""
        assert answer(first, REQUEST + b"Connection: close\r\n\r\n").endswith(b"hello")
        first.close()
        for _ in range(100):  # a place is free again
            with connect(address) as fourth:
                try:
                    if answer(fourth, REQUEST + b"Connection: close\r\n\r\n").endswith(b"hello"):
                        break
                except ConnectionError:
                    pass
            time.sleep(0.02)
        else:
            raise AssertionError("no place became free")
        second.close()


def test_a_body_is_never_taken_for_the_next_request() -> None:
    with running(FILES) as address, connect(address) as connection:
        inner = REQUEST + b"\r\n"
        got = answer(connection, REQUEST + b"Content-Length: %d\r\n\r\n" % len(inner) + inner)
        assert got.count(b"HTTP/1.1 200") == 1


@pytest.mark.parametrize("host", ["127.1", "127.0.1", "0x7f.1", "localhost", "2130706433"])
def test_another_spelling_of_this_machine_is_this_machine(host: str) -> None:
    with running(FILES, host) as address:
        assert address.startswith("http://127.0.0.1:") and server.loopback(server.resolve(host))
        for name, status in (
            (b"localhost", b"200"),
            (b"evil.example", b"421"),
            (b"127.1.evil.example", b"421"),
        ):
            with connect(address) as connection:
                request = b"GET / HTTP/1.1\r\nHost: " + name + b"\r\nConnection: close\r\n\r\n"
                assert answer(connection, request).split()[1] == status


def test_every_rule_looks_at_the_same_address() -> None:
    assert [server.loopback(a) for a in ("::ffff:127.0.0.1", "::ffff:10.0.0.1", "::1", "::")] == [
        True,
        False,
        True,
        False,
    ]
    assert server.resolve("0") == "0.0.0.0" and not server.loopback(server.resolve("0"))


@pytest.mark.parametrize(
    "host", ["a..b", "a" * 300, "\x01", "127.0.0.1:80", "[::1]", "a\x00b", "ä" * 70, "\udcff"]
)
def test_a_host_that_is_none_is_one_line(host: str, tacit: Commands, small) -> None:
    with pytest.raises(TacitError, match="--host"):
        server.server(FILES, host)
    if "\x00" not in host:
        tacit("serve", small.path, "--port", 0, "--no-open", "--host", host).refused("cannot serve", "--host")
