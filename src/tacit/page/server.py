"""The web server of the keyboard page.

It reads everything before it listens: the page (`static/`), the models, and a list of them. It answers requests from
that table alone and never looks up a path on disk, so path traversal is impossible. By default it listens on
this machine only and answers only to this machine's names, so that no web page can reach it by another name (DNS
rebinding).

The policy that it sends lets the page load from this server and from nowhere else. When the page has loaded, it adds a
stricter policy that forbids every request (static/load.js); docs/page.md explains the guarantees.
"""

from __future__ import annotations

import dataclasses
import errno
import io
import json
import re
import socket
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from ipaddress import ip_address
from pathlib import Path
from socketserver import TCPServer
from typing import Any

from tacit.base.errors import TacitError
from tacit.keyboard import dictionary, layout, parameters
from tacit.page.files import TYPES, Answer, packed, tuning, version
from tacit.page.models import PageModel
from tacit.text.locale import ENGLISH, Locale
from tacit.text.locale_segments import RUNS, table

HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
SECONDS = 30.0  # that a connection may take for a request, and for reading the answer
CONNECTIONS = 64  # at once; a browser opens six
_MODULES = b"<!-- modules -->"
_IMPORT = re.compile(r'^(?:import|export|\}).* from "\./(\w+\.js)";$', re.MULTILINE)
DICTIONARY = "dictionary.hashes"
WORKER = "worker.js"  # the service worker, asked for with its hash
WORDS = ("compare", "own")  # with which the page may be asked for, as `/?compare`


Site = Mapping[str, Answer]


def page_files() -> dict[str, Answer]:
    """Returns the files of the page that a browser loads, by name.

    >>> sorted(page_files())[-2:], page_files()["index.html"].kind
    (['words.js', 'worker.js'], 'text/html; charset=utf-8')
    """
    here = resources.files("tacit.page") / "static"
    files = {
        file.name: Answer(TYPES[Path(file.name).suffix], file.read_bytes(), "no-cache")
        for file in here.iterdir()
        if Path(file.name).suffix in TYPES
    }
    page = files["index.html"]
    links = "\n".join(f'<link rel="modulepreload" href="{name}">' for name in _modules(files, "app.js"))
    files["index.html"] = page._replace(body=page.body.replace(_MODULES, links.encode()))
    return files


def _modules(files: Mapping[str, Answer], first: str) -> list[str]:
    """Returns a script and all that it imports: a browser that knows them need not read one to ask for the next."""
    found = [first]
    for name in found:
        found += [m for m in _IMPORT.findall(files[name].body.decode()) if m in files and m not in found]
    return list(dict.fromkeys(found))


def site(
    models: Sequence[PageModel],
    blocked: Iterable[str] = (),
    problems: Sequence[str] = (),
    capitals: Mapping[str, str] = {},
    locale: Locale = ENGLISH,
) -> Site:
    """Returns all responses, by the path of the request; `capitals` has the words that are written with one."""
    files = page_files()
    own, worker = sorted(files.keys() - {"index.html", WORKER}), files[WORKER]
    # its name changes with it, so a browser need not ask again, which it would do after the page has loaded
    files[WORKER] = worker._replace(cache="max-age=31536000, immutable")
    listed: list[dict[str, Any]] = []
    for i, model in enumerate(models):
        entry: dict[str, Any] = {"id": model.id, "title": model.title, "about": model.about}
        if model.mix:
            entry["mix"] = model.mix._asdict()
        else:
            entry["file"] = f"model-{i}.tacit"
            files[entry["file"]] = Answer("application/octet-stream", model.data)
        made = {"made": model.made} if model.made else {}
        listed.append({**entry, **made, **({"compare": True} if model.compare else {})})
    if words := dictionary.raw_of(locale):
        files[DICTIONARY] = Answer("application/octet-stream", words)
    manifest = {
        "models": listed,
        "problems": list(problems),
        "blocked": sorted(blocked),
        "layout": layout.as_json(layout.of_locale(locale)),
        "locale": locale_json(locale),
        "parameters": parameters.as_json(),
        "capitals": dict(capitals),
        **({"dictionary": DICTIONARY} if words else {}),
        "worker": f"{WORKER}?{version(worker.body)}",
        "files": ["./", *own],
    }
    # names of files and models may hold what UTF-8 has not: it is escaped as JSON escapes it
    text = json.dumps(manifest, ensure_ascii=False).encode("utf-8", "backslashreplace")
    files["models.json"] = Answer("application/json", text)
    by_path = {f"/{name}": answer for name, answer in files.items()} | tuning()
    return {path: packed(answer) for path, answer in {"/": files["index.html"], **by_path}.items()}


def locale_json(locale: Locale) -> dict[str, Any]:
    """Returns a locale for the page, with the table that finds words if its script has no spaces."""
    facts = {field.name: getattr(locale, field.name) for field in dataclasses.fields(locale)}
    segments = {"run": RUNS[locale.segmenter], "table": table(locale.segmenter)} if locale.segmenter else None
    return {**facts, "segments": segments}


