"""Runs the server in the foreground: Flower's SuperLink on loopback, and the gate that clients reach.

While it runs, it registers new invitations and locks removed clients out. All its programs end with it.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from tacit.base.errors import TacitError
from tacit.base.files import inside, write_atomic
from tacit.base.locks import held
from tacit.base.reading import read_object
from tacit.network import browsers, federation, flower
from tacit.network.gate import Doors, gate
from tacit.network.patience import Patient
from tacit.network.published import NOTHING, published
from tacit.network.status import PID

_LOOK = 1.0  # seconds between looks for new invitations
_MANNERS: dict[str, Any] = {
    "http": Patient,
    "ws": "none",
    "access_log": False,  # no line about a device
    "server_header": False,
    "proxy_headers": False,
    "timeout_keep_alive": 30,
    "h11_max_incomplete_event_size": 64 * 1024,
    "limit_concurrency": 1000,
    "lifespan": "off",
}


class Pages(NamedTuple):
    """Holds what is served to browsers."""

    port: int = 0  # of loopback; 0: nothing
    model: Path | None = None  # for the keyboard


NO_PAGES = Pages()


def serve(
    place: Path,
    host: str = "",
    ready: Callable[[str], None] = lambda address: None,
    publish: Path | None = None,
    pages: Pages = NO_PAGES,
) -> None:
    """Serves a federation until it is interrupted; `host` is the address to listen on, all by default.

    The files of the folder `publish` are offered as they are at the start. With a port in `pages`, browsers on this
    machine can take part there.
    """
    home = federation.read(place)
    files = published(publish) if publish else NOTHING
    shown = browsers.site(pages.model) if pages.port else {}
    with held(place / "flower", place), ExitStack() as running:
        bound = [running.enter_context(_bound(host or _listen(home.host), home.port))]
        if pages.port:
            bound.append(running.enter_context(_bound("127.0.0.1", pages.port)))
        log = inside(place / "logs", "gate.log")
        write_atomic(place / PID, f"{os.getpid()}\n")
        inner = flower.free_port()
        superlink = flower.start_superlink(place, inner)
        running.callback(flower.stop, superlink)
        flower.wait_for_port(superlink, inner, place / "logs" / "superlink.log")
        flower.connect(place, inner)
        update_keys(place)  # clients invited so far can connect as soon as the gate opens
        inner_url, authority = f"https://127.0.0.1:{inner}", str(place / "ca.crt")
        clients = gate(inner_url, authority, doors=Doors(files))
        visitors = gate(inner_url, authority, doors=Doors(files, shown, partial(browsers.join, place)))
        apps = [_tls(place, log, clients), _manners(log, visitors)]
        gates = [running.enter_context(_serving(*one)) for one in zip(apps, bound, strict=False)]
        ready(home.address)
        _keep(place, superlink, gates)
        raise TacitError(f"Flower's SuperLink ended; {place / 'logs' / 'superlink.log'} says why")


def _keep(place: Path, superlink: subprocess.Popen[bytes], gates: Sequence[threading.Thread]) -> None:
    """Registers keys until SuperLink or a gate has ended."""
    while superlink.poll() is None and all(gate.is_alive() for gate in gates):
        update_keys(place)
        time.sleep(_LOOK)


def update_keys(place: Path) -> None:
    """Registers the keys of clients invited since the last call, and locks out those removed since."""
    known = _nodes(place)
    for client in federation.read(place).clients:
        if not client.public:  # a browser that has not come yet
            continue
        if client.removed == (client.name in known):
            if client.removed:
                flower.unregister(place, known.pop(client.name))
            else:
                key = place / "clients" / f"{client.name}.pub"
                known[client.name] = flower.register(place, key, client.name)
            write_atomic(place / "flower" / "nodes.json", json.dumps(known) + "\n")


def _nodes(place: Path) -> dict[str, int]:
    file = place / "flower" / "nodes.json"
    if not file.is_file():
        write_atomic(file, "{}\n")
    return {str(name): int(node) for name, node in read_object(file).items()}


def _listen(host: str) -> str:
    return host if host in ("127.0.0.1", "localhost", "::1") else "0.0.0.0"


def _bound(host: str, port: int) -> socket.socket:
    """Returns a socket with an address; refuses one that is taken, or that is not of this machine.

    It does not listen yet: until the gate can answer, clients are refused and try again.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, _, _, address = min(found, key=lambda one: one[0] != socket.AF_INET)
        bound = socket.socket(family, kind)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        return bound
    except (OSError, ValueError) as error:  # ValueError: a name that no host can have
        why = getattr(error, "strerror", None) or "no host has this name"
        raise TacitError(
            f"cannot listen on {host}, port {port}: {why}; end what uses the port, or give an address of this machine"
        ) from None


def _tls(place: Path, log: Path, app: Any) -> uvicorn.Config:
    certificate = {"ssl_certfile": str(place / "server.crt"), "ssl_keyfile": str(place / "server.key")}
    return _manners(log, app, **certificate)


def _manners(log: Path, app: Any, **more: Any) -> uvicorn.Config:
    """Returns how an app is served. A failure in it is logged in a file: standard error is for the command's own."""
    logging = {
        "version": 1,
        "disable_existing_loggers": False,
        "handlers": {"file": {"class": "logging.FileHandler", "filename": str(log), "delay": True}},
        "loggers": {"uvicorn.error": {"handlers": ["file"], "level": "ERROR", "propagate": False}},
    }
    return uvicorn.Config(app, log_config=logging, **_MANNERS, **more)


@contextmanager
def _serving(config: uvicorn.Config, bound: socket.socket) -> Iterator[threading.Thread]:
    """Serves in a thread until the end of the block, which begins when the thread listens."""
    try:
        config.load()
    except OSError as error:  # of ssl, too
        raise TacitError(f"{config.ssl_certfile}: cannot be used ({error.strerror}); restore it") from None
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]

    def listen() -> None:
        with suppress(OSError):  # another program has begun to listen meanwhile
            server.run([bound])

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise TacitError(
                    f"cannot listen on port {bound.getsockname()[1]}; is another program using it?"
                )
            time.sleep(0.05)
        yield thread
    finally:
        server.should_exit = True
        thread.join(10)
