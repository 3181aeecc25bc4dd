"""Defines the Flower app that SuperLink runs for `tacit federation run`, and writes its bundle.

The bundle has only a few lines of code, which import this module, so a federation runs the installed Tacit. A command
writes its work into an order, a directory of the federation, and the app writes there how the work ended.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from tacit import __version__
from tacit.base.cores import check_devices
from tacit.base.errors import TacitError
from tacit.base.files import to_json, write_atomic
from tacit.base.locks import held
from tacit.base.reading import read_object
from tacit.network import federation
from tacit.network.assignments import Desk, do
from tacit.network.board import Board
from tacit.network.grid import FlowerCourier

server_app = ServerApp()
# Flower looks for assignments without running the file
_SHIM = """from tacit.network import app, node

server_app = app.server_app
client_app = node.client_app
"""


@server_app.main()
def main(grid: Grid, context: Context) -> None:
    """Does the work of an order, and writes how it ended."""
    place = Path(str(context.run_config["order"]))
    order = read_object(place / "order.json")
    home = Path(order["federation"])
    board = Board(home, place)
    with held(place):
        try:
            courier = FlowerCourier(grid, lambda: nodes(home))
            answer = do(place, order, Desk(courier, lambda: len(federation.read(home).clients), board))
            ended: dict[str, Any] = {"state": "done", "answer": answer}
        except TacitError as error:
            ended = {"state": "failed", "why": str(error)}
        except BaseException as error:
            ended = {"state": "failed", "why": _cause(error)}
            raise
        finally:
            write_atomic(place / "ended.json", to_json(ended) + "\n")
            board.log("ended", **{name: ended[name] for name in ("state", "why") if name in ended})


def _cause(error: BaseException) -> str:
    """Returns why the work failed unexpectedly: mostly because JAX has not the device that the environment names."""
    try:
        check_devices()
    except TacitError as cause:
        return f"in the server's environment, {cause}"
    return f"{type(error).__name__}: see logs/superlink.log"


def nodes(home: Path) -> dict[int, int]:
    """Returns Flower's number of every registered client, by the client's number."""
    said = read_object(home / "flower" / "nodes.json")
    clients = federation.read(home).clients
    return {number: int(said[client.name]) for number, client in enumerate(clients) if client.name in said}


def write_bundle(place: Path) -> Path:
    """Writes the bundle that Flower runs."""
    bundle = place / "flower" / "app"
    (bundle / "tacit_app").mkdir(parents=True, exist_ok=True)
    project = f"""[project]
name = "tacit-federation"
version = "{__version__}"
description = "Tacit's rounds over Flower"
license = "Apache-2.0"
dependencies = ["flwr>=1.41"]

[tool.flwr.app]
publisher = "tacit"

[tool.flwr.app.components]
serverapp = "tacit_app.app:server_app"
clientapp = "tacit_app.app:client_app"

[tool.flwr.app.config]
order = ""
"""
    write_atomic(bundle / "pyproject.toml", project)
    write_atomic(bundle / "tacit_app" / "__init__.py", "")
    write_atomic(bundle / "tacit_app" / "app.py", _SHIM)
    return bundle
