"""Runs the server in the foreground: Flower's SuperLink on loopback, and the gate that clients reach.

While it runs, it registers new invitations and locks removed clients out. All its programs end with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import uvicorn

from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.locks import held
from tacit.base.reading import read_object
from tacit.network import browsers, federation, flower
from tacit.network.gate import Doors, gate
from tacit.network.published import NOTHING, published
from tacit.network.status import PID

_LOOK = 1.0  # seconds between looks for new invitations
_MANNERS = {
    "log_level": "warning",
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
    with held(place / "flower", place):
        (place / PID).write_text(f"{os.getpid()}\n", "utf-8")
        inner = flower.free_port()
        superlink = flower.start_superlink(place, inner)
        try:
            flower.wait_for_port(superlink, inner, place / "logs" / "superlink.log")
            flower.connect(place, inner)
            settle_keys(place)  # whoever is invited by now can connect as soon as the gate is open
            inner_url, authority = f"https://127.0.0.1:{inner}", str(place / "ca.crt")
            clients = gate(inner_url, authority, doors=Doors(files))
            inside = Doors(files, shown, partial(browsers.join, place))
            with _listening(_tls(place, clients, host or _listen(home.host), home.port)) as gates:
                if pages.port:
                    visitors = gate(inner_url, authority, doors=inside)
                    with _listening(_plain(visitors, pages.port)) as browser_gates:
                        ready(home.address)
                        _keep(place, superlink, [gates, browser_gates])
                else:
                    ready(home.address)
                    _keep(place, superlink, [gates])
                raise TacitError(f"Flower's SuperLink ended; {place / 'logs' / 'superlink.log'} says why")
        finally:
            flower.stop(superlink)


def _keep(place: Path, superlink: subprocess.Popen[bytes], gates: Sequence[threading.Thread]) -> None:
    """Registers keys until SuperLink or a gate has ended."""
    while superlink.poll() is None and all(gate.is_alive() for gate in gates):
        settle_keys(place)
        time.sleep(_LOOK)


def settle_keys(place: Path) -> None:
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


def _tls(place: Path, app: Any, host: str, port: int) -> uvicorn.Config:
    certificate = {"ssl_certfile": str(place / "server.crt"), "ssl_keyfile": str(place / "server.key")}
    return uvicorn.Config(app, host=host, port=port, **certificate, **_MANNERS)  # type: ignore[arg-type]


def _plain(app: Any, port: int) -> uvicorn.Config:
    return uvicorn.Config(app, host="127.0.0.1", port=port, **_MANNERS)  # type: ignore[arg-type]


@contextmanager
def _listening(config: uvicorn.Config) -> Iterator[threading.Thread]:
    """Serves in a thread until the end of the block, which begins when the thread listens."""
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        while not server.started:
            if not thread.is_alive():
                raise TacitError(f"cannot listen on port {config.port}; is another program using it?")
            time.sleep(0.05)
        yield thread
    finally:
        server.should_exit = True
        thread.join(10)
