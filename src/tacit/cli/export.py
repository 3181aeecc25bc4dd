"""The command `tacit export`: a run's network as a file with 8-bit weights."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli.options import (
    DataOption,
    JsonOption,
    TrustOption,
    path_option,
    print_json,
    print_models,
    say,
    start_jax,
    trust_runs,
)


def register(app: typer.Typer) -> None:
    """Adds the command of this file to the program."""
    app.command("export")(export)


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory.")],
    out: Annotated[
        Path | None, path_option("--out", "The file (default: RUN/network.tacit).", "FILE")
    ] = None,
    people: Annotated[
        int, typer.Option(help="Held-out people to measure both models on; 0: none.", metavar="N", min=0)
    ] = 20,
    data: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a run's network with 8 bits per weight, for devices; the file needs only numpy.

    Examples:

      tacit export runs/first

      tacit export runs/first --out network.tacit --people 0

      tacit predict network.tacit "see you"
    """
    from tacit.base.files import inside
    from tacit.base.terminal import progress_bar
    from tacit.lm.export import export_network

    start_jax()
    trust_runs(trust, run)
    with progress_bar() as progress:
        summary = export_network(run, out or inside(run, "network.tacit"), people, data, progress)
    if as_json:
        print_json(summary)
        return
    if "models" in summary:
        print_models(summary["models"])
    say(
        f"{summary['parameters']:,} parameters, {summary['bytes'] / 1e6:.2f} MB, one word takes "
        f"{summary['latency_ms']['p50']:.2f} ms (99 %: {summary['latency_ms']['p99']:.2f} ms)"
    )
    say(summary["file"])
