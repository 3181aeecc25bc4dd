"""The server in the foreground: Flower's SuperLink on loopback, and the gate that clients reach.

While it runs, it registers new invitations and locks removed clients out. When it ends, nothing of it is left running.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import uvicorn

from tacit.base.errors import TacitError
from tacit.base.files import write_atomic
from tacit.base.locks import held
from tacit.base.reading import read_object
from tacit.network import federation, flower
from tacit.network.gate import gate
from tacit.network.published import NOTHING, published
from tacit.network.status import PID

_LOOK = 1.0  # seconds between looks for new invitations


def serve(
    place: Path,
    host: str = "",
    ready: Callable[[str], None] = lambda address: None,
    publish: Path | None = None,
) -> None:
    """Serves a federation until it is interrupted; `host` is the address to listen on, all by default.

    The files of the folder `publish` are handed out as they are now.
    """
    home = federation.read(place)
    files = published(publish) if publish else NOTHING
    with held(place / "flower", place):
        (place / PID).write_text(f"{os.getpid()}\n", "utf-8")
        inner = flower.free_port()
        superlink = flower.start_superlink(place, inner)
        try:
            flower.wait_for_port(superlink, inner, place / "logs" / "superlink.log")
            flower.connect(place, inner)
            settle_keys(place)  # whoever is invited by now can connect as soon as the gate is open
            server = _gate_server(place, host or _listen(home.host), home.port, inner, files)
            thread = threading.Thread(target=server.run, daemon=True)
            thread.start()
            try:
                _wait_until_started(server, thread, home.port)
                ready(home.address)
                while superlink.poll() is None and thread.is_alive():
                    settle_keys(place)
                    time.sleep(_LOOK)
                raise TacitError(f"Flower's SuperLink ended; {place / 'logs' / 'superlink.log'} says why")
            finally:
                server.should_exit = True
                thread.join(10)
        finally:
            flower.stop(superlink)


def settle_keys(place: Path) -> None:
    """Registers the keys of clients that were invited since the last look, and locks out those that were removed."""
    known = _nodes(place)
    for client in federation.read(place).clients:
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


def _gate_server(place: Path, host: str, port: int, inner: int, files: Mapping[str, bytes]) -> uvicorn.Server:
    app = gate(f"https://127.0.0.1:{inner}", str(place / "ca.crt"), files=files)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        ssl_certfile=str(place / "server.crt"),
        ssl_keyfile=str(place / "server.key"),
        log_level="warning",
        access_log=False,  # no line about a device
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=30,
        h11_max_incomplete_event_size=64 * 1024,
        limit_concurrency=1000,
        lifespan="off",
    )
    server = uvicorn.Server(config)
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    return server


def _wait_until_started(server: uvicorn.Server, thread: threading.Thread, port: int) -> None:
    while not server.started:
        if not thread.is_alive():
            raise TacitError(f"cannot listen on port {port}; is another program using it?")
        time.sleep(0.05)
