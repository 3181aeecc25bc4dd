"""Serves the page of a federation, on this machine only: fixed files, and the present state as JSON."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from importlib import resources
from pathlib import Path

from tacit.base.errors import TacitError
from tacit.base.files import to_json
from tacit.network import federation
from tacit.network.watch.state import state
from tacit.page.files import TYPES, Answer
from tacit.page.server import address, server

STATE = "/state.json"


class Watched(Mapping[str, Answer]):
    """Serves the files of the page, and the present state of the federation."""

    def __init__(self, place: Path) -> None:
        here = resources.files("tacit.network.watch") / "static"
        found = {f"/{f.name}": Answer(TYPES[Path(f.name).suffix], f.read_bytes()) for f in here.iterdir()}
        self._place, self._files = place, {"/": found["/index.html"], **found}

    def __getitem__(self, path: str) -> Answer:
        if path != STATE:
            return self._files[path]
        try:
            said = state(self._place)
        except (TacitError, OSError, ValueError) as error:
            said = {"error": str(error)}
        return Answer("application/json", to_json(said).encode())

    def __iter__(self) -> Iterator[str]:
        return iter([*self._files, STATE])

    def __len__(self) -> int:
        return len(self._files) + 1


def serve(place: Path, port: int, ready: Callable[[str], object] = lambda address: None) -> None:
    """Serves the page of a federation until Ctrl-C."""
    federation.read(place)
    with server(Watched(place), "127.0.0.1", port) as listening:
        ready(address(listening))
        with contextlib.suppress(KeyboardInterrupt):
            listening.serve_forever()