class Server(ThreadingHTTPServer):
    """One thread for each connection, of which there are a bounded number; a browser that hangs up is not an error."""

    daemon_threads = True

    def __init__(self, *arguments: Any) -> None:
        self._places = threading.BoundedSemaphore(CONNECTIONS)
        super().__init__(*arguments)

    def server_bind(self) -> None:
        """Binds without asking for the name of the address, which can take long where there is no network."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    def process_request(self, request: Any, client_address: Any) -> None:
        """Starts the thread of a connection; closes a connection that is one too many."""
        if self._places.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answers a connection until it ends."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._places.release()

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing: a line on standard error means that a command has failed."""


class Server6(Server):
    """The server for an IPv6 address."""

    address_family = socket.AF_INET6


def server(files: Site, host: str = "127.0.0.1", port: int = 0) -> Server:
    """Returns a server that listens; `serve_forever` answers. Port 0 takes any free port.

    >>> with server(site([]), "127.1") as ready:
    ...     ready.server_address[0]
    '127.0.0.1'
    """
    if not 0 <= port <= 65535:
        raise TacitError(f"--port {port}: a port is a number from 0 (any free port) to 65535")
    place = resolve(host)
    kind = Server6 if ":" in place else Server
    try:
        return kind((place, port), _handler(files, loopback(place)))
    except OSError as error:
        if error.errno == errno.EADDRINUSE:
            reason, hint = f"port {port} is in use", "choose another with --port, or --port 0 for any"
        elif error.errno == errno.EACCES:
            reason, hint = f"port {port} is not permitted", "choose one above 1023"
        else:
            reason, hint = f"--host {host}: {error.strerror or error}", "give an address of this machine"
        raise TacitError(f"cannot serve: {reason}; {hint}") from None


def resolve(host: str) -> str:
    """Returns the address that a host means, as numbers; all rules about addresses look at this one.

    >>> resolve("127.1"), resolve("::1")
    ('127.0.0.1', '::1')
    """
    if not host.strip():
        raise TacitError("--host is empty, which would listen on every address; leave it out, or give one")
    try:
        every = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, ValueError) as error:  # ValueError: a name that no host can have
        reason = getattr(error, "strerror", None) or "no name of a host"
        raise TacitError(f"cannot serve: --host {host}: {reason}; give an address of this machine") from None
    return str(min(every, key=lambda address: address[0] != socket.AF_INET)[4][0])


def address(ready: Server) -> str:
    """Returns the address of the page, for a browser."""
    host, port = ready.server_address[:2]
    name = host.decode() if isinstance(host, bytes | bytearray) else host
    return f"http://{f'[{name}]' if ':' in name else name}:{port}/"


class _Until(io.RawIOBase):
    """Reads from a connection until a moment, however slowly the bytes come."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self.end = connection, 0.0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._connection.settimeout(max(self.end - time.monotonic(), 1e-3))
        return self._connection.recv_into(buffer)


def _handler(files: Site, local_only: bool) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "tacit", ""

        def setup(self) -> None:
            super().setup()
            self.rfile.close()
            self._until = _Until(self.connection)
            self.rfile = io.BufferedReader(self._until)

        def handle_one_request(self) -> None:
            self._until.end = time.monotonic() + SECONDS  # for the whole request
            super().handle_one_request()

        def parse_request(self) -> bool:
            understood = super().parse_request()
            self.connection.settimeout(SECONDS)  # for the whole answer
            if understood and {"Content-Length", "Transfer-Encoding"} & set(self.headers):
                self.close_connection = True  # no request here has a body, and none is read
            return understood

        def do_GET(self) -> None:
            self._answer(body=True)

        def do_HEAD(self) -> None:
            self._answer(body=False)

        def _answer(self, body: bool) -> None:
            answer = files.get(self.path.partition("?")[0])
            if local_only and not _is_local(self.headers.get("Host", "")):
                self._send(
                    421, Answer("text/plain", b"this server answers to names of this machine only\n"), body
                )
            elif answer is None:
                self._send(404, Answer("text/plain", b"there is no such file here\n"), body)
            else:
                self._send(200, answer, body)

        def _send(self, status: int, answer: Answer, body: bool) -> None:
            takes = "gzip" in self.headers.get("Accept-Encoding", "")
            sent = answer.packed if takes and answer.packed else answer.body
            self.send_response(status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(sent)))
            if answer.packed:
                self.send_header("Vary", "Accept-Encoding")
            if takes and answer.packed:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Cache-Control", answer.cache)
            self.send_header("Content-Security-Policy", answer.policy)
            for name, value in HEADERS.items():
                self.send_header(name, value)
            self.end_headers()
            if body:
                self.wfile.write(sent)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing: what a person does here is private."""

    return Handler


def _is_local(host: str) -> bool:
    """Whether a Host header names this machine.

    >>> hosts = ("localhost:8080", "[::1]:80", "evil.example:8080", "127.0.0.1.evil.example")
    >>> [_is_local(host) for host in hosts]
    [True, True, False, False]
    """
    return loopback(host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0])


def loopback(name: str) -> bool:
    """Whether a name or address means this machine and no other.

    >>> [loopback(name) for name in ("LOCALHOST", "127.0.0.2", "::1", "0.0.0.0", "", "127.0.0.1.evil.example")]
    [True, True, True, False, False, False]
    """
    try:
        address = ip_address(name)
    except ValueError:
        return name.lower() == "localhost"
    return (getattr(address, "ipv4_mapped", None) or address).is_loopback
