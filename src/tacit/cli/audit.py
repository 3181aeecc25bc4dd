"""The command `tacit audit`: attacks on a run, and whether its claims about privacy hold."""

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
    print_table,
    say,
    start_jax,
    trust_runs,
)


def register(app: typer.Typer) -> None:
    """Add the command of this file to the program."""
    app.command("audit")(audit)


def audit(
    run: Annotated[Path, typer.Argument(metavar="DIR", help="A run directory.")],
    canaries: Annotated[
        int, typer.Option(help="Made-up people whose part in the model is guessed.", min=20, max=20_000)
    ] = 1000,
    people: Annotated[
        int, typer.Option(help="People whose words are read from their updates.", min=1, max=1000)
    ] = 20,
    retrain: Annotated[
        int,
        typer.Option(
            help="Train so many rounds again with planted phrases, with the run's privacy and without; 0: do not.",
            min=0,
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(help="Seed of the attacks.", min=0, max=2**31 - 1)] = 0,
    out: Annotated[Path | None, path_option("--out", "Directory of the report (default: DIR/audit).")] = None,
    data: DataOption = None,
    trust: TrustOption = False,
    as_json: JsonOption = False,
) -> None:
    """Attack a run: guess who took part, read words from updates, look for planted phrases, check the ledger.

    Examples:

      tacit audit runs/private

      tacit audit runs/private --retrain 20

      tacit audit runs/demo --people 50 --json
    """
    from tacit.audit import report
    from tacit.audit.audit import AuditOptions
    from tacit.audit.audit import audit as audit_run
    from tacit.base.files import inside
    from tacit.base.terminal import progress_bar

    out = out or inside(run, "audit")
    start_jax()
    trust_runs(trust, run)
    with progress_bar() as progress:
        summary = audit_run(run, out, AuditOptions(canaries, people, retrain, seed), data, progress)
    if as_json:
        print_json(summary)
        return
    for title, rows in report.tables(summary):
        print_table(rows, title)
    say(f"{report.verdict(summary)}.")
    say(str(out / "report.html"))
