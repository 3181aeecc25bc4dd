"""The command of the keyboard page: `tacit serve`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import DataOption, start_jax


def register(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    app.command("serve")(serve)


def serve(
    run: Annotated[
        Path, typer.Argument(metavar="DIR|FILE", help="A run directory, or a compact file (.tacit).")
    ],
    port: Annotated[int, typer.Option(help="Port; 0 takes any that is free.")] = 8765,
    host: Annotated[
        str,
        typer.Option(
            help="Address to listen on. Others than this machine's own let other people in; models that hold what "
            "people wrote (collected text, personal ones) are then left out."
        ),
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    block: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Words that are never suggested, one a line.")
    ] = None,
    data: DataOption = None,
) -> None:
    """A keyboard in the browser to try a run's models on; it runs there and sends nothing anywhere.

    Models that the page can switch to and that the run does not have yet are made first, and kept in DIR/keyboard.

    Examples:

      tacit serve runs/demo

      tacit serve runs/demo/ngram/model.tacit --port 0 --no-open --block words.txt
    """
    import contextlib
    import webbrowser

    from tacit.commands import serve as serving
    from tacit.commands.serve_models import find, require
    from tacit.keyboard import blocked
    from tacit.progress import reading

    words = blocked.read(block) if block else frozenset()
    start_jax()
    require(run)  # a missing file is told whatever else uses the port
    with serving.server({}, host, port):
        pass  # a port in use is told before models are made
    with reading() as watch:
        models, problems = find(run, data, watch, others=not serving.loopback(host))
    with serving.server(serving.site(models, words, problems), host, port) as server:
        address = serving.address(server)
        count = "one model" if len(models) == 1 else f"{len(models)} models"
        typer.echo(f"{address} ({count}; Ctrl-C ends it, the page goes on without)")
        if not no_open:
            webbrowser.open(address)
        with contextlib.suppress(KeyboardInterrupt):
            server.serve_forever()
