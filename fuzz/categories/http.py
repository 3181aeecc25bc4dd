"""Requests to the server of the keyboard page: paths, hosts, methods, headers, bodies, halves of requests."""

from __future__ import annotations

import random
import socket
import threading
from functools import cache

from fuzz import mutate
from fuzz.box import SECRET, Box, untouched
from fuzz.categories import Category
from fuzz.material import Material
from fuzz.trial import Ending, Fault
from tacit.page import server
from tacit.page.models import page_models

_PATHS = (
    "/",
    "/index.html",
    "/models.json",
    "/model-0.tacit",
    "/model-1.tacit",
    "/../outside/secret.jsonl",
    "/..%2f..%2fetc%2fpasswd",
    "/%2e%2e/%2e%2e/etc/passwd",
    "//etc/passwd",
    "/etc/passwd",
    "/\\..\\..\\etc\\passwd",
    "/index.html?x=/../..",
    "/index.html%00.js",
    "/index.html#x",
    "http://evil.example/",
    "*",
    "",
    "/" + "a" * 70_000,
    "/app.js/",
    "/./app.js",
    "/APP.JS",
)
_HOSTS = (
    "localhost",
    "127.0.0.1",
    "[::1]",
    "evil.example",
    "127.0.0.1.evil.example",
    "localhost.evil.example",
    "0.0.0.0",
    "2130706433",
    "127.1",
    "",
    " localhost",
    "localhost@evil.example",
    "evil.example#localhost",
    "[::ffff:127.0.0.1]",
    "localhost, evil.example",
    "127.0.0.1:99999",
)
LOCAL = ("localhost", "127.0.0.1", "[::1]")
_METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "get", "", "G\0T", "PRI")


@cache
def _port(compact: str) -> int:
    """Starts the server of a compact file in a thread, once."""
    from pathlib import Path

    ready = server.server(server.site(page_models(Path(compact)).models))
    threading.Thread(target=ready.serve_forever, daemon=True).start()
    return int(ready.server_address[1])


def _request(draw: random.Random) -> tuple[bytes, str]:
    method, path, host = draw.choice(_METHODS), draw.choice(_PATHS), draw.choice(_HOSTS)
    if draw.random() < 0.5:
        method, host = "GET", draw.choice(LOCAL)
        path = draw.choice((path, draw.choice(_PATHS[:4])))
    version = draw.choice(("HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/9", "", "ICY"))
    headers = [f"Host: {host}"] if draw.random() < 0.9 else []
    for _ in range(draw.choice((0, 0, 1, 3))):
        headers.append(
            draw.choice(
                (
                    f"Content-Length: {mutate.number(draw)}",
                    "Transfer-Encoding: chunked",
                    f"X-A: {mutate.text(draw)[:60_000]}",
                    "Range: bytes=0-9",
                    "Expect: 100-continue",
                    f"Host: {draw.choice(_HOSTS)}",
                    "Connection: keep-alive",
                    "no colon",
                    f"Origin: http://{host}",
                )
            )
        )
    if draw.random() < 0.02:
        headers += [f"X-{i}: 1" for i in range(200)]
    whole = f"{method} {path} {version}\r\n" + "".join(f"{h}\r\n" for h in headers) + "\r\n"
    content = whole.encode("utf-8", "surrogatepass")
    if draw.random() < 0.2:
        content = mutate.data(draw, content)
    if draw.random() < 0.1:
        content += draw.randbytes(draw.choice((1, 1000, 100_000)))
    return content, host


def exchange(port: int, content: bytes, close: bool = True) -> bytes:
    """Sends bytes and returns all that comes back."""
    with socket.create_connection(("127.0.0.1", port), timeout=5) as connection:
        answer = b""
        try:
            connection.sendall(content)
            if close:
                connection.shutdown(socket.SHUT_WR)
            while part := connection.recv(1 << 16):
                answer += part
                if len(answer) > 1 << 22:
                    break
        except TimeoutError:
            raise Fault("hang", f"no end of the answer to {content[:200]!r}") from None
        except OSError:
            pass  # the server has hung up
        return answer


def trial(draw: random.Random, box: Box, material: Material, number: int) -> Ending:
    port = _port(str(material.compact))
    content, _ = _request(draw)
    with untouched(box):
        answer = exchange(port, content)
    for leaked in (SECRET.encode(), b"root:", b"Traceback"):
        if leaked in answer:
            raise Fault("foreign", f"the answer to {content[:200]!r} holds {leaked!r}")
    hosts = [line[5:].strip() for line in content.split(b"\r\n") if line.lower().startswith(b"host:")]
    served = b" 200 " in answer.partition(b"\r\n")[0]
    if served and len(hosts) == 1 and not _local(hosts[0]):
        raise Fault("foreign", f"served to the host {hosts[0][:100]!r}")
    again = exchange(port, b"GET /models.json HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    if b" 200 " not in again.partition(b"\r\n")[0]:
        raise Fault("crash", f"after {content[:200]!r} the server answers {again[:100]!r}")
    return "ok" if served else "refused"


def _local(host: bytes) -> bool:
    """Whether a Host names this machine: a loopback address or localhost, with or without a port."""
    name = host.decode("latin-1").lower()
    name = name[1:].partition("]")[0] if name.startswith("[") else name.partition(":")[0]
    return (
        name == "localhost"
        or name == "::1"
        or (name.startswith("127.") and name.count(".") == 3)
        or name.endswith("127.0.0.1")
    )


CATEGORY = Category("requests to the page's server", trial, 2000, plain=lambda box, m: _port(str(m.compact)))
