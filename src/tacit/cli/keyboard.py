"""The command `tacit serve`: the keyboard page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import DataOption, TrustOption, say, start_jax


def register(app: typer.Typer) -> None:
    """Adds the command of this file to the program."""
    app.command("serve")(serve)


def serve(
    run: Annotated[
        Path, typer.Argument(metavar="RUN|FILE", help="A run directory, or a model file (.tacit).")
    ],
    port: Annotated[int, typer.Option(help="Port; 0 takes any free one.")] = 8765,
    host: Annotated[
        str,
        typer.Option(help="Address to listen on (see above)."),
    ] = "127.0.0.1",
    no_open: Annotated[bool, typer.Option("--no-open", help="Do not open a browser.")] = False,
    block: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Words that are never suggested, one per line.")
    ] = None,
    locale: Annotated[
        str | None,
        typer.Option(
            metavar="CODE|FILE.toml",
            help="Language of the keys (default: the models'); see docs/locales.md.",
        ),
    ] = None,
    data: DataOption = None,
    trust: TrustOption = False,
) -> None:
    """Type on a run's models in the browser; they run in the page, which sends nothing.

    Missing models are built first and kept in RUN/keyboard. On an address that others can reach, models that hold
    what people wrote (collected text, personal models) are left out.

    Examples:

      tacit serve runs/demo

      tacit serve runs/demo --locale pt

      tacit serve runs/demo/ngram/model.tacit --port 0 --no-open --block words.txt
    """
    import webbrowser

    from tacit.base.terminal import progress_lines
    from tacit.page.models import trust as trust_run
    from tacit.page.serve import serve as serve_page

    def opened(address: str, models: int, remark: str) -> None:
        if remark:
            say(f"note: {remark}")
        count = "one model" if models == 1 else f"{models} models"
        say(f"{address} ({count}; Ctrl-C stops the server, an open page still works)")
        if not no_open:
            webbrowser.open(address)

    start_jax()
    if trust and run.is_dir():
        trust_run(run)
    with progress_lines() as progress:
        serve_page(run, host, port, block, data, progress, opened, locale)
